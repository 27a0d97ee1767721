import { ClusterSchema } from '../gen/envoy/config/cluster/v3/cluster_pb.js';
import { TypedExtensionConfigSchema } from '../gen/envoy/config/core/v3/extension_pb.js';
import { ClusterLoadAssignmentSchema } from '../gen/envoy/config/endpoint/v3/endpoint_pb.js';
import { ListenerSchema } from '../gen/envoy/config/listener/v3/listener_pb.js';
import { SecretSchema } from '../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js';
import {
  allFleetsAudience,
  type FleetAudiences,
  type Graph,
  type ListenerRow,
  type PoolRow,
  type ServedRow,
  tableName,
  unavailableCluster,
} from '../graph/index.ts';
import { fleetDrainTimeoutMs, type ObjectKey, objectKey } from '../model/index.ts';
import type { Derived, Index, Kernel, Read, World } from '../view/index.ts';
import { type Part, type Resource, typeUrls } from '../xds/index.ts';
import { cluster, clusterNeeds, emptyCluster, warmupMs } from './cluster.ts';
import { createEncoder, type Encoder, type RawPatch, sameList, sameResource, whole } from './encode.ts';
import { assignment, discoveryOf } from './endpoint.ts';
import { listener, listenerNeeds } from './listener.ts';
import { baseOfHttp1Cluster, httpPolicyName, listenerName, networkPolicyName } from './names.ts';
import { openPolicy } from './policy-slot.ts';
import { resourcesOf } from './resources-of.ts';
import { routeConfiguration } from './route-configuration.ts';
import { declareRouteFragments, type RouteFragments } from './route-fragments.ts';
import { secret } from './secret.ts';
import type { EncodedHost } from './virtual-host.ts';

/** The rows of the graph that translation reads. */
export type TranslationSource = Pick<
  Graph,
  | 'services'
  | 'listeners'
  | 'served'
  | 'virtualHosts'
  | 'virtualHostsOf'
  | 'ruleSets'
  | 'defaultActions'
  | 'pools'
  | 'secrets'
  | 'fleetAudiences'
  | 'allFleets'
> & { readonly effective: Pick<Graph['effective'], 'VirtualService' | 'Fleet'> };

/** Which audiences the proxies of a fleet have, and how long they drain. */
export interface AudienceRow {
  /** `cluster/<node.cluster>`. */
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly drainMs: number;
}

/** One collection of resources for each xDS type, by the resource's name. */
export interface Translation {
  readonly clusters: Derived<Resource>;
  readonly endpoints: Derived<Resource>;
  readonly secrets: Derived<Resource>;
  readonly extensions: Derived<Resource>;
  readonly listeners: Derived<Resource>;
  readonly routes: Derived<Resource>;
  /** All six, in the order in which one push sends them. */
  readonly outputs: readonly Derived<Resource>[];
  /** By fleet name. */
  readonly audiences: Derived<AudienceRow>;
  /** The resources that an object became, or has a part in, as {@link resourceKey}, sorted. */
  resourcesOf(world: World, object: ObjectKey): string[];
}

export interface TranslationOptions {
  readonly rawPatch?: RawPatch;
}

const same = { same: sameResource };

/** Declares the translation on a kernel, once, after its graph. */
export function declareTranslation(
  kernel: Kernel,
  graph: TranslationSource,
  options: TranslationOptions = {},
): Translation {
  const encoder = createEncoder(options.rawPatch);
  const fragments = declareRouteFragments(kernel, graph);
  const clusters = declareClusters(kernel, graph, fragments, encoder);
  const endpoints = declareEndpoints(kernel, graph, fragments, encoder);
  const secrets = declareSecrets(kernel, graph, encoder);
  const extensions = declareExtensions(kernel, graph, encoder);
  const listeners = declareListeners(kernel, graph, encoder);
  const routes = declareRoutes(kernel, graph, fragments, encoder);
  const audiences = kernel.derive<AudienceRow>(
    'audiences of proxies',
    graph.fleetAudiences,
    (read, fleet) => {
      const row = read(graph.fleetAudiences, fleet) as FleetAudiences;
      const effective = read(graph.effective.Fleet, objectKey('Fleet', undefined, fleet));
      const drainMs = fleetDrainTimeoutMs(effective?.spec ?? {});
      return { subject: `cluster/${fleet}`, audiences: row.audiences, drainMs };
    },
    { same: (a, b) => a.drainMs === b.drainMs && sameList(a.audiences, b.audiences, Object.is) },
  );
  const byType = new Map<string, Derived<Resource>>([
    [typeUrls.cluster, clusters],
    [typeUrls.endpoint, endpoints],
    [typeUrls.secret, secrets],
    [typeUrls.extension, extensions],
    [typeUrls.listener, listeners],
    [typeUrls.route, routes],
  ]);
  return {
    clusters,
    endpoints,
    secrets,
    extensions,
    listeners,
    routes,
    outputs: [...byType.values()],
    audiences,
    resourcesOf: (world, object) => resourcesOf(world, { ...graph, ...fragments }, byType, object),
  };
}

/** The pool as it is in a cluster. Most pools are one cluster, some another one for HTTP/1.1. */
function poolOf(read: Read, { pools }: TranslationSource, cluster: string): PoolRow | undefined {
  const base = baseOfHttp1Cluster(cluster);
  if (base === undefined) return read(pools, cluster);
  const row = read(pools, base);
  return row === undefined ? undefined : { ...row, spec: { ...row.spec, protocol: 'http1' } };
}

