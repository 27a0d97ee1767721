import { differing } from '../lib/differing.ts';
import { type FairwayObject, type Kind, type ObjectKey, parseObjectKey } from '../model/index.ts';
import type { EventRecord, Rejection } from '../status/index.ts';
import type { Translation } from '../translate/index.ts';
import type { Fork } from '../view/index.ts';
import type { Commit, Part, Resource } from '../xds/index.ts';

/** One change of an object, or of its stored transitions, at a revision of the store. */
export interface ObjectChange {
  readonly revision: number;
  readonly kind: Kind;
  readonly key: ObjectKey;
  /** Undefined: deleted; then `last` is what it was. */
  readonly object: FairwayObject | undefined;
  readonly last?: FairwayObject;
}

/** What a step of the View brought. */
export interface Adoption {
  readonly revision: number;
  /** The newest revision up to it that changed what is served, or may have. */
  readonly needed: number;
  /** When the first of the commits that it takes in was learned of, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** In the order of their revisions. */
  readonly changes: readonly ObjectChange[];
  readonly commit: Commit;
  /** Objects whose conditions may be others now. */
  readonly touched: ReadonlySet<ObjectKey>;
  /** Refusals of which nothing is left. */
  readonly over: readonly Rejection[];
  /** Events that began or came again. */
  readonly happened: readonly EventRecord[];
  /** What it cost: rows computed, by collection, and the time in which the kernel settled, with its pauses. */
  readonly work: { readonly computed: ReadonlyMap<string, number>; readonly settleMs: number };
  /** The first complete build. */
  readonly first: boolean;
}

/** The changes of a settled fork's outputs as xds takes them, with the units whose part in a resource changed. */
export function commitOf(
  fork: Fork,
  translation: Translation,
  revision: number,
): { commit: Commit; units: Set<ObjectKey> } {
  const puts: Resource[] = [];
  const removals: { type: string; name: string }[] = [];
  const units = new Set<ObjectKey>();
  for (const output of translation.outputs) {
    for (const { before, after } of fork.changes(output)) {
      if (after !== undefined) puts.push(after);
      else if (before !== undefined) removals.push({ type: before.type, name: before.name });
      for (const unit of changedUnits(before, after)) units.add(unit);
    }
  }
  const audiences = fork.changes(translation.audiences).flatMap(({ before, after }): Commit['audiences'] => {
    if (after !== undefined) return [after];
    return before === undefined ? [] : [{ subject: before.subject, audiences: [] }];
  });
  return { commit: { revision, puts, removals, audiences }, units };
}

/** Of a table with thousands of Routes, those whose rules changed; all of them where it is not for their sake. */
function changedUnits(before: Resource | undefined, after: Resource | undefined): Iterable<ObjectKey> {
  const was = before?.parts ?? noParts;
  const is = after?.parts ?? noParts;
  if (before?.audience === after?.audience) {
    const { start, end, otherEnd } = differing(is, was, samePart);
    const changed = unitsIn(was.slice(start, otherEnd), is.slice(start, end));
    if (changed.length > 0) return changed;
  }
  return [...was, ...is].map(({ unit }) => unit);
}

const noParts: readonly Part[] = [];

/** Units of the parts of either list that the other one has not. */
function unitsIn(was: readonly Part[], is: readonly Part[]): ObjectKey[] {
  const former = new Map(was.map((part) => [part.unit, part]));
  const changed: ObjectKey[] = [];
  for (const part of is) {
    const known = former.get(part.unit);
    former.delete(part.unit);
    if (known === undefined || !samePart(known, part)) changed.push(part.unit);
  }
  return [...changed, ...former.keys()];
}

function samePart(a: Part, b: Part): boolean {
  return a === b || (a.hash === b.hash && a.generation === b.generation && a.unit === b.unit);
}

export function kindOf(key: ObjectKey): Kind {
  return parseObjectKey(key).kind;
}
