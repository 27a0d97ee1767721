import { createLatest } from '../lib/latest.ts';
import { storeKey } from '../model/index.ts';
import {
  encodeRejection,
  maxEarlier,
  maxNamedNodes,
  partsOfWrite,
  piecesOf,
  type Rejection,
  rejectionKey,
  type Suspect,
  surplusPieces,
} from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { mergeRejections } from './merge-rejections.ts';

/** One refusal of one resource. */
export interface Refusal {
  readonly type: string;
  readonly name: string;
  readonly hash: string;
  /** Of the configuration that held it. */
  readonly revision: number;
  readonly words: string;
  /** What the proxy runs. */
  readonly version: string;
  /** Undefined: it was not asked again, since it is known that all of the version refuse this form. */
  readonly node: string | undefined;
  /** The form accepted last; undefined when it is not known, and the suspects are all objects. */
  readonly accepted: { readonly hash: string; readonly revision: number } | undefined;
  readonly suspects: readonly Suspect[];
}

/** What was refused before has a form now that a proxy accepts. */
export interface Acceptance {
  readonly type: string;
  readonly name: string;
  readonly hash: string;
  readonly revision: number;
  readonly version: string;
  /** It is the refused form itself. */
  readonly acquitted: boolean;
}

/** Turns refusals into observed records: repeats are counted, so a thousand proxies refuse with one record. */
export interface RefusalObserver {
  refused(refusal: Refusal, at: number): void;
  accepted(acceptance: Acceptance): void;
  /** Takes in what earlier runs recorded, so that counts and times go on. */
  reset(records: Iterable<{ readonly record: Rejection; readonly pieces: number }>): void;
  /** Everything in the store was replaced: what was counted until now is of no more use. */
  restored(records: Iterable<{ readonly record: Rejection; readonly pieces: number }>): void;
  /**
   * All that is recorded now. What another controller has written, whose proxies refuse the same, is taken in: what both
   * have seen is to be in the record.
   */
  told(records: ReadonlyMap<string, StoredRejection>): void;
  /** The record is over and removed: a refusal of the same form would begin anew. */
  over(rejection: Rejection): void;
  close(): Promise<void>;
}

/** A record as the store has it. */
export interface StoredRejection {
  readonly record: Rejection;
  readonly revision: number;
  /** Values of the store that it takes up. */
  readonly pieces: number;
}

export interface RefusalObserverOptions {
  readonly store: Store;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Soon, since the search for the culprit goes on from here. */
const holdOffMs = 10;

/** A record, and all nodes that it counts: the record itself names only some. */
interface Counted {
  readonly record: Rejection;
  readonly nodes: Set<string>;
}

export function createRefusalObserver({ store, newId, log }: RefusalObserverOptions): RefusalObserver {
  const counted = new Map<string, Counted>();
  const dirty = new Set<string>();
  /** Values of the store that each record takes up. */
  const written = new Map<string, number>();
  /** Revision of each record that was taken in last. */
  const taken = new Map<string, number>();

  async function write(): Promise<void> {
    for (const key of dirty) {
      const record = counted.get(key)?.record;
      if (record !== undefined) {
        const at = storeKey('rejection', key);
        const puts = piecesOf(at, encodeRejection(record), newId());
        const deletes = surplusPieces(at, puts.length, written.get(key) ?? 0);
        written.set(key, puts.length);
        for (const part of partsOfWrite(puts, deletes)) await store.commit({ id: newId(), checks: [], ...part });
      }
      if (counted.get(key)?.record === record) dirty.delete(key);
    }
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => log.warn({ event: 'refusals_not_stored', err: error }),
  });

  function put(key: string, next: Counted): void {
    counted.set(key, next);
    dirty.add(key);
    latest.nudge();
  }

  function begin(records: Iterable<{ readonly record: Rejection; readonly pieces: number }>): void {
    for (const { record, pieces } of records) {
      const key = rejectionKey(record.type, record.name);
      if (counted.has(key)) continue;
      counted.set(key, { record, nodes: new Set(record.nodes) });
      written.set(key, pieces);
    }
  }

  function takeIn(key: string, { record, revision, pieces }: StoredRejection): void {
    taken.set(key, revision);
    written.set(key, pieces);
    const own = counted.get(key);
    const merged = own === undefined ? record : mergeRejections(own.record, record);
    const nodes = own?.record.hash === merged.hash ? own.nodes : new Set<string>();
    for (const node of merged.nodes) nodes.add(node);
    // What is about to be written says as much, or more.
    if (dirty.has(key)) counted.set(key, { record: merged, nodes });
    else if (encodeRejection(merged) === encodeRejection(record)) counted.set(key, { record, nodes });
    else put(key, { record: merged, nodes });
  }

