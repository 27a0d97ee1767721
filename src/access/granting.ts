import { permissions, type RoleBindingObject } from '../model/index.ts';
import { hasPermission, hasRole, hasSecrets } from './decide.ts';
import { everyScope, type Grant } from './grant.ts';

/**
 * Why somebody can neither give a grant nor take it away, in words; undefined: they can. Nobody gives what they do not
 * hold, and giving takes the role admin wherever the grant holds: in its scopes, or everywhere.
 */
export function grantingRefusal(held: readonly Grant[], wanted: Grant): string | undefined {
  const foreign = wanted.scopes.find((scope) => !hasRole(held, 'admin', scope));
  if (foreign !== undefined) return `what holds ${place(foreign)} takes the role admin there`;
  for (const permission of wanted.permissions) {
    if (permission === 'secrets') {
      const locked = wanted.scopes.find((scope) => !hasSecrets(held, scope));
      if (locked !== undefined) return `the permission secrets ${place(locked)} takes that permission there`;
    } else if (!hasPermission(held, permission) || !hasRole(held, 'admin', everyScope)) {
      return `the permission ${permission} takes that permission and the role admin in all scopes`;
    }
  }
  return undefined;
}

function place(scope: string): string {
  return scope === everyScope ? 'in all scopes' : `in scope ${scope}`;
}

/** Whether a binding gives all there is to give. */
export function givesAll({ spec }: RoleBindingObject): boolean {
  const { role, scopes = [], permissions: given = [] } = spec;
  return (
    role === 'admin' && scopes.includes(everyScope) && permissions.every((permission) => given.includes(permission))
  );
}

/**
 * A binding by which somebody can still do everything; undefined: nobody can, and nobody could change that. Tokens are
 * known here; whether a user or a group is anybody, only those who keep them know.
 */
export function remainingAdmin(
  bindings: Iterable<RoleBindingObject>,
  hasToken: (name: string) => boolean,
): RoleBindingObject | undefined {
  for (const binding of bindings) {
    if (!givesAll(binding)) continue;
    if (binding.spec.subjects.some(({ token }) => token === undefined || hasToken(token))) return binding;
  }
  return undefined;
}