function declareClusters(
  kernel: Kernel,
  graph: TranslationSource,
  { http1Clusters }: RouteFragments,
  encoder: Encoder,
): Derived<Resource> {
  const standIn = kernel.grouping('stand-in cluster', graph.allFleets, () => [unavailableCluster]);
  return kernel.derive<Resource>(
    'cds',
    [graph.pools, http1Clusters, standIn],
    (read, name) => {
      const type = typeUrls.cluster;
      if (name === unavailableCluster) {
        const outline = { type, name, audience: allFleetsAudience };
        // Nobody's: no object can be at fault for it.
        return encoder.composite(outline, noParts, ClusterSchema, whole(ClusterSchema, emptyCluster(name)));
      }
      const row = poolOf(read, graph, name);
      if (row === undefined) return undefined;
      const warmup = warmupMs(row);
      const outline = {
        type,
        name,
        audience: row.audience,
        needs: clusterNeeds(name, row),
        ...(warmup === undefined ? {} : { warmupMs: warmup }),
      };
      return encoder.plain(outline, { unit: row.pool, generation: row.generation }, ClusterSchema, cluster(name, row));
    },
    same,
  );
}

const noParts: readonly Part[] = [];

function declareEndpoints(
  kernel: Kernel,
  graph: TranslationSource,
  { http1Clusters }: RouteFragments,
  encoder: Encoder,
): Derived<Resource> {
  return kernel.derive<Resource>(
    'eds',
    [graph.pools, http1Clusters],
    (read, name) => {
      const row = poolOf(read, graph, name);
      if (row === undefined || discoveryOf(row) !== 'eds') return undefined;
      const outline = { type: typeUrls.endpoint, name, audience: row.audience };
      const origin = { unit: row.pool, generation: row.generation };
      return encoder.plain(outline, origin, ClusterLoadAssignmentSchema, assignment(name, row));
    },
    same,
  );
}

function declareSecrets(kernel: Kernel, graph: TranslationSource, encoder: Encoder): Derived<Resource> {
  return kernel.derive<Resource>(
    'sds',
    graph.secrets,
    (read, name) => {
      const row = read(graph.secrets, name);
      if (row === undefined) return undefined;
      const outline = { type: typeUrls.secret, name, audience: row.audience };
      const origin = { unit: row.certificate, generation: row.generation };
      return encoder.plain(outline, origin, SecretSchema, secret(name, row.spec));
    },
    same,
  );
}

function declareExtensions(kernel: Kernel, graph: TranslationSource, encoder: Encoder): Derived<Resource> {
  const names = kernel.index('policy names', graph.served, ({ service, http, tcp }: ServedRow) => [
    ...(http ? [httpPolicyName(service)] : []),
    ...(tcp ? [networkPolicyName(service)] : []),
  ]);
  return kernel.derive<Resource>(
    'ecds',
    names,
    (read, name) => {
      const { row, object } = serviceCalled(read, names, graph, name) ?? {};
      if (row === undefined || object === undefined) return undefined;
      const outline = { type: typeUrls.extension, name, audience: row.audience };
      const origin = { unit: row.service, generation: object.generation };
      const sort = name === httpPolicyName(row.service) ? 'http' : 'tcp';
      return encoder.plain(outline, origin, TypedExtensionConfigSchema, openPolicy(sort, name));
    },
    same,
  );
}

/** The service that one of its resources is called after, found by an index of their names. */
function serviceCalled(read: Read, names: Index, { served, effective }: TranslationSource, name: string) {
  const [service = ''] = read(names, name);
  const row = read(served, service);
  const object = read(effective.VirtualService, service);
  return row === undefined || object === undefined ? undefined : { row, object };
}

function declareListeners(kernel: Kernel, graph: TranslationSource, encoder: Encoder): Derived<Resource> {
  const names = kernel.index('listener names', graph.listeners, (row: ListenerRow) => [listenerName(row)]);
  return kernel.derive<Resource>(
    'lds',
    names,
    (read, name) => {
      const [socket = ''] = read(names, name);
      const row = read(graph.listeners, socket);
      if (row === undefined) return undefined;
      const outline = { type: typeUrls.listener, name, audience: row.audience, needs: listenerNeeds(row) };
      const origin = { unit: row.service, generation: row.generation };
      return encoder.plain(outline, origin, ListenerSchema, listener(name, row));
    },
    same,
  );
}

function declareRoutes(
  kernel: Kernel,
  graph: TranslationSource,
  fragments: RouteFragments,
  encoder: Encoder,
): Derived<Resource> {
  const names = kernel.index('route table names', graph.served, ({ tables }: ServedRow) => tables.map(tableName));
  // The keys of the hosts of one table differ in the host alone, so they come in the order of the hosts.
  const hostsOf = kernel.gather('encoded hosts of tables', graph.virtualHostsOf, fragments.hosts);
  return kernel.derive<Resource>(
    'rds',
    names,
    (read, name, was) => {
      const { row, object: service } = serviceCalled(read, names, graph, name) ?? {};
      const table = row?.tables.find((candidate) => tableName(candidate) === name);
      if (row === undefined || service === undefined || table === undefined) return undefined;
      const hosts = read(hostsOf, table)?.rows ?? noHosts;
      return routeConfiguration(encoder, { name, audience: row.audience, service, hosts }, was);
    },
    same,
  );
}

const noHosts: readonly EncodedHost[] = [];
