import type { Pin } from '../graph/index.ts';
import { batches } from '../lib/batches.ts';
import type { Clock } from '../lib/clock.ts';
import { FairwayError } from '../lib/errors.ts';
import { decodeStored, type FairwayObject, historyKey, type ObjectKey, objectKeyIn, storeKey } from '../model/index.ts';
import type { PinRecord } from '../status/index.ts';
import type { Entry, Store, WatchEvent } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget, Fork } from '../view/index.ts';
import { type Adoption, commitOf, kindOf, type ObjectChange } from './adoption.ts';
import { createQueue } from './queue.ts';
import { createRecords, type Records } from './records.ts';
import type { World } from './world.ts';

/** The store's state as this controller's View has it. One per controller. */
export interface Mirror {
  readonly world: World;
  readonly records: Records;
  /** The store revision that the View has reached; 0 until the first complete build. */
  readonly revision: number;
  readonly ready: boolean;
  /** Resolves once `revision` is adopted; rejects with `RevisionTimeout`, or when `signal` aborts. */
  reached(revision: number, options: { timeoutMs: number; signal?: AbortSignal }): Promise<void>;
  /** Runs with the world standing still: for a dry run. */
  exclusive<T>(task: () => Promise<T>): Promise<T>;
  /** Resolves when the first build is adopted; then follows the store until `close`. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface MirrorOptions {
  readonly world: World;
  readonly store: Store;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called in the same synchronous step as each adoption, in order. */
  readonly onAdopted: (adoption: Adoption) => void;
  /** Waits before the store is read again after a failure. */
  readonly retry: (attempt: number, signal: AbortSignal) => Promise<void>;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

/** Events that may wait before the watch is held back: enough for a burst, bounded for a storm. */
const maxWaiting = 4096;

/**
 * Follows the store: the events that wait are merged into one fork, which settles in slices and is adopted. The
 * first build is a fork like any other; nothing is answered before it.
 */
export function createMirror(options: MirrorOptions): Mirror {
  const { world, store, log } = options;
  const queue = createQueue();
  const records = createRecords();
  const closing = new AbortController();
  const waiters = new Set<Waiter>();
  let revision = 0;
  let ready = false;
  let following: Promise<void> = Promise.resolve();

  /** Entries that stand at keys now, or undefined for deleted ones, as of `at`. */
  async function adopt(at: number, states: ReadonlyMap<string, Entry | undefined>, first: boolean): Promise<void> {
    const receivedAt = options.clock();
    const goodSpecs = await readGoodSpecs(states);
    await queue.run(async () => {
      const fork = world.kernel.fork();
      const changes: ObjectChange[] = [];
      const touched = new Set<ObjectKey>();
      for (const [key, entry] of states) {
        const object = objectKeyIn('spec', key);
        if (object !== undefined) putObject(fork, object, entry, at, changes);
        else if (records.set(key, entry?.value)) touchRecord(key, entry, at, changes, touched);
      }
      for (const [key, pin] of goodSpecs) {
        if (pin === undefined) fork.remove(world.graph.pins, key);
        else fork.put(world.graph.pins, key, pin);
      }
      await fork.settle(options.budget);
      const { commit, units } = commitOf(fork, world.translation, at);
      for (const unit of units) touched.add(unit);
      for (const { key } of fork.changes(world.graph.verdicts)) touched.add(key);
      for (const { key } of changes) touched.add(key);
      world.kernel.adopt(fork);
      revision = at;
      ready = true;
      for (const failure of world.kernel.failures()) {
        log.error({
          event: 'derivation_failed',
          collection: failure.collection,
          row: failure.key,
          err: failure.error.cause ?? failure.error,
        });
      }
      // Whoever resumes a watch within this step goes by revisions; a deletion counts with the last of the step.
      changes.sort((a, b) => a.revision - b.revision);
      options.onAdopted({ revision: at, receivedAt, changes, commit, touched, first });
      for (const waiter of waiters) if (waiter.revision <= at) waiter.resolve();
    });
  }

  function putObject(fork: Fork, key: ObjectKey, entry: Entry | undefined, at: number, changes: ObjectChange[]): void {
    const kind = kindOf(key);
    const table = world.graph.objects[kind];
    const last = fork.get(table, key);
    if (entry === undefined) {
      if (last === undefined) return;
      fork.remove(table, key);
      changes.push({ revision: at, kind, key, object: undefined, last });
      return;
    }
    const object = decodeStored(entry);
    if (last?.metadata.revision === object.metadata.revision) return;
    fork.put(table, key, object);
    changes.push({ revision: entry.modRevision, kind, key, object, ...(last === undefined ? {} : { last }) });
  }

  /** A new transition is a change of its object for those who watch it: the status they see is another. */
  function touchRecord(
    key: string,
    entry: Entry | undefined,
    at: number,
    changes: ObjectChange[],
    touched: Set<ObjectKey>,
  ): void {
    const transition = objectKeyIn('transitions', key);
    if (transition !== undefined && entry !== undefined) {
      const kind = kindOf(transition);
      const object: FairwayObject | undefined = world.kernel.get(world.graph.objects[kind], transition);
      if (object !== undefined) changes.push({ revision: at, kind, key: transition, object, last: object });
    }
    const pinned = objectKeyIn('pin', key);
    if (pinned !== undefined) touched.add(pinned);
    const node = objectKeyIn('node', key);
    if (node !== undefined) touched.add(`Node/${node}`);
    const rejection = objectKeyIn('rejection', key);
    if (rejection !== undefined)
      for (const { unit } of records.rejections.get(rejection)?.suspects ?? []) touched.add(unit);
  }

  /** The pins among the states, with the spec of their good generation from history. */
  async function readGoodSpecs(states: ReadonlyMap<string, Entry | undefined>) {
    const pins = new Map<ObjectKey, Pin | undefined>();
    for (const [key, entry] of states) {
      const object = objectKeyIn('pin', key);
      if (object === undefined) continue;
      if (entry === undefined) {
        pins.set(object, undefined);
        continue;
      }
      const { uid, refused, good } = JSON.parse(entry.value) as PinRecord;
      const kept = good === null ? undefined : await store.get(historyKey(object, good));
      if (good !== null && kept === undefined)
        log.warn({ event: 'pinned_generation_missing', object, generation: good });
      const spec = kept === undefined ? undefined : decodeStored(kept).spec;
      pins.set(object, {
        uid,
        refused,
        good: spec === undefined || good === null ? undefined : { generation: good, spec },
      });
    }
    return pins;
  }

  /** Everything that the store holds, and the deletion of all that this View has and the store has not. */
  async function relist(first: boolean): Promise<void> {
    const snapshot = await store.list('');
    const states = new Map<string, Entry | undefined>();
    if (!first) for (const key of heldKeys(world, records)) states.set(key, undefined);
    for (const entry of snapshot.entries) states.set(entry.key, entry);
    await adopt(snapshot.revision, states, first);
  }

  async function follow(): Promise<void> {
    const ended = new AbortController();
    const events = store.watch(revision, AbortSignal.any([closing.signal, ended.signal]));
    try {
      for await (const batch of batches(events, maxWaiting)) {
        await adopt((batch.at(-1) as WatchEvent).revision, merge(batch), false);
      }
    } finally {
      ended.abort();
    }
  }

  /** Follows the store for ever: a watch that breaks is taken up again where it stopped, or listed anew. */
  async function followForEver(): Promise<void> {
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      const before = revision;
      try {
        await follow();
      } catch (error) {
        if (closing.signal.aborted) return;
        const compacted = error instanceof FairwayError && error.code === 'RevisionCompacted';
        log.warn({ event: compacted ? 'watch_compacted' : 'watch_failed', err: error });
        if (revision > before) attempt = 0;
        await options.retry(attempt, closing.signal).catch(() => undefined);
        if (compacted) await relist(false).catch((cause: unknown) => log.warn({ event: 'relist_failed', err: cause }));
      }
    }
  }

