import { type Action, grantingRefusal, grantOf } from '../../access/index.ts';
import type { FairwayError } from '../../lib/errors.ts';
import { type FairwayObject, kindInfo, type ObjectKey, parseObjectKey, sameSpec } from '../../model/index.ts';
import { nameOf } from '../present.ts';
import type { Intent, Plan } from '../write.ts';
import type { Authority } from './authority.ts';

/** What whoever asks may not write, known before anything was read; undefined: it may be. */
export function intentRefusal({ key, action }: Intent, authority: Authority): FairwayError | undefined {
  return authority.refusal(actionOf(key, action === 'delete' ? 'delete' : 'write', false), nameOf(key));
}

/** What of a plan depends on what it does to the object: secrets that it writes, rights that it gives or takes. */
export function planRefusal(plan: Plan, authority: Authority): FairwayError | undefined {
  const { key, outcome, before, after } = plan;
  if (outcome === 'unchanged') return undefined;
  if (after !== undefined && writesSecret(before, after)) {
    const refusal = authority.refusal(actionOf(key, 'write', true), nameOf(key));
    if (refusal !== undefined) return refusal;
  }
  for (const binding of [before, after]) {
    if (binding?.kind !== 'RoleBinding') continue;
    const words = grantingRefusal(authority.grants, grantOf(binding.metadata.name, binding.spec));
    if (words !== undefined) {
      return authority.forbid(actionOf(key, outcome === 'deleted' ? 'delete' : 'write', false), words, nameOf(key));
    }
  }
  return undefined;
}

function actionOf(key: ObjectKey, verb: Action['verb'], touchesSecret: boolean): Action {
  const { kind, scope } = parseObjectKey(key);
  return { verb, kind, scope, touchesSecret };
}

/** Whether a secret stands there that did not before. To take one away, or to keep it, is a write like any other. */
function writesSecret(before: FairwayObject | undefined, after: FairwayObject): boolean {
  return kindInfo(after.kind).secretFields.some((pointer) => {
    const secret = at(after, pointer);
    return secret !== undefined && !sameSpec(secret, before === undefined ? undefined : at(before, pointer));
  });
}

function at(object: FairwayObject, pointer: string): unknown {
  let value: unknown = object;
  for (const field of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[field];
  }
  return value;
}
