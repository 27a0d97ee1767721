import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Backups } from '../api/index.ts';
import type { ServerConfig } from '../config/index.ts';
import { type ContinuedStore, openContinuedStore, type Store } from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';
import { createBackups } from './backups.ts';
import { type DataKeyFollower, followDataKeys } from './data-key-follower.ts';
import { openStore } from './open-store.ts';
import { continuedKeys, openSchema } from './schema.ts';

export interface OpenStoreOptions {
  readonly config: ServerConfig;
  /** The store to use instead of the configured one; closed with this one. */
  readonly store?: Store;
  /** Keys that seal secrets, instead of those of the configured file. */
  readonly dataKeys?: string | undefined;
  readonly now: () => number;
  readonly newId: () => string;
  readonly log: Logger;
  /** The store has failed by itself. */
  readonly onFailure?: (error: Error) => void;
}

export interface OpenedStore {
  /** For all rooms: of this version, with its secrets open. Closes what is below it. */
  readonly store: ContinuedStore;
  readonly backups: Backups;
  /** Seals anew what former data keys have sealed, and goes over to other keys when their file has them. */
  followDataKeys(): DataKeyFollower;
}

/**
 * Opens the store of a server, layer on layer:
 *
 *   continued   revisions go on when a backup takes the place of everything
 *   sealed      secrets are open above and sealed below; of this version
 *   store       memory, SQLite, etcd
 */
export async function openServerStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { config, dataKeys: text, now, newId } = options;
  const log = options.log.child({ room: 'store' });
  const below = options.store ?? (await openStore({ ...options, log }));
  try {
    const file = resolve(config.data, config.dataKeyFile);
    const schema = await openSchema(below, {
      dataKeys: { text, file, otherwise: otherwiseOf[config.store] },
      newId,
      log,
    });
    const store = await openContinuedStore(schema.store, continuedKeys);
    const folder = config.store === 'sqlite' ? config.data : tmpdir();
    const backups = createBackups({ store: below, seal: schema.seal, folder, now, newId, log });
    return { store, backups, followDataKeys: () => followDataKeys({ ...schema, isFixed: text !== undefined, log }) };
  } catch (error) {
    await below.close();
    throw error;
  }
}

/** What is done where there are no data keys yet. Controllers that share a store need the same ones. */
const otherwiseOf = { memory: 'ephemeral', sqlite: 'create', etcd: 'refuse' } as const;
