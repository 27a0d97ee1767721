import { create } from '@bufbuild/protobuf';
import {
  type FilterChain,
  FilterChainSchema,
  FilterSchema,
} from '../gen/envoy/config/listener/v3/listener_components_pb.js';
import { type Listener, ListenerSchema } from '../gen/envoy/config/listener/v3/listener_pb.js';
import { TlsInspectorSchema } from '../gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js';
import { type ChainRow, type ListenerRow, tableName } from '../graph/index.ts';
import { type Need, typeUrls } from '../xds/index.ts';
import { socketAddress } from './address.ts';
import { downstreamTlsSocket } from './downstream-tls.ts';
import { pack } from './encode.ts';
import { allowAll } from './filter-chain-matcher.ts';
import { httpConnectionManager } from './http-connection-manager.ts';
import { httpPolicyName, networkPolicyName } from './names.ts';
import { networkPolicySlot } from './policy-slot.ts';
import { tcpProxy, tcpShares } from './tcp-proxy.ts';

/**
 * Listener: what one service serves at one address and port.
 *
 * A change of its own fields, those beside the filter chains, ends every connection it has; so nothing stands there
 * that an edit changes, and certificates, routes and policies come by SDS, RDS and ECDS. A chain is known by its name.
 */
export function listener(name: string, row: ListenerRow): Listener {
  return create(ListenerSchema, {
    name,
    statPrefix: name,
    ...bindTo(row),
    ...(row.chains.some((chain) => chain.kind === 'http' && chain.tls !== undefined)
      ? { listenerFilters: [tlsInspector] }
      : {}),
    filterChains: row.chains.map((chain) => filterChain(row, chain)),
    ...chainChoice(row.chains),
  });
}

/** What must be there before the listener, and is kept for its connections until they have drained after it. */
export function listenerNeeds(row: ListenerRow): Need[] {
  const needs = row.chains.flatMap((chain): Need[] => {
    if (chain.kind === 'tcp') {
      const clusters = tcpShares(chain.target).map(({ name }) => ({ type: typeUrls.cluster, name }));
      return [...clusters, { type: typeUrls.extension, name: networkPolicyName(row.service) }];
    }
    const secrets = (chain.tls?.secrets ?? []).map((name) => ({ type: typeUrls.secret, name }));
    const policy = { type: typeUrls.extension, name: httpPolicyName(row.service) };
    return [...secrets, policy, { type: typeUrls.route, name: tableName(chain.table) }];
  });
  return [...new Map(needs.map((need) => [`${need.type} ${need.name}`, need])).values()];
}

function bindTo({ address, port }: ListenerRow) {
  // `::` with IPv4 in it is one socket for both families.
  if (address === undefined) return { address: socketAddress('::', port, { ipv4Compat: true }) };
  // A given address may not be on this node yet, or may leave it again: that must not refuse the listener.
  return { address: socketAddress(address, port), freebind: true };
}

const tlsInspector = {
  name: 'envoy.filters.listener.tls_inspector',
  configType: { case: 'typedConfig', value: pack(TlsInspectorSchema, create(TlsInspectorSchema)) },
} as const;

/** HTTP listeners that share a port share this chain, so it has the name of none of them. */
const sharedHttpChain = 'http';

function filterChain(row: ListenerRow, chain: ChainRow): FilterChain {
  if (chain.kind === 'tcp') return tcpChain(row, chain);
  const { service, spec } = row;
  const { listeners, tls } = chain;
  const filters = [httpConnectionManager({ service, spec, listeners, routeTable: tableName(chain.table) })];
  if (tls === undefined) return create(FilterChainSchema, { name: sharedHttpChain, filters });
  return create(FilterChainSchema, {
    name: listeners[0]?.name ?? '',
    filters,
    ...(tls.serverNames === undefined ? {} : { filterChainMatch: { serverNames: [...tls.serverNames].sort() } }),
    transportSocket: downstreamTlsSocket(tls.secrets),
  });
}

function tcpChain(row: ListenerRow, chain: ChainRow & { kind: 'tcp' }): FilterChain {
  const statPrefix = `${row.service.slice(row.service.indexOf('/') + 1)}/${chain.listener.name}`;
  return create(FilterChainSchema, {
    name: chain.listener.name,
    filters: [
      create(FilterSchema, networkPolicySlot(networkPolicyName(row.service))),
      tcpProxy(statPrefix, chain.listener, chain.target),
    ],
  });
}

function chainChoice(chains: readonly ChainRow[]) {
  const tcp = chains.find((chain) => chain.kind === 'tcp');
  return tcp === undefined ? {} : { filterChainMatcher: allowAll(tcp.listener.name) };
}
