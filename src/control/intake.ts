import type { Pin } from '../graph/index.ts';
import { decodeStored, historyKey, kindNames, type ObjectKey, objectKeyIn, specKey } from '../model/index.ts';
import type { PinRecord } from '../status/index.ts';
import type { Entry, Store, WatchEvent } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget, Fork } from '../view/index.ts';
import { kindOf, type ObjectChange } from './adoption.ts';
import type { Records, RecordsWriter } from './records.ts';
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
  let looked = 0;
  let end = budget.now() + budget.sliceMs;
  for (const [storedAt, entry] of states) {
    const key = objectKeyIn('spec', storedAt);
    if (key === undefined) continue;
    const change = putObject(world, fork, key, entry, at, log);
    if (change !== undefined) changes.push(change);
    looked += 1;
    if (looked % keysPerLook > 0 || budget.now() < end) continue;
    await budget.pause();
    end = budget.now() + budget.sliceMs;
  }
  return changes;
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
    fork.remove(table, key);
    return { revision: at, kind, key, object: undefined, last };
  }
  if (last?.metadata.revision === String(entry.modRevision)) return undefined;
  const object = decodeStored(entry);
  fork.put(table, key, object);
  return { revision: entry.modRevision, kind, key, object, ...(last === undefined ? {} : { last }) };
}

/** The pins among the states, with the spec of their good generation from history. */
export async function readPins(store: Store, states: States, log: Logger): Promise<Map<ObjectKey, Pin | undefined>> {
  const pins = new Map<ObjectKey, Pin | undefined>();
  for (const [storedAt, entry] of states) {
    const key = objectKeyIn('pin', storedAt);
    if (key !== undefined) pins.set(key, entry === undefined ? undefined : await readPin(store, key, entry, log));
  }
  return pins;
}

async function readPin(store: Store, key: ObjectKey, entry: Entry, log: Logger): Promise<Pin> {
  const { uid, refused, good: generation } = JSON.parse(entry.value) as PinRecord;
  if (generation === null) return { uid, refused, good: undefined };
  const kept = await store.get(historyKey(key, generation));
  if (kept === undefined) {
    log.error({ event: 'pinned_generation_missing', object: key, generation });
    return { uid, refused, good: undefined };
  }
  return { uid, refused, good: { generation, spec: decodeStored(kept).spec } };
}

/** What became of records. */
export interface RecordChanges {
  /** Objects whose conditions may be others now. */
  readonly about: ReadonlySet<ObjectKey>;
  /** Objects whose conditions have other times. */
  readonly told: ReadonlySet<ObjectKey>;
  /** Keys of rejections that are gone. */
  readonly over: readonly string[];
}

/** Takes in the records among the states. */
export function putRecords(records: RecordsWriter, states: States): RecordChanges {
  const about = new Set<ObjectKey>();
  const told = new Set<ObjectKey>();
  const over: string[] = [];
  const addSuspects = (rejection: string): void => {
    for (const { unit } of records.rejections.get(rejection)?.suspects ?? []) about.add(unit);
  };
  for (const [storedAt, entry] of states) {
    const rejection = objectKeyIn('rejection', storedAt);
    if (rejection !== undefined) addSuspects(rejection);
    if (!records.set(storedAt, entry?.value)) continue;
    if (rejection !== undefined) {
      addSuspects(rejection);
      if (entry === undefined) over.push(rejection);
    }
    const pinned = objectKeyIn('pin', storedAt);
    if (pinned !== undefined) about.add(pinned);
    const node = objectKeyIn('node', storedAt);
    if (node !== undefined) about.add(`Node/${node}`);
    const transitions = objectKeyIn('transitions', storedAt);
    if (transitions !== undefined && entry !== undefined) told.add(transitions);
  }
  return { about, told, over };
}
