import { createLatest } from '../lib/latest.ts';
import { storeKey } from '../model/index.ts';
import { maxNamedNodes, type Rejection, rejectionKey, type Suspect } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** One refusal of one resource by one proxy. */
export interface Refusal {
  readonly node: string;
  readonly type: string;
  readonly name: string;
  readonly hash: string;
  readonly words: string;
  readonly scope: Rejection['scope'];
  readonly suspects: readonly Suspect[];
}

/** Turns refusals into observed records: repeats are counted, so a thousand proxies refuse with one record. */
export interface RefusalObserver {
  refused(refusal: Refusal, at: number): void;
  /** Takes in what earlier runs recorded, so that counts and times go on. */
  reset(records: ReadonlyMap<string, Rejection>): void;
  close(): Promise<void>;
}

const holdOffMs = 20;

export function createRefusalObserver({
  store,
  newId,
  log,
}: {
  store: Store;
  newId: () => string;
  log: Logger;
}): RefusalObserver {
  const rejections = new Map<string, Rejection>();
  const dirty = new Set<string>();

  const latest = createLatest({
    task: async () => {
      for (const key of dirty) {
        const rejection = rejections.get(key);
        if (rejection !== undefined) {
          const put = { key: storeKey('rejection', key), value: JSON.stringify(rejection) };
          await store.commit({ id: newId(), checks: [], puts: [put], deletes: [] });
        }
        if (rejections.get(key) === rejection) dirty.delete(key);
      }
    },
    holdOffMs,
    onError: (error) => log.warn({ event: 'refusals_not_stored', err: error }),
  });

  return {
    refused(refusal, at) {
      const key = rejectionKey(refusal.type, refusal.name);
      rejections.set(key, add(rejections.get(key), refusal, new Date(at).toISOString()));
      dirty.add(key);
      latest.nudge();
    },
    reset(records) {
      for (const [key, record] of records) if (!rejections.has(key)) rejections.set(key, record);
    },
    close: () => latest.close(),
  };
}

/**
 * Counts a refusal in. Another form of the resource begins the counts anew but keeps the suspects of the earlier one:
 * each stays one until it has changed.
 */
export function add(before: Rejection | undefined, refusal: Refusal, at: string): Rejection {
  const { node, type, name, hash, words, scope, suspects } = refusal;
  if (before === undefined || before.hash !== hash) {
    const all = joinSuspects(before?.suspects ?? [], suspects);
    return {
      type,
      name,
      hash,
      words,
      scope,
      nodes: [node],
      nodeCount: 1,
      count: 1,
      first: at,
      last: at,
      suspects: all,
    };
  }
  const known = before.nodes.includes(node);
  return {
    ...before,
    words,
    scope,
    nodes: known || before.nodes.length >= maxNamedNodes ? before.nodes : [...before.nodes, node].sort(),
    nodeCount: known ? before.nodeCount : before.nodeCount + 1,
    count: before.count + 1,
    last: at,
    suspects: joinSuspects(before.suspects, suspects),
  };
}

/** The newest word on each object. */
function joinSuspects(before: readonly Suspect[], after: readonly Suspect[]): readonly Suspect[] {
  return [...new Map([...before, ...after].map((suspect) => [suspect.unit, suspect])).values()];
}
