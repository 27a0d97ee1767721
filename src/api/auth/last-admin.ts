import { givesAll, isExpired, remainingAdmin } from '../../access/index.ts';
import { FairwayError } from '../../lib/errors.ts';
import { type RoleBindingObject, specKey, storeKey } from '../../model/index.ts';
import type { Transaction } from '../../store/store.ts';
import type { Ports } from '../ports.ts';
import { keyOf } from '../present.ts';
import type { Plan } from '../write.ts';
import { bindingsIn } from './grants.ts';

/**
 * Keeps somebody who can do everything: without, nobody could give it to anybody. What is left then is made a condition
 * of the commit, so that two who each leave the other's do not both succeed.
 */

/** Whether a plan takes from a binding that gives all there is to give. */
export function takesAdmin({ before, outcome }: Plan): boolean {
  return outcome !== 'unchanged' && before?.kind === 'RoleBinding' && givesAll(before);
}

interface Sources extends Pick<Ports, 'view' | 'tokens'> {
  readonly now: number;
}

/** Checks of a commit that changes bindings. Throws `LastAdmin`. The View must be up to date. */
export function keepAdmin(plans: readonly Plan[], sources: Sources): Transaction['checks'] {
  const planned = new Map(plans.map(({ key, after }) => [key, after]));
  const bindings = bindingsIn(sources.view);
  const after = bindings.flatMap((binding) => {
    const key = keyOf(binding);
    const becomes = planned.has(key) ? planned.get(key) : binding;
    return becomes?.kind === 'RoleBinding' ? [becomes] : [];
  });
  return witnessesOf(bindings, after, sources, new Set());
}

/** Checks of a commit that takes a token away. Throws `LastAdmin`. The View must be up to date. */
export function keepAdminWithout(tokenId: string, sources: Sources): Transaction['checks'] {
  const bindings = bindingsIn(sources.view);
  return witnessesOf(bindings, bindings, sources, new Set([tokenId]));
}

function witnessesOf(
  before: readonly RoleBindingObject[],
  after: readonly RoleBindingObject[],
  { tokens, now }: Sources,
  goneTokens: ReadonlySet<string>,
): Transaction['checks'] {
  const all = [...tokens.list()].filter((token) => !isExpired(token, now));
  const tokenOf = (name: string) => all.find((token) => token.name === name && !goneTokens.has(token.id));
  const left = remainingAdmin(after, (name) => tokenOf(name) !== undefined);
  if (left === undefined) {
    // Whoever is locked out already loses nothing, and may be about to mend it.
    if (remainingAdmin(before, (name) => all.some((token) => token.name === name)) === undefined) return [];
    throw new FairwayError(
      'LastAdmin',
      'writing: nobody would be left with the role admin in all scopes and all permissions; give them to somebody else first',
    );
  }
  const { revision } = left.metadata;
  const binding = revision === '' ? [] : [{ key: specKey(keyOf(left)), modRevision: Number(revision) }];
  const witness = left.spec.subjects.some(({ token }) => token === undefined)
    ? undefined
    : left.spec.subjects.flatMap(({ token }) => (token === undefined ? [] : (tokenOf(token) ?? [])))[0];
  const token = witness === undefined ? [] : [{ key: storeKey('token', witness.id), modRevision: 'exists' as const }];
  return [...binding, ...token];
}
