import { type FairwayObject, type Kind, type ObjectKey, parseObjectKey } from '../model/index.ts';
import type { Translation } from '../translate/index.ts';
import type { Fork } from '../view/index.ts';
import type { Commit, Resource } from '../xds/index.ts';

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
  /** When the first of the commits that it takes in was learned of, in milliseconds since 1970. */
  readonly receivedAt: number;
  /** In the order of their revisions. */
  readonly changes: readonly ObjectChange[];
  readonly commit: Commit;
  /** Objects whose conditions may be others now. */
  readonly touched: ReadonlySet<ObjectKey>;
  /** The first complete build. */
  readonly first: boolean;
}

/** The changes of a settled fork's outputs as xds takes them, with the units whose resources changed. */
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
      for (const part of after?.parts ?? []) units.add(part.unit);
      for (const part of before?.parts ?? []) units.add(part.unit);
    }
  }
  const audiences = fork.changes(translation.audiences).flatMap(({ before, after }) => {
    if (after !== undefined) return [after];
    return before === undefined ? [] : [{ subject: before.subject, audiences: [] }];
  });
  return { commit: { revision, puts, removals, audiences }, units };
}

export function kindOf(key: ObjectKey): Kind {
  return parseObjectKey(key).kind;
}
