/** Envoy's messages by hand, the least that serves: for tests of the xDS room, which knows no object of Fairway. */
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import {
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema,
} from '../../src/gen/envoy/config/cluster/v3/cluster_pb.js';
import { type ConfigSource, ConfigSourceSchema } from '../../src/gen/envoy/config/core/v3/config_source_pb.js';
import { TypedExtensionConfigSchema } from '../../src/gen/envoy/config/core/v3/extension_pb.js';
import { ClusterLoadAssignmentSchema } from '../../src/gen/envoy/config/endpoint/v3/endpoint_pb.js';
import { ListenerSchema } from '../../src/gen/envoy/config/listener/v3/listener_pb.js';
import { RBAC_Action } from '../../src/gen/envoy/config/rbac/v3/rbac_pb.js';
import { RouteConfigurationSchema } from '../../src/gen/envoy/config/route/v3/route_pb.js';
import { RBACSchema } from '../../src/gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js';
import { RouterSchema } from '../../src/gen/envoy/extensions/filters/http/router/v3/router_pb.js';
import { HttpConnectionManagerSchema } from '../../src/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js';
import { contentHash } from '../../src/lib/hash.ts';
import { encodeResource, type Need, type Resource, type TypeUrl, typeUrls } from '../../src/xds/index.ts';

const ads: ConfigSource = create(ConfigSourceSchema, {
  configSourceSpecifier: { case: 'ads', value: {} },
  resourceApiVersion: 2,
  initialFetchTimeout: { seconds: 1n },
});

function made<D extends DescMessage>(
  type: TypeUrl,
  name: string,
  schema: D,
  init: MessageInitShape<D>,
  needs: readonly Need[] = [],
): Resource {
  const value = toBinary(schema, create(schema, init));
  const hash = contentHash(value);
  return { type, name, bytes: encodeResource(name, hash, type, value), hash, audience: 'all', needs, parts: [] };
}

/** An EDS cluster. Envoy refuses a timeout below 0. */
export function clusterOf(name: string, connectTimeoutS = 1): Resource {
  const init: MessageInitShape<typeof ClusterSchema> = {
    name,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads },
    connectTimeout: { seconds: BigInt(connectTimeoutS) },
  };
  return made(typeUrls.cluster, name, ClusterSchema, init, [{ type: typeUrls.endpoint, name }]);
}

/** A cluster that warms until its member has answered a first health check, or has not for so long. */
export function checkedCluster(name: string, timeoutS: number): Resource {
  const init: MessageInitShape<typeof ClusterSchema> = {
    name,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads },
    connectTimeout: { seconds: 1n },
    healthChecks: [
      {
        timeout: { seconds: BigInt(timeoutS) },
        interval: { seconds: 60n },
        unhealthyThreshold: 1,
        healthyThreshold: 1,
        healthChecker: { case: 'httpHealthCheck', value: { path: '/' } },
      },
    ],
  };
  const resource = made(typeUrls.cluster, name, ClusterSchema, init, [{ type: typeUrls.endpoint, name }]);
  return { ...resource, warmupMs: timeoutS * 1_000 + 2_000 };
}

/**
 * A cluster that Envoy refuses and keeps all the same, as one that warms for ever: while it does, Envoy answers for no
 * cluster, not even with this refusal, if another one warms beside it.
 */
export function ghostCluster(name: string): Resource {
  const init: MessageInitShape<typeof ClusterSchema> = {
    name,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads },
    lbPolicy: Cluster_LbPolicy.RING_HASH,
    lbConfig: {
      case: 'ringHashLbConfig',
      value: { minimumRingSize: 100n, maximumRingSize: 10n },
    },
  };
  return made(typeUrls.cluster, name, ClusterSchema, init, [{ type: typeUrls.endpoint, name }]);
}

/** A cluster that Envoy refuses while it builds it, so that the others of a response are applied. */
export function brokenCluster(name: string): Resource {
  const init: MessageInitShape<typeof ClusterSchema> = {
    name,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.STATIC },
    loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints: [lbEndpoint('no.address', 1)] }] },
  };
  return made(typeUrls.cluster, name, ClusterSchema, init);
}

