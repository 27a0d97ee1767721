import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerConfig } from '../config/index.ts';
import { backoffMs } from '../lib/backoff.ts';
import { FairwayError } from '../lib/errors.ts';
import {
  createMemoryStore,
  type EtcdNotice,
  type EtcdStoreOptions,
  openEtcdStore,
  openSqliteStore,
  type Store,
} from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';

export interface OpenStoreOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Called when the store has failed for good. */
  readonly onFailure?: (error: Error) => void;
}

/** Opens the configured store. */
export async function openStore({ config, log, onFailure }: OpenStoreOptions): Promise<Store> {
  switch (config.store) {
    case 'memory':
      return createMemoryStore();
    case 'sqlite':
      return openSqliteStore({ folder: config.data, ...(onFailure === undefined ? {} : { onFailure }) });
    case 'etcd':
      return openEtcdStore({
        ...(await etcdOptions(config)),
        onNotice: (notice) => report(notice, log),
      });
  }
}

/**
 * Does what a server needs to start, again and again while a store that is elsewhere is out of reach: controllers and
 * etcd may be started together. Ends with the reason of `signal` when that aborts.
 */
export async function untilAvailable<T>(
  task: () => Promise<T>,
  { config, log, signal }: Pick<OpenStoreOptions, 'config' | 'log'> & { readonly signal: AbortSignal },
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await task();
    } catch (error) {
      const passes = error instanceof FairwayError && error.code === 'StoreUnavailable' && config.store === 'etcd';
      if (!passes) throw error;
      log.warn({ event: 'store_awaited', err: error });
      await sleep(backoffMs(attempt, { baseMs: 100, maxMs: 2_000, random: Math.random() }), undefined, { signal });
    }
  }
}

function report({ event, error: err, id }: EtcdNotice, log: Logger): void {
  switch (event) {
    case 'compaction_failed':
      log.warn({ event: 'history_not_compacted', err });
      return;
    case 'history_lost':
      log.warn({ event: 'history_lost', err });
      return;
    case 'outcome_unknown':
      log.warn({ event: 'outcome_unknown', transaction: id });
      return;
    case 'outcome_settled':
      log.info({ event: 'outcome_settled', transaction: id });
  }
}

async function etcdOptions(config: ServerConfig): Promise<EtcdStoreOptions> {
  const read = async (path: string): Promise<Buffer | undefined> => (path === '' ? undefined : readFile(path));
  const [ca, cert, key, password] = await Promise.all(
    [config.etcdCa, config.etcdCert, config.etcdKey, config.etcdPasswordFile].map(read),
  );
  const auth = { username: config.etcdUser, password: password?.toString('utf8').trimEnd() ?? '' };
  return {
    endpoints: config.etcdEndpoints.split(','),
    prefix: config.etcdPrefix,
    ...(config.etcdEndpoints.startsWith('https:')
      ? { tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } }
      : {}),
    ...(config.etcdUser === '' ? {} : { auth }),
  };
}
