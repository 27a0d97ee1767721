import {
  type Permission,
  permissions,
  type Role,
  type RoleBindingObject,
  type RoleBindingSpec,
} from '../model/index.ts';
import { type Identity, isSubject } from './identity.ts';

/** What one binding gives. */
export interface Grant {
  /** Name of the RoleBinding. */
  readonly binding: string;
  /** Absent: the permissions alone. */
  readonly role: Role | undefined;
  /** Where the role and the permission `secrets` hold. */
  readonly scopes: readonly string[];
  readonly permissions: readonly Permission[];
}

/** Stands for every scope. */
export const everyScope = '*';

export function grantOf(binding: string, { role, scopes = [], permissions: given = [] }: RoleBindingSpec): Grant {
  return { binding, role, scopes, permissions: given };
}

/** What an identity was given, by all bindings that name it or a group of it. */
export function grantsOf(identity: Identity, bindings: Iterable<RoleBindingObject>): readonly Grant[] {
  if (identity.kind === 'local') return [fullGrant('local')];
  const grants: Grant[] = [];
  for (const { metadata, spec } of bindings) {
    if (spec.subjects.some((subject) => isSubject(identity, subject))) grants.push(grantOf(metadata.name, spec));
  }
  return grants;
}

/** All there is to give. */
export function fullGrant(binding: string): Grant {
  return { binding, role: 'admin', scopes: [everyScope], permissions };
}

/** Whether a role or permission that holds in `scopes` holds in that scope. `everyScope` asks for all of them. */
export function covers(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(everyScope) || scopes.includes(scope);
}
