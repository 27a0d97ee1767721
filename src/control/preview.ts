import { fleetsOfAudience, type Verdict } from '../graph/index.ts';
import type { FairwayObject, ObjectKey } from '../model/index.ts';
import { drains } from '../translate/index.ts';
import type { Budget, Fork } from '../view/index.ts';
import { type Commit, type Resource, typeUrls } from '../xds/index.ts';
import { commitOf, kindOf } from './adoption.ts';
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
  readonly resources: {
    readonly added: readonly Name[];
    readonly changed: readonly Name[];
    readonly removed: readonly Name[];
  };
  /** Audiences of the resources that differ, and subjects whose audiences do. */
  readonly audiences: ReadonlySet<string>;
  readonly subjects: ReadonlySet<string>;
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
    for (const { key, object } of writes) {
      const table = world.graph.objects[kindOf(key)];
      if (object === undefined) fork.remove(table, key);
      else fork.put(table, key, object);
    }
    await fork.settle(budget);
    return report(world, fork);
  });
}

function report(world: World, fork: Fork): Preview {
  const { commit } = commitOf(fork, world.translation, 0);
  const before = (name: Name): Resource | undefined => formerly(world, name);
  const added: Name[] = [];
  const changed: Name[] = [];
  const audiences = new Set<string>();
  for (const resource of commit.puts) {
    const former = before(resource);
    const { type, name } = resource;
    if (former === undefined) added.push({ type, name });
    else if (former.hash !== resource.hash || former.audience !== resource.audience) changed.push({ type, name });
    else continue;
    audiences.add(resource.audience);
    if (former !== undefined) audiences.add(former.audience);
  }
  for (const removal of commit.removals) {
    const former = before(removal);
    if (former !== undefined) audiences.add(former.audience);
  }
  const exact = commit.puts.length + commit.removals.length <= maxListed;
  const conditions = fork.changes(world.graph.verdicts).map(({ key, before: from, after: to }) => ({
    key,
    before: from?.conditions ?? [],
    after: to?.conditions ?? [],
  }));
  return {
    conditions: conditions
      .filter(({ before: from, after: to }) => JSON.stringify(from) !== JSON.stringify(to))
      .sort(byKey),
    resources: exact
      ? { added: added.sort(byName), changed: changed.sort(byName), removed: [...commit.removals].sort(byName) }
      : { added: [], changed: [], removed: [] },
    audiences,
    subjects: new Set(commit.audiences.map(({ subject }) => subject)),
    drains: drainsOf(commit, before),
    removals: removalsOf(world, commit),
    exact,
  };
}

function formerly({ kernel, translation }: World, { type, name }: Name): Resource | undefined {
  for (const output of translation.outputs) {
    const resource = kernel.get(output, name);
    if (resource?.type === type) return resource;
  }
  return undefined;
}

function drainsOf(commit: Commit, before: (name: Name) => Resource | undefined): Preview['drains'] {
  const listeners: string[] = [];
  const filterChains: string[] = [];
  const add = (former: Resource | undefined, after: Resource | undefined): void => {
    const drained = drains(former, after);
    listeners.push(...drained.listeners);
    filterChains.push(...drained.filterChains);
  };
  for (const resource of commit.puts) if (resource.type === typeUrls.listener) add(before(resource), resource);
  for (const removal of commit.removals) if (removal.type === typeUrls.listener) add(before(removal), undefined);
  return { listeners: listeners.sort(), filterChains: filterChains.sort() };
}

/** How much of each fleet would go. The totals are counted only where something goes. */
function removalsOf(world: World, commit: Commit): Removal[] {
  const lost = new Map<string, { listeners: number; clusters: number }>();
  for (const removal of commit.removals) {
    if (removal.type !== typeUrls.listener && removal.type !== typeUrls.cluster) continue;
    const resource = formerly(world, removal);
    for (const fleet of fleetsOfAudience(resource?.audience ?? '')) {
      const count = lost.get(fleet) ?? { listeners: 0, clusters: 0 };
      if (removal.type === typeUrls.listener) count.listeners += 1;
      else count.clusters += 1;
      lost.set(fleet, count);
    }
  }
  return [...lost].sort().map(([fleet, { listeners, clusters }]) => ({
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

function byName(a: Name, b: Name): number {
  return compare(a.type, b.type) || compare(a.name, b.name);
}

function byKey(a: { key: string }, b: { key: string }): number {
  return compare(a.key, b.key);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
