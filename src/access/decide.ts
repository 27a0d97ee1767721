import { type Permission, type Role, roles } from '../model/index.ts';
import { type Action, familyOf } from './action.ts';
import { covers, everyScope, type Grant } from './grant.ts';

/** Whether something may be done. A refusal says what it would take, in words for whoever asked. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly words: string };

const allowed: Decision = { allowed: true };

/** Scope whose objects apply to all scopes. */
const systemScope = 'system';

/**
 * The one decision of who may do what, from what somebody was given and what they want to do. What is not said to be
 * allowed is refused.
 *
 * | family | read | write, delete |
 * |---|---|---|
 * | service | viewer of the scope | operator of the scope; in `system` also the permission `system-policies` |
 * | tenancy | any role | admin of all scopes |
 * | machinery | any role, or `machinery` | `machinery` |
 * | access | admin of any scope | admin of any scope; what exactly may be given is decided in granting.ts |
 * | set | nobody | whoever may write anything at all |
 * | insight | viewer of all scopes, or `machinery` | `machinery` |
 * | metrics | viewer of all scopes, or `metrics` | nobody |
 * | audit | admin of all scopes | nobody |
 * | whole | admin of all scopes with all permissions but `metrics` | the same |
 *
 * A secret that is written takes the permission `secrets` besides: of its scope, and of all scopes where it has none.
 */
export function decide(grants: readonly Grant[], action: Action): Decision {
  const refusal = refusalOf(grants, action) ?? secretRefusal(grants, action);
  return refusal === undefined ? allowed : { allowed: false, words: refusal };
}

/** What is missing; undefined: nothing. */
function refusalOf(grants: readonly Grant[], { verb, kind, scope = everyScope }: Action): string | undefined {
  const reads = verb === 'read';
  switch (familyOf(kind)) {
    case 'service':
      return (
        need(hasRole(grants, reads ? 'viewer' : 'operator', scope), roleIn(reads ? 'viewer' : 'operator', scope)) ??
        need(reads || scope !== systemScope || hasPermission(grants, 'system-policies'), permission('system-policies'))
      );
    case 'tenancy':
      if (reads) return need(hasAnyRole(grants, 'viewer'), 'a role');
      return need(hasRole(grants, 'admin', everyScope), roleIn('admin', everyScope));
    case 'machinery':
      if (reads && hasAnyRole(grants, 'viewer')) return undefined;
      return need(hasPermission(grants, 'machinery'), reads ? 'a role' : permission('machinery'));
    case 'access':
      return need(hasAnyRole(grants, 'admin'), 'the role admin');
    case 'set':
      return need(
        !reads && (hasAnyRole(grants, 'operator') || hasPermission(grants, 'machinery')),
        'a role that writes',
      );
    case 'insight':
      if (!reads) return need(hasPermission(grants, 'machinery'), permission('machinery'));
      return need(hasRole(grants, 'viewer', everyScope) || hasPermission(grants, 'machinery'), ofAll('machinery'));
    case 'metrics':
      return need(
        reads && (hasRole(grants, 'viewer', everyScope) || hasPermission(grants, 'metrics')),
        ofAll('metrics'),
      );
    case 'audit':
      return need(reads && hasRole(grants, 'admin', everyScope), roleIn('admin', everyScope));
    case 'whole':
      return (
        need(hasRole(grants, 'admin', everyScope), roleIn('admin', everyScope)) ??
        need(hasSecrets(grants, everyScope), `${permission('secrets')} ${inScope(everyScope)}`) ??
        need(hasPermission(grants, 'machinery'), permission('machinery')) ??
        need(hasPermission(grants, 'system-policies'), permission('system-policies'))
      );
  }
}

function secretRefusal(grants: readonly Grant[], { touchesSecret, scope = everyScope }: Action): string | undefined {
  if (!touchesSecret) return undefined;
  return need(hasSecrets(grants, scope), `${permission('secrets')} ${inScope(scope)}`);
}

/**
 * Whether there is any scope in which it would be allowed: for what looks at many scopes and leaves out what may not be
 * seen.
 */
export function decideAnywhere(grants: readonly Grant[], action: Pick<Action, 'verb' | 'kind'>): Decision {
  const scopes = new Set([everyScope, ...grants.flatMap((grant) => grant.scopes)]);
  let last: Decision = { allowed: false, words: 'it takes a role' };
  for (const scope of scopes) {
    last = decide(grants, { ...action, scope, touchesSecret: false });
    if (last.allowed) return last;
  }
  return { allowed: false, words: `it takes the role ${action.verb === 'read' ? 'viewer' : 'operator'} in a scope` };
}

/** `everyScope` asks for all scopes. */
export function hasRole(grants: readonly Grant[], role: Role, scope: string): boolean {
  return grants.some((grant) => includes(grant.role, role) && covers(grant.scopes, scope));
}

function hasAnyRole(grants: readonly Grant[], role: Role): boolean {
  return grants.some((grant) => includes(grant.role, role));
}

export function hasPermission(grants: readonly Grant[], wanted: Permission): boolean {
  return grants.some(({ permissions }) => permissions.includes(wanted));
}

export function hasSecrets(grants: readonly Grant[], scope: string): boolean {
  return grants.some(({ permissions, scopes }) => permissions.includes('secrets') && covers(scopes, scope));
}

function includes(held: Role | undefined, wanted: Role): boolean {
  return held !== undefined && roles.indexOf(held) >= roles.indexOf(wanted);
}

function need(holds: boolean, words: string): string | undefined {
  return holds ? undefined : `it takes ${words}`;
}

function roleIn(role: Role, scope: string): string {
  return `the role ${role} ${inScope(scope)}`;
}

function inScope(scope: string): string {
  return scope === everyScope ? 'in all scopes' : `in scope ${scope}`;
}

function permission(name: Permission): string {
  return `the permission ${name}`;
}

function ofAll(name: Permission): string {
  return `${roleIn('viewer', everyScope)}, or ${permission(name)}`;
}
