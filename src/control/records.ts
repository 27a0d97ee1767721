import { type ObjectKey, objectKeyIn, type StorePrefix, storeKey } from '../model/index.ts';
import type { NodeRecord, PinRecord, Rejection, Transition, TransitionRecord } from '../status/index.ts';

/** The records of the store that no derivation reads: they matter for status and for what the leader does. */
export interface Records {
  readonly pins: ReadonlyMap<ObjectKey, PinRecord>;
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** By `rejectionKey`. */
  readonly rejections: ReadonlyMap<string, Rejection>;
  readonly transitions: ReadonlyMap<ObjectKey, TransitionRecord>;
  /** Rejections laid at an object. */
  rejectionsOf(unit: ObjectKey): readonly Rejection[];
  /** Of the object with that uid; what is known of a former one of the same name does not count. */
  transitionsOf(key: ObjectKey, uid: string): readonly Transition[];
  /** Keys in the store of all that is held. */
  keys(): Iterable<string>;
}

export interface RecordsWriter extends Records {
  /** Takes in what stands at a store key now, undefined when it was deleted; false when the key is no record's. */
  set(key: string, value: string | undefined): boolean;
}

const none: readonly Transition[] = [];

export function createRecords(): RecordsWriter {
  const pins = new Map<ObjectKey, PinRecord>();
  const nodes = new Map<string, NodeRecord>();
  const rejections = new Map<string, Rejection>();
  const transitions = new Map<ObjectKey, TransitionRecord>();
  const kept: readonly (readonly [StorePrefix, Map<string, unknown>])[] = [
    ['pin', pins],
    ['node', nodes],
    ['rejection', rejections],
    ['transitions', transitions],
  ];
  return {
    pins,
    nodes,
    rejections,
    transitions,
    rejectionsOf: (unit) =>
      [...rejections.values()].filter(({ suspects }) => suspects.some((suspect) => suspect.unit === unit)),
    transitionsOf(key, uid) {
      const record = transitions.get(key);
      return record?.uid === uid ? record.transitions : none;
    },
    *keys() {
      for (const [prefix, map] of kept) for (const name of map.keys()) yield storeKey(prefix, name);
    },
    set(key, value) {
      for (const [prefix, map] of kept) {
        const name = objectKeyIn(prefix, key);
        if (name === undefined) continue;
        if (value === undefined) map.delete(name);
        else map.set(name, JSON.parse(value));
        return true;
      }
      return false;
    },
  };
}
