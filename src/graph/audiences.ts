import type { ObjectKey } from '../model/index.ts';
import type { Collection, Derived, Index, Kernel, Rows } from '../view/index.ts';
import { fleetAudience, fleetsOfAudience, splitKey } from './names.ts';

/** That fleets use a target: pools or certificates. One row of what refers to it. */
export interface Use {
  readonly fleets: readonly string[];
  readonly targets: readonly ObjectKey[];
}

/** Who gets a target: the proxies of all fleets that use it. */
export interface TargetAudience {
  readonly audience: string;
  readonly fleets: readonly string[];
}

/**
 * Target → the audience of the fleets that use it, and fleet → the audiences it is part of. The target's name is
 * the same in every fleet, so a proxy keeps what it has when a further fleet begins to use the target.
 */
export function declareTargetAudiences(
  kernel: Kernel,
  what: string,
  sources: readonly Rows<Use>[],
): { audiences: Derived<TargetAudience>; targets: Collection; ofFleet: Index } {
  // In two steps, so that the hundredth service that uses a pool in the same fleet changes nothing.
  const uses = kernel.index(`${what} by fleet of use`, sources, (row: Use) =>
    row.targets.flatMap((target) => row.fleets.map((fleet) => `${target}|${fleet}`)),
  );
  const usedIn = kernel.derive<{ target: ObjectKey; fleet: string }>(
    `${what} and fleet`,
    uses,
    (_read, key) => {
      const [target = '', fleet = ''] = splitKey(key);
      return { target, fleet };
    },
    { same: () => true },
  );
  const fleetsOf = kernel.index(`fleets of ${what}`, usedIn, (row: { target: ObjectKey }) => [row.target]);
  const audiences = kernel.derive<TargetAudience>(
    `audience of ${what}`,
    fleetsOf,
    (read, key) => {
      const fleets = [...read(fleetsOf, key)].map((pair) => splitKey(pair)[1] as string).sort();
      return { audience: fleetAudience(...fleets), fleets };
    },
    { same: (a, b) => a.audience === b.audience },
  );
  const byAudience = kernel.index(`${what} by audience`, audiences, (row: TargetAudience) => [row.audience]);
  const shared = kernel.derive<{ fleets: readonly string[] }>(
    `fleets of ${what} audiences`,
    byAudience,
    (_read, key) => ({ fleets: fleetsOfAudience(key) }),
    { same: () => true },
  );
  const ofFleet = kernel.index(
    `${what} audiences of fleets`,
    shared,
    (row: { fleets: readonly string[] }) => row.fleets,
  );
  return { audiences, targets: fleetsOf, ofFleet };
}
