import type { Index, Kernel, Read, Rows } from '../view/index.ts';
import { fleetAudience, fleetsOfAudience, splitKey } from './names.ts';

/** That fleets use targets: clusters or secrets, by their names. */
export interface Use {
  readonly fleets: readonly string[];
  readonly targets: readonly string[];
}

/**
 * Target → the fleets that use it, each as `target|fleet`. A target's name is the same in every fleet, so a proxy keeps
 * what it has when a further fleet begins to use it.
 */
export function declareFleetsOf<R>(
  kernel: Kernel,
  what: string,
  sources: readonly Rows<R>[],
  useOf: (row: R) => Use,
): Index {
  // In two steps, so that the hundredth service that uses a pool in the same fleet changes nothing.
  const pairs = kernel.index(`${what} by fleet`, sources, (row: R) => {
    const { fleets, targets } = useOf(row);
    return targets.flatMap((target) => fleets.map((fleet) => `${target}|${fleet}`));
  });
  return kernel.grouping(`fleets of ${what}`, pairs, (pair) => [splitKey(pair)[0] as string]);
}

/** Who gets a target: the proxies of all fleets that use it. */
export function audienceOf(read: Read, fleetsOf: Index, target: string): string {
  return fleetAudience(...[...read(fleetsOf, target)].map((pair) => splitKey(pair)[1] as string).sort());
}

/** Fleet → the audiences of targets that it is part of. */
export function declareAudiencesOf(kernel: Kernel, what: string, targets: Rows<{ readonly audience: string }>): Index {
  const audiences = kernel.index(`audiences of ${what}`, targets, ({ audience }: { readonly audience: string }) => [
    audience,
  ]);
  return kernel.grouping(`audiences of ${what} by fleet`, audiences, fleetsOfAudience);
}
