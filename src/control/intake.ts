import type { Graph, Pin } from '../graph/index.ts';
import { decodeStored, kindNames, type ObjectKey, objectKeyIn, specKey } from '../model/index.ts';
import { type DrainRecord, drainAfterRecord } from '../plan/index.ts';
import type { Entry, WatchEvent } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget, Fork } from '../view/index.ts';
import { kindOf, type ObjectChange } from './adoption.ts';
import { changeDrain, changeObject, poolOf } from './change-object.ts';
import type { GoodSpecs } from './good-specs.ts';
import { type Held, pinOf } from './held.ts';
import type { Records } from './records.ts';
import type { World } from './world.ts';

/** What stands at keys of the store now; undefined: nothing. */
export type States = ReadonlyMap<string, Entry | undefined>;

/** The newest state of each key in a run of events. */
export function merge(events: readonly WatchEvent[]): States {
  const states = new Map<string, Entry | undefined>();
  for (const event of events) {
    for (const key of event.deletes) states.set(key, undefined);
    for (const entry of event.puts) states.set(entry.key, entry);
  }
  return states;
}

/** A whole store, and the absence of all that the View has and the store has not. */
export function replace(world: World, records: Records, entries: readonly Entry[]): States {
  const states = new Map<string, Entry | undefined>();
  const { kernel, graph } = world;
  for (const table of Object.values(graph.objects)) {
    for (const key of kernel.keys(table)) states.set(specKey(key), undefined);
  }
  for (const key of records.keys()) states.set(key, undefined);
  for (const entry of entries) states.set(entry.key, entry);
  return states;
}

/** Keys between two looks at the clock. */
const keysPerLook = 32;

/**
 * Puts the objects among the states into a fork, in slices; gives what they change, at their revisions. What is known
 * already costs a look, so that a whole store can be read again. A deletion counts with the last revision, `at`.
 */
export async function putObjects(
  world: World,
  fork: Fork,
  states: States,
  { at, budget, log }: { at: number; budget: Budget; log: Logger },
): Promise<ObjectChange[]> {
  const changes: ObjectChange[] = [];
  await forEach(states, budget, (storedAt, entry) => {
    const key = objectKeyIn('spec', storedAt);
    const change = key === undefined ? undefined : putObject(world, fork, key, entry, at, log);
    if (change !== undefined) changes.push(change);
  });
  return changes;
}

/** In slices: a first build has tens of thousands of states. */
async function forEach(
  states: States,
  budget: Budget,
  use: (storedAt: string, entry: Entry | undefined) => void,
): Promise<void> {
  let looked = 0;
  let end = budget.now() + budget.sliceMs;
  for (const [storedAt, entry] of states) {
    use(storedAt, entry);
    looked += 1;
    if (looked % keysPerLook > 0 || budget.now() < end) continue;
    await budget.pause();
    end = budget.now() + budget.sliceMs;
  }
}

function putObject(
  { graph }: World,
  fork: Fork,
  key: ObjectKey,
  entry: Entry | undefined,
  at: number,
  log: Logger,
): ObjectChange | undefined {
  const kind = kindOf(key);
  if (!kindNames.includes(kind)) {
    // Written by a later version: this one serves what it knows.
    log.warn({ event: 'unknown_kind', object: key });
    return undefined;
  }
  const table = graph.objects[kind];
  const last = fork.get(table, key);
  if (entry === undefined) {
    if (last === undefined) return undefined;
    changeObject(fork, graph, key, undefined);
    return { revision: at, kind, key, object: undefined, last };
  }
  if (last?.metadata.revision === String(entry.modRevision)) return undefined;
  const object = decodeStored(entry);
  changeObject(fork, graph, key, object);
  return { revision: entry.modRevision, kind, key, object, ...(last === undefined ? {} : { last }) };
}

/**
 * Puts what the leader decided of members that leave into a fork, after the objects: a record holds for one uid of its
 * pool. `records` are as they were before these states.
 */
export async function putDrains(
  graph: Graph,
  fork: Fork,
  states: States,
  { records, budget }: { records: Records; budget: Budget },
): Promise<void> {
  await forEach(states, budget, (storedAt, entry) => {
    const key = objectKeyIn('drain', storedAt);
    const pool = key === undefined ? undefined : poolOf(fork, graph, key);
    if (key === undefined || pool === undefined) return;
    const ofPool = (record: DrainRecord | undefined) => (record?.uid === pool.metadata.uid ? record : undefined);
    const record: DrainRecord | undefined = entry === undefined ? undefined : JSON.parse(entry.value);
    const former = records.drains.get(key);
    changeDrain(fork, graph, key, drainAfterRecord(fork.get(graph.drains, key), ofPool(former), ofPool(record)));
  });
}

/** What is served of the objects that searches hold, or held until now; undefined: what stands. */
export async function readPins(
  held: ReadonlyMap<ObjectKey, readonly Held[]>,
  goodSpecs: GoodSpecs,
): Promise<Map<ObjectKey, Pin | undefined>> {
  const pinned = [...held].map(([unit, all]) => [unit, pinOf(all)] as const);
  await goodSpecs.load(pinned.flatMap(([, pin]) => pin ?? []));
  const pins = new Map<ObjectKey, Pin | undefined>();
  for (const [unit, pin] of pinned) {
    if (pin === undefined) {
      pins.set(unit, undefined);
      if (held.get(unit)?.length === 0) goodSpecs.forget(unit);
      continue;
    }
    const { uid, refused, good } = pin;
    const spec = goodSpecs.get(pin);
    pins.set(unit, {
      uid,
      refused,
      good: good === null || spec === undefined ? undefined : { generation: good, spec },
    });
  }
  return pins;
}

export function samePin(a: Pin | undefined, b: Pin): boolean {
  return a?.uid === b.uid && a.refused === b.refused && a.good?.generation === b.good?.generation;
}
