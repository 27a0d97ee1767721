import { FairwayError } from '../lib/errors.ts';
import type { Store, Transaction } from '../store/index.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** A store whose calls are counted, and that remembers the newest revision it was heard to have. */
export interface MeasuredStore extends Store {
  readonly newestHeard: number;
}

export function measureStore(store: Store, metrics: Metrics): MeasuredStore {
  let newestHeard = 0;

  function hear(revision: number): void {
    if (revision > newestHeard) newestHeard = revision;
  }

  function countFailure(call: string, error: unknown): void {
    metrics.storeErrors.inc({ call, code: error instanceof FairwayError ? error.code : 'Internal' });
  }

  async function counted<T>(call: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      countFailure(call, error);
      throw error;
    }
  }

  return {
    get newestHeard() {
      return newestHeard;
    },
    ...(store.election === undefined ? {} : { election: store.election }),
    silentForMs: () => store.silentForMs?.() ?? 0,
    async commit(transaction) {
      const begun = performance.now();
      const outcome = await counted('commit', store.commit(transaction));
      metrics.storeCommits.inc({ outcome: outcome.committed ? 'committed' : 'conflict' });
      if (outcome.committed) {
        metrics.storeCommitSeconds.observe((performance.now() - begun) / 1000);
        hear(outcome.revision);
        for (const [data, keys] of keysByData(transaction)) metrics.storeWrites.inc({ data }, keys);
      }
      return outcome;
    },
    get: (key) => counted('get', store.get(key)),
    async list(prefix) {
      const snapshot = await counted('list', store.list(prefix));
      hear(snapshot.revision);
      return snapshot;
    },
    async head() {
      const revision = await counted('head', store.head());
      hear(revision);
      return revision;
    },
    async *watch(after, signal) {
      try {
        for await (const event of store.watch(after, signal)) {
          hear(event.revision);
          yield event;
        }
      } catch (error) {
        if (!signal.aborted) countFailure('watch', error);
        throw error;
      }
    },
    close: () => store.close(),
  };
}

/** The first segment of a key says which kind of data it is. */
function keysByData({ puts, deletes }: Transaction): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of [...puts.map((put) => put.key), ...deletes]) {
    const data = key.slice(0, key.indexOf('/'));
    counts.set(data, (counts.get(data) ?? 0) + 1);
  }
  return counts;
}
