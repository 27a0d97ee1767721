import { coversHost } from '../model/index.ts';

/** Hosts of rules and listeners: lower case, exact or `*.suffix`; `*` is every host. */

export const anyHost = '*';

/** The hosts as they are compared here and told to proxies. */
export function lowerCase(hosts: readonly string[] | undefined): readonly string[] | undefined {
  return hosts?.map((host) => host.toLowerCase());
}

/** Whether every host that `host` stands for is one that `pattern` stands for. */
export function covers(pattern: string, host: string): boolean {
  return pattern === anyHost || coversHost(pattern, host);
}

/** The hosts that are in both lists, as narrowly as they can be said; undefined is every host. Sorted. */
export function intersect(a: readonly string[] | undefined, b: readonly string[] | undefined): readonly string[] {
  const left = a ?? [anyHost];
  const right = b ?? [anyHost];
  const both = new Set<string>();
  for (const x of left) {
    for (const y of right) {
      if (covers(x, y)) both.add(y);
      else if (covers(y, x)) both.add(x);
    }
  }
  return [...both].sort();
}
