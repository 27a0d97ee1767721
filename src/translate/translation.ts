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
  type PolicyRow,
  type PoolRow,
  pathOf,
  type RouteTableRow,
  type SecretRow,
  tableName,
  unavailableCluster,
} from '../graph/index.ts';
import { contentHash } from '../lib/hash.ts';
import { fleetDrainTimeoutMs, objectKey } from '../model/index.ts';
import type { Derived, Index, Kernel, Read, Rows } from '../view/index.ts';
import { type Part, type Resource, typeUrls } from '../xds/index.ts';
import { cluster, emptyCluster, warmupMs } from './cluster.ts';
import { createEncoder, type Encoder, encode, type RawPatch, sameList, sameResource } from './encode.ts';
import { discoveryOf, encodeAssignment } from './endpoint.ts';
import { listener, listenerNeeds } from './listener.ts';
import { baseOfHttp1Cluster, httpPolicyName, listenerName, networkPolicyName } from './names.ts';
import { httpPolicy, networkPolicy } from './policy-slot.ts';
import { routeConfiguration } from './route-configuration.ts';
import { declareRouteFragments, type RouteFragments } from './route-fragments.ts';
import { secret } from './secret.ts';

/** The rows of the graph that translation reads. */
export type TranslationSource = Pick<
  Graph,
  | 'listeners'
  | 'routeTables'
  | 'virtualHosts'
  | 'virtualHostsOf'
  | 'ruleSets'
  | 'defaultActions'
  | 'policies'
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
  /** Key of an object → the resources that it became, or has a part in, as {@link resourceKey}. */
  readonly resourcesOf: Index;
}

export interface TranslationOptions {
  readonly rawPatch?: RawPatch;
}

