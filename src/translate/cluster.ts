import { create, fromBinary } from '@bufbuild/protobuf';
import { type Any, durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_DnsLookupFamily,
  ClusterSchema,
} from '../gen/envoy/config/cluster/v3/cluster_pb.js';
import { ClusterLoadAssignmentSchema } from '../gen/envoy/config/endpoint/v3/endpoint_pb.js';
import { HttpProtocolOptionsSchema } from '../gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js';
import type { PoolRow } from '../graph/index.ts';
import { encodeWith } from '../lib/encode-with.ts';
import { type BackendPoolSpec, effectiveBackendPool } from '../model/index.ts';
import { type Need, typeUrls } from '../xds/index.ts';
import { circuitBreakers } from './circuit-breakers.ts';
import { assignmentTimeoutMs, discoveryTimeoutMs, overAds } from './config-source.ts';
import { pack, type Write, whole } from './encode.ts';
import { assignment, discoveryOf, type Members } from './endpoint.ts';
import { firstCheckMs, healthChecks } from './health-check.ts';
import { loadBalancing } from './load-balancing.ts';
import { outlierDetection } from './outlier-detection.ts';
import { shaped } from './shaped.ts';
import { upstreamTlsSocket } from './upstream-tls.ts';

/** Cluster: a pool as the proxies see it. */
export function cluster(name: string, pool: PoolRow): Write {
  if (discoveryOf(pool) === 'dns') return whole(ClusterSchema, clusterMessage(name, pool));
  const { pool: path, caSecret, clientSecret, tlsBroken } = pool;
  // Pools differ in their members and their names, and little in anything else.
  const { members: _members, allowedScopes: _scopes, ...settings } = pool.spec;
  return (to) => writeCluster(to, { settings, tlsBroken }, { name, pool: nameOf(path), caSecret, clientSecret });
}

/** All of a pool that its cluster is made of, besides the names. */
interface ClusterShape {
  readonly settings: Omit<BackendPoolSpec, 'members' | 'allowedScopes'>;
  readonly tlsBroken: boolean;
}

interface ClusterNames {
  readonly name: string;
  readonly pool: string;
  readonly caSecret: string | undefined;
  readonly clientSecret: string | undefined;
}

const writeCluster = shaped(ClusterSchema, ({ settings, tlsBroken }: ClusterShape, { name, ...names }: ClusterNames) =>
  clusterMessage(name, { ...names, spec: settings, leaving: [], tlsBroken }),
);

/** What of a pool its cluster follows from. */
type ClusterSource = Members & Pick<PoolRow, 'pool' | 'caSecret' | 'clientSecret'>;

function clusterMessage(name: string, pool: ClusterSource): Cluster {
  const { spec } = pool;
  const discovery = discoveryOf(pool);
  if (discovery === 'none') return emptyCluster(name);
  return create(ClusterSchema, {
    name,
    connectTimeout: durationFromMs(effectiveBackendPool(spec).connectTimeoutMs),
    ...(discovery === 'eds' ? byEds : byDns(name, pool)),
    ...loadBalancing(spec),
    // When too few members are up, no traffic goes to those that are down.
    // Envoy holds changes of health and weight back for a second unless told not to: a member that fails goes on being
    // used, and one that is added waits.
    commonLbConfig: { healthyPanicThreshold: { value: 0 }, updateMergeWindow: durationFromMs(0) },
    // A removed member gets no new request, however well it answers its checks.
    ignoreHealthOnHostRemoval: true,
    circuitBreakers: circuitBreakers(spec.limits),
    healthChecks: healthChecks(spec, nameOf(pool.pool)),
    ...(spec.outlierDetection === undefined ? {} : { outlierDetection: outlierDetection(spec.outlierDetection) }),
    ...(spec.tls === undefined || pool.caSecret === undefined
      ? {}
      : { transportSocket: upstreamTlsSocket(pool, spec.tls, pool.caSecret) }),
    typedExtensionProtocolOptions: { [httpOptionsKey]: httpOptions(spec) },
  });
}

/** Last part of a pool's path. */
function nameOf(pool: string): string {
  return pool.slice(pool.lastIndexOf('/') + 1);
}

/** A cluster that has no endpoint and never will: requests get 503, connections are closed. */
export function emptyCluster(name: string): Cluster {
  return create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STATIC },
    loadAssignment: { clusterName: name },
  });
}

const byEds = {
  clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.EDS },
  edsClusterConfig: { edsConfig: overAds(assignmentTimeoutMs) },
} as const;

function byDns(name: string, pool: ClusterSource) {
  return {
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STRICT_DNS },
    // A name with both kinds of address is used by IPv4: many networks resolve IPv6 and do not carry it.
    dnsLookupFamily: Cluster_DnsLookupFamily.V4_PREFERRED,
    loadAssignment: fromBinary(ClusterLoadAssignmentSchema, encodeWith(assignment(name, pool))),
  } as const;
}

const httpOptionsKey = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

function httpOptions(spec: BackendPoolSpec): Any {
  switch (effectiveBackendPool(spec).protocol) {
    case 'http1':
      return explicitHttp({ case: 'httpProtocolOptions', value: {} });
    case 'http2':
      return explicitHttp({ case: 'http2ProtocolOptions', value: {} });
    case 'auto':
      return pack(
        HttpProtocolOptionsSchema,
        create(HttpProtocolOptionsSchema, {
          upstreamProtocolOptions: {
            case: 'autoConfig',
            value: { httpProtocolOptions: {}, http2ProtocolOptions: {} },
          },
        }),
      );
  }
}

type ExplicitHttp = { case: 'httpProtocolOptions'; value: object } | { case: 'http2ProtocolOptions'; value: object };

function explicitHttp(protocolConfig: ExplicitHttp): Any {
  return pack(
    HttpProtocolOptionsSchema,
    create(HttpProtocolOptionsSchema, {
      upstreamProtocolOptions: { case: 'explicitHttpConfig', value: { protocolConfig } },
    }),
  );
}

/** What the proxies fetch for the cluster: its assignment, and the secrets of its TLS. */
export function clusterNeeds(name: string, pool: PoolRow): Need[] {
  const discovery = discoveryOf(pool);
  if (discovery === 'none') return [];
  const secrets = pool.spec.tls === undefined ? [] : [pool.caSecret, pool.clientSecret];
  return [
    ...(discovery === 'eds' ? [{ type: typeUrls.endpoint, name }] : []),
    ...secrets.flatMap((secret) => (secret === undefined ? [] : [{ type: typeUrls.secret, name: secret }])),
  ];
}

/** What comes on top of the wait that is due: sending, and the proxy's own work. */
const marginMs = 2000;
/** Envoy's limit of one DNS query. */
const dnsMs = 5000;

/**
 * How long the proxies may take over a changed cluster before they answer for it: the first check of its members, the
 * first resolution of their names, the fetch of its certificates. Undefined: no longer than the assignment takes.
 */
export function warmupMs(pool: ClusterSource): number | undefined {
  if (pool.tlsBroken) return undefined;
  const waitMs = Math.max(
    firstCheckMs(pool.spec),
    discoveryOf(pool) === 'dns' ? dnsMs : 0,
    pool.spec.tls === undefined ? 0 : discoveryTimeoutMs,
  );
  return waitMs === 0 ? undefined : waitMs + marginMs;
}
