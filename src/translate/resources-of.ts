import { type Graph, pathOf, tableName } from '../graph/index.ts';
import { type ObjectKey, parseObjectKey } from '../model/index.ts';
import type { Derived, World } from '../view/index.ts';
import { type Resource, type TypeUrl, typeUrls } from '../xds/index.ts';
import { http1Cluster, httpPolicyName, listenerName, networkPolicyName } from './names.ts';
import type { RouteFragments } from './route-fragments.ts';

/** A resource among those of all types. */
export function resourceKey({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type}|${name}`;
}

/** The parts of a key that `resourceKey` made. */
export function parseResourceKey(key: string): { readonly type: string; readonly name: string } {
  const at = key.indexOf('|');
  return { type: key.slice(0, at), name: key.slice(at + 1) };
}

type Source = Pick<Graph, 'services' | 'listeners' | 'served' | 'ruleSets' | 'virtualHosts'> &
  Pick<RouteFragments, 'hostsOfPool'>;

/**
 * The resources that an object became, or has a part in. Only asked for one object at a time, by people, so it is
 * found by following the graph and not kept: an index of it would be a tenth of the kernel.
 */
export function resourcesOf(
  world: World,
  graph: Source,
  outputs: ReadonlyMap<TypeUrl, Derived<Resource>>,
  object: ObjectKey,
): string[] {
  return namesOf(world, graph, object)
    .filter(({ type, name }) => {
      const output = outputs.get(type);
      const resource = output && world.get(output, name);
      return resource?.parts.some(({ unit }) => unit === object) === true;
    })
    .map(resourceKey)
    .sort();
}

interface Name {
  readonly type: TypeUrl;
  readonly name: string;
}

/** What the resources are called, if there are any, each once. */
function namesOf(world: World, graph: Source, object: ObjectKey): Name[] {
  const path = pathOf(object);
  switch (parseObjectKey(object).kind) {
    case 'VirtualService':
      return namesOfService(world, graph, object);
    case 'Route':
      return tablesOf(world, graph, object).map((table) => ({ type: typeUrls.route, name: tableName(table) }));
    case 'BackendPool':
      return [
        ...[typeUrls.cluster, typeUrls.endpoint].flatMap((type) =>
          [path, http1Cluster(path)].map((name) => ({ type, name })),
        ),
        ...tablesOfPool(world, graph, object).map((table) => ({ type: typeUrls.route, name: tableName(table) })),
      ];
    case 'Certificate':
      return [{ type: typeUrls.secret, name: path }];
    default:
      return [];
  }
}

function namesOfService(world: World, graph: Source, service: ObjectKey): Name[] {
  const listeners = (world.get(graph.services, service)?.sockets ?? []).flatMap(
    ({ key }) => world.get(graph.listeners, key) ?? [],
  );
  const tables = world.get(graph.served, service)?.tables ?? [];
  return [
    ...listeners.map((row) => ({ type: typeUrls.listener, name: listenerName(row) })),
    ...tables.map((table) => ({ type: typeUrls.route, name: tableName(table) })),
    ...[httpPolicyName(service), networkPolicyName(service)].map((name) => ({ type: typeUrls.extension, name })),
  ];
}

/** Keys of the tables that a setting of a pool stands in. */
function tablesOfPool(world: World, graph: Source, pool: ObjectKey): string[] {
  const hosts = [...world.members(graph.hostsOfPool, pool)];
  return [...new Set(hosts.flatMap((key) => world.get(graph.virtualHosts, key)?.table ?? []))];
}

/** Keys of the tables that a Route is attached to. */
function tablesOf(world: World, graph: Source, route: ObjectKey): string[] {
  const attachments = world.get(graph.ruleSets, route)?.attachments ?? [];
  return [...new Set(attachments.map(({ table }) => table))];
}
