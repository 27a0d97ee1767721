import { createLatest } from '../lib/latest.ts';
import { type FairwayObject, type ObjectKey, storeKey } from '../model/index.ts';
import type { PinRecord, Rejection } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Mirror } from './mirror.ts';
import { objectOf } from './world.ts';

/** Turns refusals into pins: which generation of a refused object goes on being served. The leader's alone. */
export interface Pinner {
  /** Refusals, objects or deliveries have changed. */
  nudge(): void;
  close(): Promise<void>;
}

export interface PinnerOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  /** Whether every proxy concerned has what the object became, and none refused it. */
  readonly accepted: (key: ObjectKey, object: FairwayObject) => boolean;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Soon, so that a proxy that connects after a refusal gets the good form. */
const holdOffMs = 20;

/** Decided from scratch each time: there are as many pins as there are refusals, which are few. */
export function createPinner(options: PinnerOptions): Pinner {
  const { mirror, store, log } = options;

  async function reconcile(): Promise<void> {
    const { pins, rejections } = mirror.records;
    if (pins.size === 0 && rejections.size === 0) return;
    const wanted = wantedPins([...rejections.values()], pins, (key) => objectOf(mirror, key)?.metadata);
    const changed = [...wanted].filter(([key, pin]) => !samePin(pins.get(key), pin));
    const operations: Operation[] = changed.map(([key, pin]) => ({
      put: { key: storeKey('pin', key), value: JSON.stringify(pin) },
    }));
    for (const key of pins.keys()) {
      if (!wanted.has(key) && outgrown(key)) operations.push({ remove: storeKey('pin', key) });
    }
    for (const [key, rejection] of rejections) {
      if (isOver(rejection)) operations.push({ remove: storeKey('rejection', key) });
    }
    await write(operations);
    for (const [object, { refused, good }] of changed) log.warn({ event: 'object_pinned', object, refused, good });
  }

  /** Resolves once the View has what was written, so that the next look begins from there. */
  async function write(operations: readonly Operation[]): Promise<void> {
    for (let at = 0; at < operations.length; at += perCommit) {
      const some = operations.slice(at, at + perCommit);
      const outcome = await store.commit({
        id: options.newId(),
        checks: [],
        puts: some.flatMap(({ put }) => put ?? []),
        deletes: some.flatMap(({ remove }) => remove ?? []),
      });
      if (outcome.committed) await mirror.reached(outcome.revision, { timeoutMs: echoMs });
    }
  }

  /** The object is gone, or a newer generation of it is accepted: until then the good one must stay known. */
  function outgrown(key: ObjectKey): boolean {
    const object = objectOf(mirror, key);
    const another = object?.metadata.uid !== mirror.records.pins.get(key)?.uid;
    return object === undefined || another || options.accepted(key, object);
  }

  /** No suspect stands as it was refused, and what stands now is accepted. */
  function isOver({ suspects }: Rejection): boolean {
    return suspects.every(({ unit, uid, refused }) => {
      const object = objectOf(mirror, unit);
      const another = object?.metadata.uid !== uid;
      return (
        object === undefined || another || (object.metadata.generation !== refused && options.accepted(unit, object))
      );
    });
  }

  const latest = createLatest({
    task: reconcile,
    holdOffMs,
    onError: (error) => log.warn({ event: 'pins_not_stored', err: error }),
  });
  return { nudge: () => latest.nudge(), close: () => latest.close() };
}

/** Operations in one commit, below the store's limit. */
const perCommit = 100;

/** So long a write may take to come back by the watch. */
const echoMs = 10_000;

interface Operation {
  readonly put?: { readonly key: string; readonly value: string };
  readonly remove?: string;
}

function samePin(a: PinRecord | undefined, b: PinRecord): boolean {
  return a?.uid === b.uid && a.refused === b.refused && a.good === b.good;
}

/**
 * The pins that the refusals ask for: of each suspect that still stands in the generation that was refused. A
 * fault of a proxy's host is nobody's fault, and what other proxies accepted is not taken from them.
 */
export function wantedPins(
  rejections: readonly Rejection[],
  pins: ReadonlyMap<ObjectKey, PinRecord>,
  metadataOf: (key: ObjectKey) => { readonly uid: string; readonly generation: number } | undefined,
): Map<ObjectKey, PinRecord> {
  const wanted = new Map<ObjectKey, PinRecord>();
  for (const { scope, suspects } of rejections) {
    if (scope !== 'convicted') continue;
    for (const { unit, uid, refused, good } of suspects) {
      // The same generation was good before: something that it names is to blame, and no older spec would help.
      const metadata = metadataOf(unit);
      if (metadata?.uid !== uid || metadata.generation !== refused || good === refused) continue;
      const held = pins.get(unit);
      const present = held?.uid === uid ? held : undefined;
      // After a restart nobody knows what was accepted before; the pin does.
      const kept =
        good ?? wanted.get(unit)?.good ?? (present === undefined || present.good === refused ? null : present.good);
      wanted.set(unit, { uid, refused, good: kept });
    }
  }
  return wanted;
}