export function endpointsOf(name: string, ...ports: number[]): Resource {
  return made(typeUrls.endpoint, name, ClusterLoadAssignmentSchema, {
    clusterName: name,
    // gRPC wants a locality, and one without weight gets no traffic there.
    endpoints: [
      {
        locality: { region: 'here' },
        loadBalancingWeight: 1,
        lbEndpoints: ports.map((port) => lbEndpoint('127.0.0.1', port)),
      },
    ],
  });
}

/** What fills the place for a policy; without rules, everybody may. */
export function policyOf(name: string, mayAll: boolean): Resource {
  const init: MessageInitShape<typeof TypedExtensionConfigSchema> = { name, typedConfig: rbac(mayAll) };
  return made(typeUrls.extension, name, TypedExtensionConfigSchema, init);
}

function rbac(mayAll: boolean): Any {
  return anyPack(RBACSchema, create(RBACSchema, mayAll ? {} : { rules: { action: RBAC_Action.ALLOW } }));
}

/** A filter of HTTP that is filled by ECDS; until then nobody may. */
function policyFilter(name: string) {
  return {
    name,
    configType: {
      case: 'configDiscovery' as const,
      value: {
        configSource: ads,
        defaultConfig: rbac(false),
        typeUrls: [rbac(false).typeUrl],
        applyDefaultConfigWithoutWarming: true,
      },
    },
  };
}

function managerOf(name: string, routes: string, policy?: string): Any {
  const router = anyPack(RouterSchema, create(RouterSchema));
  const init: MessageInitShape<typeof HttpConnectionManagerSchema> = {
    statPrefix: name,
    routeSpecifier: { case: 'rds', value: { routeConfigName: routes, configSource: ads } },
    httpFilters: [
      ...(policy === undefined ? [] : [policyFilter(policy)]),
      { name: 'router', configType: { case: 'typedConfig', value: router } },
    ],
  };
  return anyPack(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, init));
}

/** What a gRPC client finds under `xds:///<name>`. */
export function apiListenerOf(name: string, routes: string): Resource {
  const init: MessageInitShape<typeof ListenerSchema> = {
    name,
    apiListener: { apiListener: managerOf(name, routes) },
  };
  return made(typeUrls.listener, name, ListenerSchema, init, [{ type: typeUrls.route, name: routes }]);
}

/** An API listener that gRPC refuses: it says more than one of its clients can do. */
export function brokenApiListener(name: string, routes: string): Resource {
  const init: MessageInitShape<typeof ListenerSchema> = {
    name,
    apiListener: { apiListener: managerOf(name, routes) },
    listenerFilters: [{ name: 'not for gRPC' }],
  };
  return made(typeUrls.listener, name, ListenerSchema, init, [{ type: typeUrls.route, name: routes }]);
}

/** An HTTP listener on loopback whose routes are the table of the given name; with a place for a policy if asked. */
export function listenerOf(name: string, port: number, routes: string, policy?: string): Resource {
  const init: MessageInitShape<typeof ListenerSchema> = {
    name,
    address: address('127.0.0.1', port),
    filterChains: [
      {
        name: 'http',
        filters: [{ name: 'http', configType: { case: 'typedConfig', value: managerOf(name, routes, policy) } }],
      },
    ],
  };
  return made(typeUrls.listener, name, ListenerSchema, init, [{ type: typeUrls.route, name: routes }]);
}

/** Everything goes to one cluster. */
export function routesTo(name: string, cluster: string): Resource {
  const init: MessageInitShape<typeof RouteConfigurationSchema> = {
    name,
    virtualHosts: [
      {
        name: 'all',
        domains: ['*'],
        routes: [
          {
            match: { pathSpecifier: { case: 'prefix', value: '/' } },
            action: { case: 'route', value: { clusterSpecifier: { case: 'cluster', value: cluster } } },
          },
        ],
      },
    ],
  };
  return made(typeUrls.route, name, RouteConfigurationSchema, init, [{ type: typeUrls.cluster, name: cluster }]);
}

function lbEndpoint(host: string, port: number) {
  return { hostIdentifier: { case: 'endpoint' as const, value: { address: address(host, port) } } };
}

function address(host: string, port: number) {
  return {
    address: {
      case: 'socketAddress' as const,
      value: { address: host, portSpecifier: { case: 'portValue' as const, value: port } },
    },
  };
}
