import type { Ports, PreviewResult, View } from '../api/index.ts';
import { type Changes, type Mirror, oldestGood, preview, type World } from '../control/index.ts';
import type { SliceMeter } from '../lib/slices.ts';
import { type ObjectKey, parseObjectKey } from '../model/index.ts';
import { type ExplainSources, explain, type StatusSources, statusOf } from '../status/index.ts';
import { listenerNameOf, parseResourceKey, rankOf } from '../translate/index.ts';
import type { Budget } from '../view/index.ts';
import type { Hub, Resource } from '../xds/index.ts';
import type { Cluster } from './cluster.ts';
import type { Commits } from './commits.ts';
import type { Deliveries } from './deliveries.ts';
import { createOwnProxies } from './own-proxies.ts';
import { createPeerDoor } from './peer-door.ts';
import { createWholeFleet } from './whole-fleet.ts';

export interface PortsOptions {
  readonly mirror: Mirror;
  readonly changes: Changes;
  readonly commits: Commits;
  readonly deliveries: Deliveries;
  readonly cluster: Cluster;
  readonly sources: StatusSources;
  readonly hub: Hub;
  readonly budget: Budget;
  readonly now: () => number;
  /** Name of this controller. */
  readonly replica: string;
  readonly slices: SliceMeter;
}

/** Fills the ports of the API from the View, the streams and the records. */
export function createPorts(
  options: PortsOptions,
): Pick<Ports, 'controllers' | 'peer' | 'view' | 'tokens' | 'preview' | 'proxies' | 'explain' | 'events' | 'audit'> {
  const { mirror, changes, commits, deliveries, cluster, sources, hub, now, replica, slices } = options;
  const explaining: ExplainSources = {
    ...sources,
    resources: (key) => resourcesOf(mirror.world, key),
    delivery: (resource) => cluster.deliveries.of(resource),
    listenerName: listenerNameOf,
    rank: rankOf,
  };
  const { kernel, graph } = mirror.world;
  const { records } = mirror;
  const own = createOwnProxies({ deliveries, commits, records, hub, replica, slices });
  const fleet = createWholeFleet({ own, peers: cluster.peers, records });

  const view: View = {
    get revision() {
      return mirror.revision;
    },
    get: (key) => kernel.get(graph.objects[parseObjectKey(key).kind], key),
    *list(kind) {
      for (const key of kernel.keys(graph.objects[kind])) {
        const object = kernel.get(graph.objects[kind], key);
        if (object !== undefined) yield object;
      }
    },
    referrers: (key) => [...kernel.members(graph.referrers, key)].sort(),
    status: (object) => statusOf(keyOf(object), object, sources, now()),
    pinnedGeneration: (key) => oldestGood(mirror.records.held(key)),
    reached: (revision, limits) => mirror.reached(revision, limits),
    changesSince: (revision) => changes.since(revision),
    onChanges: (listener) => changes.subscribe(listener),
  };

  function proxiesOf(fleets: ReadonlySet<string>): string[] {
    const proxies = [...fleets].flatMap((name) => cluster.deliveries.ofFleet(name));
    return [...new Set(proxies.filter(({ lost }) => lost !== true).map(({ node }) => node))].sort();
  }

  return {
    controllers: () => cluster.controllers.list(),
    peer: createPeerDoor({ run: cluster.run, records, own, now }),
    view,
    tokens: { get: (id) => mirror.records.tokens.get(id), list: () => mirror.records.tokens.values() },
    preview: {
      async preview(writes): Promise<PreviewResult> {
        const { fleets, ...found } = await preview(mirror, writes, options.budget);
        return {
          ...found,
          // Most previews are made to see what is removed, and nobody asks for a thousand names.
          get proxies() {
            return proxiesOf(fleets);
          },
        };
      },
    },
    proxies: fleet,
    events: { list: () => mirror.records.events.values(), onHappened: (listener) => changes.onHappened(listener) },
    audit: () => mirror.records.audit,
    explain: {
      virtualService(key) {
        const object = view.get(key);
        return object === undefined ? undefined : explain(key, object, mirror.world, explaining, now());
      },
      commit: (revision) => fleet.commit(revision),
    },
  };
}

function resourcesOf({ kernel, translation }: World, key: ObjectKey): Resource[] {
  return translation.resourcesOf(kernel, key).flatMap((resource) => {
    const { type, name } = parseResourceKey(resource);
    const found = translation.outputs.map((output) => kernel.get(output, name)).find((row) => row?.type === type);
    return found ?? [];
  });
}

function keyOf({ kind, metadata }: { kind: string; metadata: { scope?: string; name: string } }): ObjectKey {
  return metadata.scope === undefined ? `${kind}/${metadata.name}` : `${kind}/${metadata.scope}/${metadata.name}`;
}
