import { type ObjectKey, objectKeyIn } from '../model/index.ts';
import type { NodeRecord, PinRecord, Rejection, Transition, TransitionRecord } from '../status/index.ts';

/** The records of the store that no derivation reads: they matter for status and for what the leader does. */
export interface Records {
  readonly pins: ReadonlyMap<ObjectKey, PinRecord>;
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** By `rejectionKey`. */
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** Rejections laid at an object. */
  rejectionsOf(unit: ObjectKey): readonly Rejection[];
  transitionsOf(key: ObjectKey): readonly Transition[];
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
  const transitions = new Map<ObjectKey, readonly Transition[]>();
  const kept = { pin: pins, node: nodes, rejection: rejections } as const;
  return {
    pins,
    nodes,
    rejections,
    rejectionsOf: (unit) =>
      [...rejections.values()].filter(({ suspects }) => suspects.some((suspect) => suspect.unit === unit)),
    transitionsOf: (key) => transitions.get(key) ?? none,
    set(key, value) {
      for (const [prefix, map] of Object.entries(kept) as [keyof typeof kept, Map<string, unknown>][]) {
        const name = objectKeyIn(prefix, key);
        if (name === undefined) continue;
        if (value === undefined) map.delete(name);
        else map.set(name, JSON.parse(value));
        return true;
      }
      const name = objectKeyIn('transitions', key);
      if (name === undefined) return false;
      if (value === undefined) transitions.delete(name);
      else transitions.set(name, (JSON.parse(value) as TransitionRecord).transitions);
      return true;
    },
  };
}
