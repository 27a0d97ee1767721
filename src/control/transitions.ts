import { setTimeout as sleep } from 'node:timers/promises';
import { createLatest } from '../lib/latest.ts';
import { type SliceMeter, unmeasured } from '../lib/slices.ts';
import { type FairwayObject, type Kind, kinds, type ObjectKey, specKey, storeKey } from '../model/index.ts';
import { type ConditionDraft, type Transition, transitionsOf } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget } from '../view/index.ts';
import type { Mirror } from './mirror.ts';
import { createSweep } from './sweep.ts';
import { objectOf } from './world.ts';

/** Stores since when each condition has its status. The leader's alone. */
export interface TransitionWriter {
  /** The conditions of these objects may be others now. */
  touch(keys: Iterable<ObjectKey>): void;
  /** Proxies acknowledged or refused something: what was not Programmed may be now. */
  progressed(): void;
  /** Proxies came, went or were filled: everything may be another. */
  touchAll(): void;
  close(): Promise<void>;
}

export interface TransitionWriterOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  /** The conditions of an object as they are now. */
  readonly conditions: (key: ObjectKey, object: FairwayObject) => readonly ConditionDraft[];
  /**
   * Whether it is known what proxies have: not while those of before a restart may still come back. Until then
   * conditions that speak of proxies keep their stored status.
   */
  readonly proxiesKnown: () => boolean;
  readonly now: () => number;
  readonly newId: () => string;
  readonly budget: Budget;
  /** For benches: told what holds the event loop. */
  readonly slices?: SliceMeter;
  readonly log: Logger;
}

/** Long enough for the acknowledgements of one change to come in, so that most changes store no transition at all. */
const holdOffMs = 200;

/** Objects in one commit; a put and a check each, well below the store's limits. */
const perCommit = 40;

/**
 * After a slice of looking, so many times as long is left to others: when a thousand proxies come at once, everything
 * is to be looked at again and again, and only the times in the status wait for it.
 */
const restFactor = 9;
/** Below this a slice was too short to make up for. */
const restFromMs = 1;

/** So long a write may take to come back by the watch. */
const echoMs = 10_000;

/** What is to be stored for some objects. */
interface Batch {
  readonly keys: ObjectKey[];
  readonly puts: { key: string; value: string }[];
  readonly checks: { key: string; modRevision: 'exists' }[];
  readonly deletes: string[];
}

export function createTransitionWriter(options: TransitionWriterOptions): TransitionWriter {
  const { mirror, store, budget, slices = unmeasured, log } = options;
  const closing = new AbortController();
  const dirty = new Set<ObjectKey>();
  /** Objects that proxies had not finished with when they were last looked at. */
  const unfinished = new Set<ObjectKey>();
  const unfinishedOnes = createSweep(() => unfinished);
  const everything = createSweep(allObjects);

  function* allObjects(): Generator<ObjectKey> {
    const { kernel, graph } = mirror.world;
    for (const kind of Object.keys(kinds) as Kind[]) yield* kernel.keys(graph.objects[kind]);
  }

  /** The next object to look at: first those of which something is known to have changed. */
  function take(): ObjectKey | undefined {
    for (const key of dirty) {
      dirty.delete(key);
      return key;
    }
    return unfinishedOnes.next() ?? everything.next();
  }

  /** Looks at objects until there is enough to store, or a slice of time is over. */
  function collect(): Batch {
    const batch: Batch = { keys: [], puts: [], checks: [], deletes: [] };
    const end = budget.now() + budget.sliceMs;
    for (let key = take(); key !== undefined; key = take()) {
      // What is known to have changed may come again with all the others.
      if (!batch.keys.includes(key)) look(key, batch);
      if (batch.keys.length >= perCommit || budget.now() >= end) break;
    }
    return batch;
  }

  function look(key: ObjectKey, batch: Batch): void {
    const object = objectOf(mirror, key);
    if (object === undefined) {
      unfinished.delete(key);
      if (!mirror.records.transitions.has(key)) return;
      batch.keys.push(key);
      batch.deletes.push(storeKey('transitions', key));
      return;
    }
    const { uid } = object.metadata;
    const drafts = options.conditions(key, object);
    if (drafts.some(awaitsProxies)) unfinished.add(key);
    else unfinished.delete(key);
    const stored = mirror.records.transitionsOf(key, uid);
    const known = options.proxiesKnown() ? drafts : drafts.map((draft) => asStored(draft, stored));
    const transitions = transitionsOf(known, stored, new Date(options.now()).toISOString());
    if (transitions === undefined) return;
    batch.keys.push(key);
    batch.puts.push({ key: storeKey('transitions', key), value: JSON.stringify({ uid, transitions }) });
    batch.checks.push({ key: specKey(key), modRevision: 'exists' });
  }

  /** Resolves once the View has what was written: looked at before that, a condition would change a second time. */
  async function write({ keys, puts, checks, deletes }: Batch): Promise<void> {
    try {
      const outcome = await store.commit({ id: options.newId(), checks, puts, deletes });
      // One of them was deleted meanwhile: all are looked at again once the View knows.
      if (!outcome.committed) for (const key of keys) dirty.add(key);
      await mirror.reached(outcome.committed ? outcome.revision : await store.head(), { timeoutMs: echoMs });
    } catch (error) {
      for (const key of keys) dirty.add(key);
      throw error;
    }
  }

  async function writeDirty(): Promise<void> {
    const isAsked = (): boolean => dirty.size > 0 || unfinishedOnes.pending || everything.pending;
    while (isAsked() && !closing.signal.aborted) {
      const started = budget.now();
      slices.begin();
      const batch = collect();
      slices.end('conditions');
      const tookMs = budget.now() - started;
      if (batch.keys.length > 0) await write(batch);
      if (tookMs < restFromMs) await budget.pause();
      else await sleep(restFactor * tookMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  const latest = createLatest({
    task: writeDirty,
    holdOffMs,
    onError: (error) => log.warn({ event: 'transitions_not_stored', err: error }),
  });

  function touch(keys: Iterable<ObjectKey>): void {
    for (const key of keys) dirty.add(key);
    if (dirty.size > 0) latest.nudge();
  }

  return {
    touch,
    progressed() {
      if (unfinished.size === 0) return;
      unfinishedOnes.ask();
      latest.nudge();
    },
    touchAll() {
      everything.ask();
      latest.nudge();
    },
    close() {
      closing.abort();
      return latest.close();
    },
  };
}

/** Whether an acknowledgement can change the condition: what follows from the objects alone is touched by them. */
function awaitsProxies({ type, reason }: ConditionDraft): boolean {
  return type === 'Programmed' && (reason === 'Pending' || reason === 'Stalled' || reason === 'RejectedByProxy');
}

/** Conditions that speak of proxies. */
const ofProxies: ReadonlySet<string> = new Set(['Programmed', 'Connected']);

function asStored(draft: ConditionDraft, stored: readonly Transition[]): ConditionDraft {
  const known = ofProxies.has(draft.type) ? stored.find(({ type }) => type === draft.type) : undefined;
  return known === undefined ? draft : { ...draft, status: known.status, reason: known.reason };
}
