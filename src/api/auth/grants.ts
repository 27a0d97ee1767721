import { type Grant, grantsOf, type Identity, identityKey } from '../../access/index.ts';
import type { RoleBindingObject } from '../../model/index.ts';
import type { View } from '../ports.ts';

/** What identities were given, as the View has it. One per API. */
export interface Grants {
  /** The same list until a binding changes. */
  of(identity: Identity): readonly Grant[];
  close(): void;
}

const maxKept = 10_000;

export function createGrants(view: View): Grants {
  const known = new Map<string, readonly Grant[]>();
  const close = view.onChanges((_revision, changes) => {
    if (changes.some(({ kind }) => kind === 'RoleBinding')) known.clear();
  });
  return {
    of(identity) {
      const key = JSON.stringify([identityKey(identity), ...identity.groups]);
      let grants = known.get(key);
      if (grants === undefined) {
        grants = grantsOf(identity, bindingsIn(view));
        if (known.size >= maxKept) known.clear();
        known.set(key, grants);
      }
      return grants;
    },
    close,
  };
}

export function bindingsIn(view: View): RoleBindingObject[] {
  return [...view.list('RoleBinding')].filter((object) => object.kind === 'RoleBinding');
}
