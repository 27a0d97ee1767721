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
  /** The record is over and removed: a refusal of the same form would begin anew. */
  over(key: string): void;
  close(): Promise<void>;
}

export interface RefusalObserverOptions {
  readonly store: Store;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Soon, since a proxy that connects now gets the refused form until there is a pin. */
const holdOffMs = 20;

/** A record, and all nodes that it counts: the record itself names only some. */
interface Counted {
  readonly record: Rejection;
  readonly nodes: Set<string>;
}

export function createRefusalObserver({ store, newId, log }: RefusalObserverOptions): RefusalObserver {
  const counted = new Map<string, Counted>();
  const dirty = new Set<string>();

  async function write(): Promise<void> {
    for (const key of dirty) {
      const record = counted.get(key)?.record;
      if (record !== undefined) {
        const put = { key: storeKey('rejection', key), value: JSON.stringify(record) };
        await store.commit({ id: newId(), checks: [], puts: [put], deletes: [] });
      }
      if (counted.get(key)?.record === record) dirty.delete(key);
    }
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => log.warn({ event: 'refusals_not_stored', err: error }),
  });

  return {
    refused(refusal, at) {
      const key = rejectionKey(refusal.type, refusal.name);
      const before = counted.get(key);
      const isSameForm = before?.record.hash === refusal.hash;
      const nodes = isSameForm ? before.nodes : new Set<string>();
      const isNew = !nodes.has(refusal.node);
      counted.set(key, {
        record: add(before?.record, refusal, { isNew, at: new Date(at).toISOString() }),
        nodes: nodes.add(refusal.node),
      });
      dirty.add(key);
      latest.nudge();
    },
    reset(records) {
      for (const [key, record] of records) {
        if (!counted.has(key)) counted.set(key, { record, nodes: new Set(record.nodes) });
      }
    },
    over(key) {
      if (!dirty.has(key)) counted.delete(key);
    },
    close: () => latest.close(),
  };
}

/**
 * Counts a refusal in; `isNew`: by a node that has not refused this form before. Another form of the resource begins
 * the counts anew but keeps the suspects of the earlier one: each stays one until it has changed.
 */
export function add(
  before: Rejection | undefined,
  refusal: Refusal,
  { isNew, at }: { isNew: boolean; at: string },
): Rejection {
  const { node, type, name, hash, words, scope } = refusal;
  const suspects = joinSuspects(before?.suspects ?? [], refusal.suspects);
  if (before === undefined || before.hash !== hash) {
    const counts = { nodes: [node], nodeCount: 1, count: 1, first: at, last: at };
    return { type, name, hash, words, scope, ...counts, suspects };
  }
  const isNamed = before.nodes.includes(node) || before.nodes.length >= maxNamedNodes;
  return {
    ...before,
    words,
    scope,
    nodes: isNamed ? before.nodes : [...before.nodes, node].sort(),
    nodeCount: before.nodeCount + (isNew ? 1 : 0),
    count: before.count + 1,
    last: at,
    suspects,
  };
}

/** The newest word on each object. */
function joinSuspects(before: readonly Suspect[], after: readonly Suspect[]): readonly Suspect[] {
  return [...new Map([...before, ...after].map((suspect) => [suspect.unit, suspect])).values()];
}
