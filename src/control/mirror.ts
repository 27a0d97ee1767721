import { batches } from '../lib/batches.ts';
import type { Clock } from '../lib/clock.ts';
import { FairwayError } from '../lib/errors.ts';
import { type SliceMeter, unmeasured } from '../lib/slices.ts';
import type { ObjectKey } from '../model/index.ts';
import type { Store, WatchEvent } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget } from '../view/index.ts';
import { type Adoption, commitOf, kindOf, type ObjectChange } from './adoption.ts';
import { createGoodSpecs } from './good-specs.ts';
import { merge, putDrains, putObjects, readPins, replace, type States, samePin } from './intake.ts';
import { createQueue } from './queue.ts';
import { createRecords, type Records } from './records.ts';
import { createWaiting } from './waiting.ts';
import { objectOf, type World } from './world.ts';

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
  /** For benches: told what holds the event loop. */
  readonly slices?: SliceMeter;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called in the same synchronous step as each adoption, in order. */
  readonly onAdopted: (adoption: Adoption) => void;
  /** Waits before the store is read again after a failure; `attempt` counts those without progress, from 0. */
  readonly retry: (attempt: number, signal: AbortSignal) => Promise<void>;
}

/** Events that may wait before the watch is held back: enough for a burst, bounded for a storm. */
const maxWaiting = 4096;

/** Resources of an edit that concerns a whole fleet. */
const largeCommit = 1_000;

/**
 * Follows the store: the events that wait are merged into one fork, which settles in slices and is adopted. The
 * first build is a fork like any other; nothing is answered before it.
 *
 *     list ──▶ adopt ──▶ watch ──▶ adopt, adopt, …
 *               ▲          │
 *     list ◀─ compacted ───┤       replaces what is held, in one step: never empty for a moment
 *                          └─ failed: watch again from the revision reached
 */
export function createMirror(options: MirrorOptions): Mirror {
  const { world, store, log, slices = unmeasured } = options;
  const budget: Budget = {
    ...options.budget,
    async pause() {
      slices.end('settling');
      await options.budget.pause();
      slices.begin();
    },
  };
  const queue = createQueue();
  const records = createRecords();
  const goodSpecs = createGoodSpecs(store, log);
  const waiting = createWaiting();
  const closing = new AbortController();
  const failures = createFailureLog(world, log);
  let revision = 0;
  let needed = 0;
  let ready = false;
  let following: Promise<void> = Promise.resolve();

  async function adopt(at: number, states: States): Promise<void> {
    const receivedAt = options.clock();
    const next = records.prepare(states);
    const pins = await readPins(next.held, goodSpecs);
    await queue.run(async () => {
      slices.begin();
      const fork = world.kernel.fork();
      const changes = await putObjects(world, fork, states, { at, budget, log });
      for (const [key, pin] of pins) {
        if (pin === undefined) fork.remove(world.graph.pins, key);
        else if (!samePin(fork.get(world.graph.pins, key), pin)) fork.put(world.graph.pins, key, pin);
      }
      await putDrains(world.graph, fork, states, { records, budget });
      const begun = budget.now();
      await fork.settle(budget);
      const work = { computed: fork.computed, settleMs: budget.now() - begun };
      slices.end('settling');
      slices.begin();
      // From here on in one step: whoever reads sees the former world or this one.
      const { commit, units } = commitOf(fork, world.translation, at);
      const touched = new Set<ObjectKey>(units);
      for (const { key } of fork.changes(world.graph.verdicts)) touched.add(key);
      for (const { key } of changes) touched.add(key);
      world.kernel.adopt(fork);
      const { about, told, over, happened } = next.apply();
      for (const key of about) touched.add(key);
      changes.push(...timesOf(told, changes, at));
      // Whoever resumes a watch within this step goes by revisions; a deletion counts with the last of the step.
      changes.sort((a, b) => a.revision - b.revision);
      needed = neededOf(states, { at, former: needed, first: !ready });
      const first = !ready;
      revision = at;
      ready = true;
      failures.look();
      options.onAdopted({ revision: at, needed, receivedAt, changes, commit, touched, over, happened, work, first });
      waiting.reached(at);
      slices.end(first || commit.puts.length > largeCommit ? 'large adoption' : 'adoption');
    });
  }

  /** A new time of a condition is a change of its object for those who watch it, unless it changed itself. */
  function timesOf(told: ReadonlySet<ObjectKey>, changes: readonly ObjectChange[], at: number): ObjectChange[] {
    const changed = new Set(changes.map(({ key }) => key));
    return [...told].flatMap((key) => {
      const object = changed.has(key) ? undefined : objectOf({ world }, key);
      return object === undefined ? [] : [{ revision: at, kind: kindOf(key), key, object, last: object }];
    });
  }

  async function list(): Promise<void> {
    const snapshot = await store.list('');
    await adopt(snapshot.revision, replace(world, records, snapshot.entries));
  }

  /** Follows the watch until it ends, which it does by failing or by `close`. */
  async function follow(): Promise<void> {
    const ended = new AbortController();
    const events = store.watch(revision, AbortSignal.any([closing.signal, ended.signal]));
    try {
      for await (const batch of batches(events, maxWaiting)) {
        await adopt((batch.at(-1) as WatchEvent).revision, merge(batch));
      }
    } finally {
      ended.abort();
    }
    throw new FairwayError('StoreUnavailable', 'following the store: its watch has ended');
  }

  async function followForEver(): Promise<void> {
    let mustList = false;
    for (let attempt = 0; ; attempt += 1) {
      const before = revision;
      try {
        if (mustList) await list();
        mustList = false;
        await follow();
      } catch (error) {
        if (closing.signal.aborted) return;
        mustList ||= error instanceof FairwayError && error.code === 'RevisionCompacted';
        log.warn({ event: mustList ? 'watch_compacted' : 'watch_failed', revision, err: error });
        if (revision > before) attempt = 0;
        await options.retry(attempt, closing.signal).catch(() => undefined);
        if (closing.signal.aborted) return;
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
    reached: (wanted, limits) => waiting.until(wanted, limits),
    exclusive: (task) => queue.run(task),
    async start() {
      await list();
      following = followForEver();
    },
    async close() {
      closing.abort();
      await following;
      waiting.close();
    },
  };
}

/** Tells what derivations threw, each failure once: a bug each, and confined to its row. */
function createFailureLog({ kernel }: World, log: Logger): { look(): void } {
  let known = new Set<Error>();
  return {
    look() {
      const failures = kernel.failures();
      for (const { collection, key: row, error } of failures) {
        if (!known.has(error)) log.error({ event: 'derivation_failed', collection, row, err: error.cause ?? error });
      }
      known = new Set(failures.map(({ error }) => error));
    },
  };
}

/** Data that what is served follows from; what was seen, and the times in a status, do not change it. */
const served = ['spec/', 'plan/'];

/** The newest revision among states that changes what is served; what is there first may have been there long before. */
function neededOf(
  states: States,
  { at, former, first }: { readonly at: number; readonly former: number; readonly first: boolean },
): number {
  let newest = former;
  for (const [key, entry] of states) {
    if (!served.some((prefix) => key.startsWith(prefix))) continue;
    newest = Math.max(newest, entry?.modRevision ?? (first ? 0 : at));
  }
  return newest;
}