/** A resource among those of all types. */
export function resourceKey({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type}|${name}`;
}

/** The parts of a key that `resourceKey` made. */
export function parseResourceKey(key: string): { readonly type: string; readonly name: string } {
  const at = key.indexOf('|');
  return { type: key.slice(0, at), name: key.slice(at + 1) };
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
  const pools = declarePoolClusters(kernel, graph, fragments.http1Clusters);
  const clusters = declareClusters(kernel, graph, pools, encoder);
  const endpoints = declareEndpoints(kernel, pools, encoder);
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
  const resourcesOf = declareResourcesOf(kernel, byType);
  const outputs = [...byType.values()];
  return { clusters, endpoints, secrets, extensions, listeners, routes, outputs, audiences, resourcesOf };
}

/** The one row whose resource is called so, found by an index from names to the keys of the graph. */
function rowCalled<R>(read: Read, names: Index, rows: Rows<R>, name: string): R | undefined {
  const [key = ''] = read(names, name);
  return read(rows, key);
}

/** By the cluster's name: the pool as it is there. Most pools are one cluster, some another one for HTTP/1.1. */
function declarePoolClusters(kernel: Kernel, graph: TranslationSource, http1Clusters: Index): Derived<PoolRow> {
  const names = kernel.index('cluster names', graph.pools, (row: PoolRow) => [pathOf(row.pool)]);
  return kernel.derive<PoolRow>('pools by cluster', [names, http1Clusters], (read, name) => {
    const base = baseOfHttp1Cluster(name);
    if (base === undefined) return rowCalled(read, names, graph.pools, name);
    const row = rowCalled(read, names, graph.pools, base);
    return row === undefined ? undefined : { ...row, spec: { ...row.spec, protocol: 'http1' } };
  });
}

function declareClusters(
  kernel: Kernel,
  graph: TranslationSource,
  pools: Derived<PoolRow>,
  encoder: Encoder,
): Derived<Resource> {
  const standIn = kernel.derive<string>('stand-in cluster', graph.allFleets, () => unavailableCluster);
  const standInName = kernel.index('stand-in cluster name', standIn, (name: string) => [name]);
  return kernel.derive<Resource>(
    'cds',
    [pools, standInName],
    (read, name) => {
      const type = typeUrls.cluster;
      if (name === unavailableCluster) {
        const outline = { type, name, audience: allFleetsAudience };
        // Nobody's: no object can be at fault for it.
        return encoder.composite(outline, noParts, ClusterSchema, encode(ClusterSchema, emptyCluster(name)));
      }
      const row = read(pools, name);
      if (row === undefined) return undefined;
      const warmup = warmupMs(row);
      const outline = { type, name, audience: row.audience, ...(warmup === undefined ? {} : { warmupMs: warmup }) };
      return encoder.plain(outline, { unit: row.pool, generation: row.generation }, ClusterSchema, cluster(name, row));
    },
    same,
  );
}

const noParts: readonly Part[] = [];

function declareEndpoints(kernel: Kernel, pools: Derived<PoolRow>, encoder: Encoder): Derived<Resource> {
  return kernel.derive<Resource>(
    'eds',
    pools,
    (read, name) => {
      const row = read(pools, name);
      if (row === undefined || discoveryOf(row) !== 'eds') return undefined;
      const bytes = encodeAssignment(name, row);
      return encoder.composite(
        { type: typeUrls.endpoint, name, audience: row.audience },
        [{ unit: row.pool, generation: row.generation, hash: contentHash(bytes) }],
        ClusterLoadAssignmentSchema,
        bytes,
      );
    },
    same,
  );
}

function declareSecrets(kernel: Kernel, graph: TranslationSource, encoder: Encoder): Derived<Resource> {
  const names = kernel.index('secret names', graph.secrets, (row: SecretRow) => [pathOf(row.certificate)]);
  return kernel.derive<Resource>(
    'sds',
    names,
    (read, name) => {
      const row = rowCalled(read, names, graph.secrets, name);
      if (row === undefined) return undefined;
      const outline = { type: typeUrls.secret, name, audience: row.audience };
      const origin = { unit: row.certificate, generation: row.generation };
      return encoder.plain(outline, origin, SecretSchema, secret(name, row.spec));
    },
    same,
  );
}

function declareExtensions(kernel: Kernel, graph: TranslationSource, encoder: Encoder): Derived<Resource> {
  const names = kernel.index('policy names', graph.policies, (row: PolicyRow) => [
    ...(row.http ? [httpPolicyName(row.service)] : []),
    ...(row.tcp ? [networkPolicyName(row.service)] : []),
  ]);
  return kernel.derive<Resource>(
    'ecds',
    names,
    (read, name) => {
      const row = rowCalled(read, names, graph.policies, name);
      if (row === undefined) return undefined;
      const outline = { type: typeUrls.extension, name, audience: row.audience };
      const origin = { unit: row.service, generation: row.generation };
      const content = name === httpPolicyName(row.service) ? httpPolicy(name) : networkPolicy(name);
      return encoder.plain(outline, origin, TypedExtensionConfigSchema, content);
    },
    same,
  );
}

function declareListeners(kernel: Kernel, graph: TranslationSource, encoder: Encoder): Derived<Resource> {
  const names = kernel.index('listener names', graph.listeners, (row: ListenerRow) => [listenerName(row)]);
  return kernel.derive<Resource>(
    'lds',
    names,
    (read, name) => {
      const row = rowCalled(read, names, graph.listeners, name);
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
  { hosts, misdirected }: RouteFragments,
  encoder: Encoder,
): Derived<Resource> {
  const names = kernel.index('route table names', graph.routeTables, (row: RouteTableRow) => [tableName(row.table)]);
  return kernel.derive<Resource>(
    'rds',
    names,
    (read, name) => {
      const row = rowCalled(read, names, graph.routeTables, name);
      if (row === undefined) return undefined;
      const encoded = [];
      for (const key of read(graph.virtualHostsOf, row.table)) {
        const host = read(hosts, key);
        if (host !== undefined) encoded.push(host);
      }
      return routeConfiguration(encoder, name, row, encoded, read(misdirected, row.table)?.bytes);
    },
    same,
  );
}

/** The outputs have names in common (a pool is a cluster and an assignment), so they are told apart by type first. */
function declareResourcesOf(kernel: Kernel, byType: ReadonlyMap<string, Derived<Resource>>): Index {
  const keys = [...byType].map(([type, output]) =>
    kernel.index(`keys of ${type}`, output, (resource: Resource) => [resourceKey(resource)]),
  );
  const units = kernel.derive<readonly string[]>(
    'units of resources',
    keys,
    (read, key) => {
      const { type, name } = parseResourceKey(key);
      const output = byType.get(type);
      return output === undefined ? undefined : read(output, name)?.parts.map(({ unit }) => unit);
    },
    { same: (a, b) => sameList(a, b, Object.is) },
  );
  return kernel.index('resources of objects', units, (row: readonly string[]) => row);
}
