import { storeKey } from '../model/index.ts';
import type { NodeRecord } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Mirror } from './mirror.ts';

/** Clears away what controllers left that are no more. The leader's alone. */
export interface Clearing {
  close(): Promise<void>;
}

export interface ClearingOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  /** Ids of controllers that were not heard of for long. */
  readonly gone: () => readonly string[];
  readonly now: () => number;
  readonly newId: () => string;
  readonly log: Logger;
}

const everyMs = 5_000;

export function createClearing(options: ClearingOptions): Clearing {
  const { mirror, store, newId, log } = options;
  let clearing: Promise<void> | undefined;

  /** A proxy that was last seen there is not connected, unless another controller has seen it meanwhile. */
  async function release(name: string, seenBy: string): Promise<void> {
    const entry = await store.get(storeKey('node', name));
    if (entry === undefined) return;
    const record = JSON.parse(entry.value) as NodeRecord;
    if (!record.connected || record.controller !== seenBy) return;
    const value = JSON.stringify({ ...record, connected: false, since: new Date(options.now()).toISOString() });
    const checks = [{ key: entry.key, modRevision: entry.modRevision }];
    await store.commit({ id: newId(), checks, puts: [{ key: entry.key, value }], deletes: [] });
  }

  async function clear(id: string): Promise<void> {
    for (const [name, { connected, controller }] of mirror.records.nodes) {
      if (connected && controller === id) await release(name, id);
    }
    const deletes = [storeKey('controller', id), storeKey('delivery', id)];
    await store.commit({ id: newId(), checks: [], puts: [], deletes });
    log.info({ event: 'controller_cleared', controller: id });
  }

  async function clearAll(): Promise<void> {
    for (const id of options.gone()) await clear(id);
  }

  const timer = setInterval(() => {
    clearing ??= clearAll()
      .catch((error: unknown) => log.warn({ event: 'controllers_not_cleared', err: error }))
      .finally(() => {
        clearing = undefined;
      });
  }, everyMs);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await clearing;
    },
  };
}
