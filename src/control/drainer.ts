import { createLatest } from '../lib/latest.ts';
import { type ObjectKey, specKey, storeKey } from '../model/index.ts';
import { drainDeadline, settleDrain } from '../plan/index.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { poolOf } from './change-object.ts';
import type { Mirror } from './mirror.ts';

/** Decides until when the members that left a pool drain, and takes them away then. The leader's alone. */
export interface Drainer {
  /** Pools or records have changed. */
  nudge(): void;
  close(): Promise<void>;
}

export interface DrainerOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  readonly now: () => number;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Members leave in bursts, when a deployment goes round; a record for each would be a write for each. */
const holdOffMs = 20;

/** Pools in one commit; a put and a check each, well below the store's limits. */
const perCommit = 40;

/** An adoption takes milliseconds; one that does not come fails the run, which is then repeated. */
const adoptionMs = 10_000;

/** setTimeout fires at once for longer delays. */
const maxTimerMs = 2 ** 31 - 1;

/** Decided from scratch each time: there are as many records as there are pools that members leave just now. */
export function createDrainer(options: DrainerOptions): Drainer {
  const { mirror, store, now, log } = options;
  const { kernel, graph } = mirror.world;
  let timer: NodeJS.Timeout | undefined;

  async function settle(): Promise<void> {
    const { drains } = mirror.records;
    const puts: { key: string; value: string; pool: ObjectKey }[] = [];
    const deletes: string[] = [];
    let deadline = Number.POSITIVE_INFINITY;
    for (const key of new Set([...kernel.keys(graph.drains), ...drains.keys()])) {
      const record = drains.get(key);
      const wanted = settleDrain(poolOf(kernel, graph, key), kernel.get(graph.drains, key), record, now());
      if (wanted === undefined) {
        if (record !== undefined) deletes.push(storeKey('drain', key));
        continue;
      }
      deadline = Math.min(deadline, drainDeadline(wanted));
      if (wanted !== record) puts.push({ key: storeKey('drain', key), value: JSON.stringify(wanted), pool: key });
    }
    wakeAt(deadline);
    for (let at = 0; at < puts.length; at += perCommit) {
      const some = puts.slice(at, at + perCommit);
      // A pool that was deleted meanwhile takes no record with it into its next life; the mirror tells of it.
      const checks = some.map(({ pool }) => ({ key: specKey(pool), modRevision: 'exists' as const }));
      await commit({ checks, puts: some.map(({ key, value }) => ({ key, value })), deletes: [] });
    }
    for (let at = 0; at < deletes.length; at += perCommit) {
      await commit({ checks: [], puts: [], deletes: deletes.slice(at, at + perCommit) });
    }
  }

  /** The next look at the records must find this one, or it would give those who leave their time once more. */
  async function commit(transaction: Omit<Transaction, 'id'>): Promise<void> {
    const outcome = await store.commit({ id: options.newId(), ...transaction });
    if (outcome.committed) await mirror.reached(outcome.revision, { timeoutMs: adoptionMs });
  }

  function wakeAt(deadline: number): void {
    clearTimeout(timer);
    if (deadline === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(() => latest.nudge(), Math.min(Math.max(0, deadline - now()), maxTimerMs));
  }

  const latest = createLatest({
    task: settle,
    holdOffMs,
    onError: (error) => log.warn({ event: 'drains_not_stored', err: error }),
  });
  return {
    nudge() {
      // Most adoptions find nobody who leaves.
      const [leaving] = kernel.keys(graph.drains);
      if (leaving !== undefined || mirror.records.drains.size > 0) latest.nudge();
    },
    async close() {
      await latest.close();
      clearTimeout(timer);
    },
  };
}
