/** Which objects are held back by the searches, and in which generation each is served meanwhile. */
import type { ObjectKey } from '../model/index.ts';
import type { Evidence, SearchRecord, Suspect } from '../status/index.ts';

/** What one search holds an object for. */
export interface Held {
  /** Of the resource whose search it is, see `rejectionKey`. */
  readonly key: string;
  readonly verdict: 'guilty' | 'trial' | 'hot' | 'cold';
  readonly suspect: Suspect;
  /** Of the culprit itself, or of the refusals that the search is about. */
  readonly evidence: Evidence | null;
  /** How many objects the search still has to do with. */
  readonly among: number;
}

export interface HeldObjects {
  /** By key of the search, in the order of these. */
  of(unit: ObjectKey): readonly Held[];
  /** Replaces what searches hold, once `apply` is called. */
  prepare(searches: ReadonlyMap<string, SearchRecord | undefined>): {
    /** Of all objects that this concerns, what holds them then. */
    readonly held: ReadonlyMap<ObjectKey, readonly Held[]>;
    apply(): void;
  };
}

const none: readonly Held[] = [];

export function createHeldObjects(): HeldObjects {
  const byUnit = new Map<ObjectKey, readonly Held[]>();
  const unitsOf = new Map<string, readonly ObjectKey[]>();
  return {
    of: (unit) => byUnit.get(unit) ?? none,
    prepare(searches) {
      const now = new Map<ObjectKey, Held[]>();
      const others = (unit: ObjectKey): Held[] => {
        const kept = now.get(unit) ?? (byUnit.get(unit) ?? none).filter(({ key }) => !searches.has(key));
        now.set(unit, kept);
        return kept;
      };
      for (const [key, record] of searches) {
        for (const unit of unitsOf.get(key) ?? []) others(unit);
        if (record !== undefined) for (const held of heldBy(key, record)) others(held.suspect.unit).push(held);
      }
      for (const all of now.values()) all.sort(byKey);
      return {
        held: now,
        apply() {
          for (const [unit, all] of now) {
            if (all.length === 0) byUnit.delete(unit);
            else byUnit.set(unit, all);
          }
          for (const [key, record] of searches) {
            if (record === undefined) unitsOf.delete(key);
            else
              unitsOf.set(
                key,
                Array.from(heldBy(key, record), ({ suspect }) => suspect.unit),
              );
          }
        },
      };
    },
  };
}

function* heldBy(key: string, { guilty, trial, hot, cold, evidence }: SearchRecord): Generator<Held> {
  const among = trial.length + hot.length + cold.length;
  for (const culprit of guilty) yield { key, verdict: 'guilty', suspect: culprit, evidence: culprit.evidence, among };
  for (const suspect of trial) yield { key, verdict: 'trial', suspect, evidence, among };
  for (const suspect of hot) yield { key, verdict: 'hot', suspect, evidence, among };
  for (const suspect of cold) yield { key, verdict: 'cold', suspect, evidence, among };
}

/**
 * Whether an object is held back, and in which generation it is served then. Of several searches after the same object
 * the first one decides, so that they do not wait for each other; but who is guilty for one is held back for all.
 */
export function pinOf(held: readonly Held[]): Suspect | undefined {
  const newest = Math.max(...held.map(({ suspect }) => suspect.refused));
  // What is said of an older generation is over.
  const present = held.filter(({ suspect }) => suspect.refused === newest);
  const [first] = present;
  if (first === undefined) return undefined;
  const decisive = present.find(({ verdict }) => verdict === 'guilty') ?? first;
  if (decisive.verdict === 'trial') return undefined;
  const goods = present.map(({ suspect }) => suspect.good);
  return { ...decisive.suspect, good: goods.includes(null) ? null : Math.min(...(goods as number[])) };
}

/** Whether a trial of the search would not try the object, since another search holds it back. */
export function isHeldElsewhere(held: readonly Held[], key: string): boolean {
  return held.some((one) => one.key !== key && (one.verdict === 'guilty' || one.key < key));
}

/** The oldest generation whose spec may be needed yet; undefined when none is. */
export function oldestGood(held: readonly Held[]): number | undefined {
  const goods = held.flatMap(({ suspect }) => suspect.good ?? []);
  return goods.length === 0 ? undefined : Math.min(...goods);
}

function byKey(a: Held, b: Held): number {
  return a.key < b.key ? -1 : 1;
}
