import type { FieldError } from '../lib/errors.ts';
import { duplicates } from './duplicates.ts';

/** Hosts as VirtualService and Route name them: exact, or `*.suffix`. Upper and lower case are the same. */

/** The form in which equal hosts are equal texts. */
export function canonicalHost(host: string): string {
  return host.toLowerCase();
}

/** Whether every name that `inner` stands for is one that `outer` stands for. `*.a.b` covers names of any depth. */
export function coversHost(outer: string, inner: string): boolean {
  const wide = canonicalHost(outer);
  const narrow = canonicalHost(inner);
  return wide === narrow || (wide.startsWith('*.') && narrow.endsWith(wide.slice(1)));
}

/** Two of the hosts, one of each list, that have a name in common; an absent list stands for all names. */
export function overlappingHosts(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): readonly [left: string, right: string] | undefined {
  for (const a of left ?? ['*']) {
    for (const b of right ?? ['*']) {
      if (a === '*' || b === '*' || coversHost(a, b) || coversHost(b, a)) return [a, b];
    }
  }
  return undefined;
}

/** Each host at most once in a list. */
export function checkHosts(hosts: readonly string[] | undefined, pointer: string): readonly FieldError[] {
  return duplicates(hosts ?? [], pointer, '', canonicalHost);
}