  return {
    refused(refusal, at) {
      const key = rejectionKey(refusal.type, refusal.name);
      const before = counted.get(key);
      const nodes = before?.record.hash === refusal.hash ? before.nodes : new Set<string>();
      const isNew = refusal.node !== undefined && !nodes.has(refusal.node);
      const record = add(before?.record, refusal, { isNew, at: new Date(at).toISOString() });
      if (record === before?.record) return;
      if (refusal.node !== undefined) nodes.add(refusal.node);
      put(key, { record, nodes });
    },
    accepted(acceptance) {
      const key = rejectionKey(acceptance.type, acceptance.name);
      const before = counted.get(key);
      // Nothing that was refused is recorded: it was in doubt only because something beside it was refused.
      if (before !== undefined) put(key, { ...before, record: accept(before.record, acceptance) });
    },
    reset: begin,
    restored(records) {
      counted.clear();
      dirty.clear();
      written.clear();
      taken.clear();
      begin(records);
    },
    told(records) {
      for (const [key, stored] of records) {
        if (stored.revision > (taken.get(key) ?? 0)) takeIn(key, stored);
      }
    },
    over({ type, name }) {
      const key = rejectionKey(type, name);
      if (dirty.has(key)) return;
      counted.delete(key);
      written.delete(key);
      taken.delete(key);
    },
    close: () => latest.close(),
  };
}

/** Counts a refusal in; `isNew`: by a node that has not refused this form before. Another form begins the counts anew. */
export function add(
  before: Rejection | undefined,
  refusal: Refusal,
  { isNew, at }: { isNew: boolean; at: string },
): Rejection {
  const { node, type, name, hash, revision, words, version, suspects, accepted } = refusal;
  if (before !== undefined && before.hash !== hash) {
    // A proxy that lags refuses what nobody serves any more.
    if (revision < before.revision) return before;
    const earlier = [...before.earlier.filter((one) => one !== hash), before.hash].slice(-maxEarlier);
    return { ...first(refusal, at), earlier, accepted: newer(before.accepted, refusal.accepted) };
  }
  if (before === undefined) return first(refusal, at);
  const isNamed = node === undefined || before.nodes.includes(node) || before.nodes.length >= maxNamedNodes;
  const isLater = revision > before.revision;
  return {
    ...before,
    type,
    name,
    words,
    revision: Math.max(revision, before.revision),
    versions: before.versions.includes(version) ? before.versions : [...before.versions, version].sort(),
    nodes: isNamed ? before.nodes : [...before.nodes, node].sort(),
    nodeCount: before.nodeCount + (isNew ? 1 : 0),
    count: before.count + (node === undefined ? 0 : 1),
    last: at,
    accepted: newer(before.accepted, accepted),
    acquitted: before.acquitted && !isLater,
    suspects: isLater ? suspects : before.suspects,
    isBaseKnown: isLater ? accepted !== undefined : before.isBaseKnown,
  };
}

function first(refusal: Refusal, at: string): Rejection {
  const { node, type, name, hash, revision, words, version, suspects, accepted } = refusal;
  return {
    type,
    name,
    hash,
    revision,
    words,
    versions: [version],
    nodes: node === undefined ? [] : [node],
    nodeCount: node === undefined ? 0 : 1,
    count: node === undefined ? 0 : 1,
    first: at,
    last: at,
    earlier: [],
    accepted: accepted ?? null,
    acquitted: false,
    suspects,
    isBaseKnown: accepted !== undefined,
  };
}

/** Notes what is accepted of a refused resource now. */
export function accept(before: Rejection, { hash, revision, version, acquitted }: Acceptance): Rejection {
  const isOnlyVersion = before.versions.every((one) => one === version);
  return {
    ...before,
    accepted: newer(before.accepted, { hash, revision }),
    acquitted: before.acquitted || (acquitted && hash === before.hash && isOnlyVersion),
  };
}

function newer(before: Rejection['accepted'], after: Rejection['accepted'] | undefined): Rejection['accepted'] {
  if (before === null || after === null || after === undefined) return after ?? before;
  return after.revision >= before.revision ? after : before;
}
