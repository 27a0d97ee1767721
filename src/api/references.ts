import { FairwayError } from '../lib/errors.ts';
import {
  type FairwayObject,
  kindNames,
  type ObjectKey,
  objectKey,
  parseObjectKey,
  referencesOf,
} from '../model/index.ts';
import type { View } from './ports.ts';
import { keyOf, nameOf } from './present.ts';
import { isScoped, type Plan } from './write.ts';

/** Scopes that Fairway itself relies on. */
const permanentScopes = ['default', 'system'];

/** So many names stand in a message; the problem document has them all, up to `listed`. */
const named = 5;
const listed = 100;

/**
 * Refuses deletions that would leave something hanging: an object that others refer to (`force` lets it pass, then
 * the referrers get a condition), or a scope with objects in it (always: they could never be reached again). What the
 * other plans of the same commit make of the referrers counts.
 */
export function deletionRefusal(plans: readonly Plan[], view: View, force: boolean): FairwayError | undefined {
  const planned = new Map(plans.map((plan) => [plan.key, plan]));
  for (const plan of plans) {
    if (plan.outcome !== 'deleted') continue;
    const refusal =
      scopeRefusal(plan.key, planned, view) ?? (force ? undefined : referenceRefusal(plan.key, planned, view));
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function referenceRefusal(key: ObjectKey, planned: ReadonlyMap<ObjectKey, Plan>, view: View): FairwayError | undefined {
  const referrers = view.referrers(key).filter((referrer) => {
    const plan = planned.get(referrer);
    return plan === undefined || (plan.after !== undefined && names(plan.after, key));
  });
  if (referrers.length === 0) return undefined;
  return refusal(key, 'is still referred to by', referrers, 'take the references out first, or use force=true');
}

function names(object: FairwayObject, key: ObjectKey): boolean {
  return referencesOf(object).some((reference) => reference.key === key);
}

function scopeRefusal(key: ObjectKey, planned: ReadonlyMap<ObjectKey, Plan>, view: View): FairwayError | undefined {
  const { kind, name: scope } = parseObjectKey(key);
  if (kind !== 'Scope') return undefined;
  if (permanentScopes.includes(scope)) {
    return new FairwayError('ReadOnly', `deleting ${nameOf(key)}: this scope always exists`);
  }
  const inside = new Set<ObjectKey>();
  for (const scoped of kindNames.filter(isScoped)) {
    for (const object of view.list(scoped)) if (object.metadata.scope === scope) inside.add(keyOf(object));
  }
  for (const { key: other, after } of planned.values()) {
    if (after === undefined) inside.delete(other);
    else if (after.metadata.scope === scope) inside.add(other);
  }
  if (inside.size === 0) return undefined;
  return refusal(key, 'still holds', [...inside].sort(), 'delete these first');
}

function refusal(key: ObjectKey, why: string, others: readonly ObjectKey[], advice: string): FairwayError {
  const shown = others.slice(0, named).map(nameOf).join(', ');
  const more = others.length > named ? ` and ${others.length - named} more` : '';
  return new FairwayError('StillReferenced', `deleting ${nameOf(key)}: it ${why} ${shown}${more}; ${advice}`, {
    extra: { referrers: others.slice(0, listed), referrersTotal: others.length },
  });
}

/** What a writer is told who names a scope that is not there. */
export function scopeMissing(scope: string): FairwayError {
  const key = objectKey('Scope', undefined, scope);
  return new FairwayError(
    'NotFound',
    `writing: there is no scope ${scope}; create it with PUT /v1/scopes/${scope} and the body {"kind": "Scope"}`,
    { errors: [{ pointer: '/metadata/scope', message: `there is no scope ${scope}` }], extra: { missing: key } },
  );
}
