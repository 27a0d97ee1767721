/**
 * Looks over a whole set of resources for what Envoy would wait for, refuse or answer with 503: names that are used and
 * lead nowhere, and things that may be there once and are there twice. Nothing is found in what the graph decided
 * rightly, so the tests run it over every golden case and over every commit.
 */

import { Cluster_DiscoveryType, ClusterSchema } from '../gen/envoy/config/cluster/v3/cluster_pb.js';
import type { TransportSocket } from '../gen/envoy/config/core/v3/base_pb.js';
import type { ConfigSource } from '../gen/envoy/config/core/v3/config_source_pb.js';
import type { FilterChain } from '../gen/envoy/config/listener/v3/listener_components_pb.js';
import { ListenerSchema } from '../gen/envoy/config/listener/v3/listener_pb.js';
import { RouteConfigurationSchema } from '../gen/envoy/config/route/v3/route_pb.js';
import { HttpConnectionManagerSchema } from '../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js';
import { TcpProxySchema } from '../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js';
import {
  type CommonTlsContext,
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js';
import { type Resource, type TypeUrl, typeUrls } from '../xds/index.ts';
import { decode, typedConfigOf } from './decode.ts';

export interface LintProblem {
  readonly type: TypeUrl;
  readonly name: string;
  readonly problem: string;
}

/** What is wrong with the resources as a whole; empty when nothing is. */
export function lint(resources: Iterable<Resource>): LintProblem[] {
  const present = new Set<string>();
  const all = [...resources];
  const problems: LintProblem[] = [];
  for (const { type, name } of all) {
    if (present.has(`${type} ${name}`)) problems.push({ type, name, problem: 'is there twice' });
    present.add(`${type} ${name}`);
  }
  const sockets = new Map<string, string>();
  for (const resource of all) {
    const { type, name } = resource;
    const report = (problem: string): void => void problems.push({ type, name, problem });
    const needs = new Set(resource.needs.map((need) => `${need.type} ${need.name}`));
    for (const use of usesOf(resource)) {
      // Without the need it may be sent too early, and what it names be removed too early.
      if (!needs.has(`${use.type} ${use.name}`))
        report(`names the ${nouns[use.type]} ${use.name} and does not need it`);
      if (!present.has(`${use.type} ${use.name}`))
        report(`names the ${nouns[use.type]} ${use.name}, which is not there`);
    }
    for (const problem of doublesOf(resource, sockets)) report(problem);
  }
  return problems;
}

const nouns: Record<TypeUrl, string> = {
  [typeUrls.cluster]: 'cluster',
  [typeUrls.endpoint]: 'assignment',
  [typeUrls.secret]: 'secret',
  [typeUrls.extension]: 'extension',
  [typeUrls.listener]: 'listener',
  [typeUrls.route]: 'route table',
};

/** A name that a resource needs to be there. */
interface Use {
  readonly type: TypeUrl;
  readonly name: string;
}

/** What a proxy that has this resource asks for, or sends traffic to. */
export function usesOf(resource: Resource): Use[] {
  switch (resource.type) {
    case typeUrls.cluster:
      return usesOfCluster(resource);
    case typeUrls.route:
      return usesOfRoutes(resource);
    case typeUrls.listener:
      return decode(ListenerSchema, resource).filterChains.flatMap(usesOfChain);
    default:
      return [];
  }
}

function usesOfCluster(resource: Resource): Use[] {
  const { clusterDiscoveryType, edsClusterConfig, transportSocket } = decode(ClusterSchema, resource);
  const assignment =
    clusterDiscoveryType.value === Cluster_DiscoveryType.EDS
      ? [{ type: typeUrls.endpoint, name: edsClusterConfig?.serviceName || resource.name }]
      : [];
  return [...assignment, ...secretsOf(transportSocket)];
}

function usesOfRoutes(resource: Resource): Use[] {
  const { virtualHosts } = decode(RouteConfigurationSchema, resource);
  const names = virtualHosts.flatMap(({ routes }) =>
    routes.flatMap(({ action }) => {
      if (action.case !== 'route') return [];
      const { clusterSpecifier, requestMirrorPolicies } = action.value;
      const mirrors = requestMirrorPolicies.map(({ cluster }) => cluster);
      if (clusterSpecifier.case === 'cluster') return [clusterSpecifier.value, ...mirrors];
      if (clusterSpecifier.case !== 'weightedClusters') return mirrors;
      return [...clusterSpecifier.value.clusters.map(({ name }) => name), ...mirrors];
    }),
  );
  return [...new Set(names)].map((name) => ({ type: typeUrls.cluster, name }));
}

function usesOfChain({ filters, transportSocket }: FilterChain): Use[] {
  const uses = filters.flatMap(({ name, configType }): Use[] => {
    if (configType.case === 'configDiscovery') return [{ type: typeUrls.extension, name }];
    const http = typedConfigOf(HttpConnectionManagerSchema, configType);
    if (http !== undefined) {
      const slots = http.httpFilters.filter((filter) => filter.configType.case === 'configDiscovery');
      const tables = http.routeSpecifier.case === 'rds' ? [http.routeSpecifier.value.routeConfigName] : [];
      return [
        ...slots.map((slot) => ({ type: typeUrls.extension, name: slot.name })),
        ...tables.map((table) => ({ type: typeUrls.route, name: table })),
      ];
    }
    const clusters = typedConfigOf(TcpProxySchema, configType)?.clusterSpecifier;
    if (clusters?.case === 'cluster') return [{ type: typeUrls.cluster, name: clusters.value }];
    if (clusters?.case !== 'weightedClusters') return [];
    return clusters.value.clusters.map((share) => ({ type: typeUrls.cluster, name: share.name }));
  });
  return [...uses, ...secretsOf(transportSocket)];
}

function secretsOf(socket: TransportSocket | undefined): Use[] {
  if (socket === undefined) return [];
  const context =
    typedConfigOf(DownstreamTlsContextSchema, socket.configType) ??
    typedConfigOf(UpstreamTlsContextSchema, socket.configType);
  return context?.commonTlsContext === undefined ? [] : secretsOfContext(context.commonTlsContext);
}

function secretsOfContext({ tlsCertificateSdsSecretConfigs, validationContextType }: CommonTlsContext): Use[] {
  const validation: { name: string; sdsConfig?: ConfigSource | undefined }[] = [];
  if (validationContextType.case === 'validationContextSdsSecretConfig') validation.push(validationContextType.value);
  if (validationContextType.case === 'combinedValidationContext') {
    const byName = validationContextType.value.validationContextSdsSecretConfig;
    if (byName !== undefined) validation.push(byName);
  }
  return [...tlsCertificateSdsSecretConfigs, ...validation]
    .filter(({ sdsConfig }) => sdsConfig !== undefined)
    .map(({ name }) => ({ type: typeUrls.secret, name }));
}

/** `sockets` collects who listens where, over all resources. Fleets have sockets of their own. */
function doublesOf(resource: Resource, sockets: Map<string, string>): string[] {
  if (resource.type === typeUrls.route) {
    const domains = decode(RouteConfigurationSchema, resource).virtualHosts.flatMap((host) => host.domains);
    return repeated(domains).map((domain) => `has the domain ${domain} twice`);
  }
  if (resource.type !== typeUrls.listener) return [];
  const { address, filterChains } = decode(ListenerSchema, resource);
  const found = repeated(filterChains.map(({ name }) => name)).map((name) => `has the filter chain ${name} twice`);
  if (address?.address.case !== 'socketAddress') return found;
  const { address: ip, portSpecifier } = address.address.value;
  const socket = `${resource.audience} ${ip} ${portSpecifier.value}`;
  const other = sockets.get(socket);
  if (other !== undefined) found.push(`listens where ${other} does`);
  sockets.set(socket, resource.name);
  return found;
}

function repeated(items: readonly string[]): string[] {
  const seen = new Set<string>();
  return [...new Set(items.filter((item) => seen.size === seen.add(item).size))];
}
