import { type FairwayObject, type Kind, kinds, type ObjectKey, type SpecOf } from '../model/index.ts';
import type { Derived, Kernel, Table } from '../view/index.ts';
import type { Age, Effective, Pin } from './rows.ts';

export type ByKind<T extends { [K in Kind]: unknown }> = { readonly [K in Kind]: T[K] };
export type ObjectTables = { readonly [K in Kind]: Table<FairwayObject> };
export type EffectiveRows = { readonly [K in Kind]: Derived<Effective<K>> };

/** Older first; one creation revision may have several objects, then the key decides. */
export function byAge(a: Age, b: Age): number {
  return a.createdRevision - b.createdRevision || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

export function ageOf(key: ObjectKey, object: FairwayObject): Age {
  return { createdRevision: Number(object.metadata.createdRevision), key };
}

/** Inputs, and what of each object is in force: the spec as asked for, or the last good one where proxies refused it. */
export function declareEffective(kernel: Kernel): {
  objects: ObjectTables;
  pins: Table<Pin>;
  effective: EffectiveRows;
} {
  const names = Object.keys(kinds) as Kind[];
  const objects = Object.fromEntries(
    names.map((kind) => [kind, kernel.table<FairwayObject>(`${kind} objects`)]),
  ) as ObjectTables;
  const pins = kernel.table<Pin>('pins');
  const inForce = (kind: Kind) =>
    kernel.derive<Effective>(
      `${kind} in force`,
      [objects[kind], pins],
      (read, key) => {
        const object = read(objects[kind], key);
        if (object === undefined) return undefined;
        const pin = read(pins, key);
        const refused =
          pin !== undefined && pin.uid === object.metadata.uid && pin.refused === object.metadata.generation;
        if (refused && pin.good === undefined) return undefined;
        const held = refused ? pin.good : undefined;
        return {
          key,
          age: ageOf(key, object),
          scope: object.metadata.scope ?? '',
          generation: held?.generation ?? object.metadata.generation,
          spec: (held?.spec ?? object.spec) as SpecOf<Kind>,
        };
      },
      // Labels and annotations are not in here: an edit of them ends at this row.
      { same: (a, b) => a.generation === b.generation && a.age.createdRevision === b.age.createdRevision },
    );
  const effective = Object.fromEntries(names.map((kind) => [kind, inForce(kind)])) as unknown as EffectiveRows;
  return { objects, pins, effective };
}