  return {
    world,
    records,
    get revision() {
      return revision;
    },
    get ready() {
      return ready;
    },
    reached(wanted, { timeoutMs, signal }) {
      if (revision >= wanted) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const end = (): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
          signal?.removeEventListener('abort', aborted);
        };
        const waiter = {
          revision: wanted,
          resolve: () => {
            end();
            resolve();
          },
        };
        const aborted = (): void => {
          end();
          reject(signal?.reason);
        };
        const timer = setTimeout(() => {
          end();
          reject(
            new FairwayError('RevisionTimeout', `waiting for revision ${wanted}: this controller is at ${revision}`),
          );
        }, timeoutMs);
        waiters.add(waiter);
        if (signal?.aborted) aborted();
        else signal?.addEventListener('abort', aborted, { once: true });
      });
    },
    exclusive: (task) => queue.run(task),
    async start() {
      await relist(true);
      following = followForEver();
    },
    async close() {
      closing.abort();
      await following;
    },
  };
}

/** The newest state of each key in a run of events. */
function merge(events: readonly WatchEvent[]): Map<string, Entry | undefined> {
  const states = new Map<string, Entry | undefined>();
  for (const event of events) {
    for (const key of event.deletes) states.set(key, undefined);
    for (const entry of event.puts) states.set(entry.key, entry);
  }
  return states;
}

/** Store keys of everything in the View. */
function* heldKeys({ kernel, graph }: World, records: Records): Iterable<string> {
  for (const table of Object.values(graph.objects)) for (const key of kernel.keys(table)) yield storeKey('spec', key);
  for (const key of records.pins.keys()) yield storeKey('pin', key);
  for (const key of records.nodes.keys()) yield storeKey('node', key);
  for (const key of records.rejections.keys()) yield storeKey('rejection', key);
}
