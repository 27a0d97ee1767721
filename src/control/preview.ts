import { allFleetsAudience, fleetsOfAudience, type Verdict } from '../graph/index.ts';
import type { FairwayObject, ObjectKey } from '../model/index.ts';
import { drains } from '../translate/index.ts';
import type { Budget, Fork } from '../view/index.ts';
import { type Resource, typeUrls } from '../xds/index.ts';
import { changeObject } from './change-object.ts';
import type { Mirror } from './mirror.ts';
import type { World } from './world.ts';

export interface Write {
  readonly key: ObjectKey;
  /** Undefined: deleted. */
  readonly object: FairwayObject | undefined;
}

interface Name {
  readonly type: string;
  readonly name: string;
}

/** What a set of writes would do. Found on a fork that is dropped. */
export interface Preview {
  readonly conditions: readonly {
    readonly key: ObjectKey;
    readonly before: readonly Verdict[];
    readonly after: readonly Verdict[];
  }[];
  /** From where proxies stand: what moves from one fleet to another is added for one and removed for the other. */
  readonly resources: {
    readonly added: readonly Name[];
    readonly changed: readonly Name[];
    readonly removed: readonly Name[];
  };
  /** Whose proxies would be sent something. */
  readonly fleets: ReadonlySet<string>;
  readonly drains: { readonly listeners: readonly string[]; readonly filterChains: readonly string[] };
  readonly removals: readonly Removal[];
  readonly exact: boolean;
}

export interface Removal {
  readonly fleet: string;
  readonly listeners: { readonly removed: number; readonly of: number };
  readonly clusters: { readonly removed: number; readonly of: number };
}

/** Above this many changed resources the answer lists the conditions only: nobody reads ten thousand names. */
const maxListed = 5000;

/** Dry runs share the queue with commits, so what they say is true of the world that the next commit meets. */
export async function preview(mirror: Mirror, writes: readonly Write[], budget: Budget): Promise<Preview> {
  const { world } = mirror;
  return mirror.exclusive(async () => {
    const fork = world.kernel.fork();
    for (const { key, object } of writes) changeObject(fork, world.graph, key, object);
    await fork.settle(budget);
    return report(world, fork);
  });
}

function report(world: World, fork: Fork): Preview {
  const resources = resourceChanges(world, fork);
  const conditions = fork.changes(world.graph.verdicts).map(({ key, before, after }) => ({
    key,
    before: before?.conditions ?? [],
    after: after?.conditions ?? [],
  }));
  const exact = resources.length <= maxListed;
  const listed = exact ? resources : [];
  return {
    conditions: conditions
      .filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after))
      .sort((a, b) => compare(a.key, b.key)),
    resources: {
      added: namesOf(listed.filter(({ gained }) => gained.length > 0)),
      changed: namesOf(listed.filter(({ edited }) => edited.length > 0)),
      removed: namesOf(listed.filter(({ lost }) => lost.length > 0)),
    },
    fleets: new Set([
      ...resources.flatMap(({ gained, edited, lost }) => [...gained, ...edited, ...lost]),
      // What all fleets get, a new one gets too, and one that goes had.
      ...fork.changes(world.graph.fleetAudiences).flatMap(({ key, before, after }) => (before && after ? [] : [key])),
    ]),
    drains: drainsOf(resources),
    removals: removalsOf(world, resources),
    exact,
  };
}

/** A resource that differs, and the fleets whose proxies notice. */
interface ResourceChange extends Name {
  readonly before: Resource | undefined;
  readonly after: Resource | undefined;
  readonly gained: readonly string[];
  readonly edited: readonly string[];
  readonly lost: readonly string[];
}

function resourceChanges({ kernel, graph, translation }: World, fork: Fork): ResourceChange[] {
  const fleetsBefore = [...kernel.keys(graph.fleetAudiences)];
  const fleetsAfter = [...fork.keys(graph.fleetAudiences)];
  return translation.outputs.flatMap((output) =>
    fork.changes(output).flatMap(({ key: name, before, after }) => {
      const type = (after ?? before)?.type ?? '';
      const had = fleetsWith(before, fleetsBefore);
      const has = fleetsWith(after, fleetsAfter);
      const gained = has.filter((fleet) => !had.includes(fleet));
      const lost = had.filter((fleet) => !has.includes(fleet));
      const edited = before?.hash === after?.hash ? [] : has.filter((fleet) => had.includes(fleet));
      // Made from another generation, and the same to everybody.
      if (gained.length + lost.length + edited.length === 0) return [];
      return [{ type, name, before, after, gained, edited, lost }];
    }),
  );
}

function fleetsWith(resource: Resource | undefined, all: readonly string[]): readonly string[] {
  if (resource === undefined) return [];
  return resource.audience === allFleetsAudience ? all : fleetsOfAudience(resource.audience);
}

function drainsOf(resources: readonly ResourceChange[]): Preview['drains'] {
  const listeners = new Set<string>();
  const filterChains = new Set<string>();
  const add = (before: Resource | undefined, after: Resource | undefined): void => {
    const drained = drains(before, after);
    for (const name of drained.listeners) listeners.add(name);
    for (const name of drained.filterChains) filterChains.add(name);
  };
  for (const { type, before, after, edited, lost } of resources) {
    if (type !== typeUrls.listener) continue;
    if (edited.length > 0) add(before, after);
    if (lost.length > 0) add(before, undefined);
  }
  return { listeners: [...listeners].sort(), filterChains: [...filterChains].sort() };
}

/** How much of each fleet would go. The totals are counted only where something goes. */
function removalsOf(world: World, resources: readonly ResourceChange[]): Removal[] {
  const counts = new Map<string, { listeners: number; clusters: number }>();
  for (const { type, lost } of resources) {
    if (type !== typeUrls.listener && type !== typeUrls.cluster) continue;
    for (const fleet of lost) {
      const count = counts.get(fleet) ?? { listeners: 0, clusters: 0 };
      if (type === typeUrls.listener) count.listeners += 1;
      else count.clusters += 1;
      counts.set(fleet, count);
    }
  }
  return [...counts].sort().map(([fleet, { listeners, clusters }]) => ({
    fleet,
    listeners: { removed: listeners, of: total(world, 'listeners', fleet) },
    clusters: { removed: clusters, of: total(world, 'clusters', fleet) },
  }));
}

function total({ kernel, translation }: World, output: 'listeners' | 'clusters', fleet: string): number {
  let count = 0;
  for (const name of kernel.keys(translation[output])) {
    if (fleetsOfAudience(kernel.get(translation[output], name)?.audience ?? '').includes(fleet)) count += 1;
  }
  return count;
}

function namesOf(resources: readonly Name[]): Name[] {
  return resources
    .map(({ type, name }) => ({ type, name }))
    .sort((a, b) => compare(a.type, b.type) || compare(a.name, b.name));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
