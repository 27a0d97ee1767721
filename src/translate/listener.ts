import { create } from '@bufbuild/protobuf';
import {
  type FilterChain,
  FilterChainSchema,
  FilterSchema,
} from '../gen/envoy/config/listener/v3/listener_components_pb.js';
import { ListenerSchema } from '../gen/envoy/config/listener/v3/listener_pb.js';
import { TlsInspectorSchema } from '../gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js';
import { type ChainRow, type ListenerRow, pathOf, tableName } from '../graph/index.ts';
import { effectiveVirtualService, type ObjectKey } from '../model/index.ts';
import { type Need, typeUrls } from '../xds/index.ts';
import { socketAddress } from './address.ts';
import { downstreamTlsSocket } from './downstream-tls.ts';
import { pack, type Write, whole } from './encode.ts';
import { allowAll } from './filter-chain-matcher.ts';
import { type HttpSettings, httpConnectionManager, longestIdleMs } from './http-connection-manager.ts';
import { httpPolicyName, networkPolicyName } from './names.ts';
import { networkPolicySlot } from './policy-slot.ts';
import { shaped } from './shaped.ts';
import { tcpProxy, tcpShares } from './tcp-proxy.ts';

/**
 * Listener: what one service serves at one address and port.
 *
 * A change of its own fields, those beside the filter chains, ends every connection it has; so nothing stands there
 * that an edit changes, and certificates, routes and policies come by SDS, RDS and ECDS. A chain is known by its name.
 */
export function listener(name: string, row: ListenerRow): Write {
  const { service, address, port, chains, spec } = row;
  const [first] = chains;
  if (first?.kind === 'tcp') {
    const message = create(ListenerSchema, {
      ...ownFields(name, address, port),
      filterChains: [tcpChain(service, first)],
      filterChainMatcher: allowAll(first.listener.name),
    });
    return whole(ListenerSchema, message);
  }
  const http = chains.filter((chain) => chain.kind === 'http');
  const { policyFailMode, drainTimeoutMs } = effectiveVirtualService(spec);
  const shape = {
    port,
    chains: http.map(({ listeners }) => ({ policyFailMode, drainTimeoutMs, idleTimeoutMs: longestIdleMs(listeners) })),
  };
  const names = { name, address, policy: httpPolicyName(service), chains: http.map(namesOf) };
  return (to) => writeHttpListener(to, shape, names);
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

/** The fields of which a change replaces the listener. */
function ownFields(name: string, address: string | undefined, port: number) {
  return { name, statPrefix: name, ...bindTo(address, port) };
}

function bindTo(address: string | undefined, port: number) {
  // `::` with IPv4 in it is one socket for both families.
  if (address === undefined) return { address: socketAddress('::', port, { ipv4Compat: true }) };
  // A given address may not be on this node yet, or may leave it again: that must not refuse the listener.
  return { address: socketAddress(address, port), freebind: true };
}

interface HttpShape {
  readonly port: number;
  readonly chains: readonly HttpSettings[];
}

interface HttpNames {
  readonly name: string;
  /** Undefined: every address of the node. */
  readonly address: string | undefined;
  /** Of the slot for HTTP policy. */
  readonly policy: string;
  readonly chains: readonly HttpChainNames[];
}

interface HttpChainNames {
  /** Of the RouteConfiguration. */
  readonly table: string;
  /** Undefined: plain HTTP. */
  readonly tls:
    | {
        /** Of the chain. */
        readonly name: string;
        readonly secrets: readonly string[];
        /** Sorted; undefined: all. */
        readonly serverNames: readonly string[] | undefined;
      }
    | undefined;
}

function namesOf({ table, tls, listeners }: ChainRow & { kind: 'http' }): HttpChainNames {
  if (tls === undefined) return { table: tableName(table), tls };
  const { secrets, serverNames } = tls;
  const name = listeners[0]?.name ?? '';
  return { table: tableName(table), tls: { name, secrets, serverNames: serverNames && [...serverNames].sort() } };
}

const writeHttpListener = shaped(ListenerSchema, (shape: HttpShape, { name, address, policy, chains }: HttpNames) =>
  create(ListenerSchema, {
    ...ownFields(name, address, shape.port),
    ...(chains.some(({ tls }) => tls !== undefined) ? { listenerFilters: [tlsInspector] } : {}),
    filterChains: chains.map((chain, at) => httpChain(policy, shape.chains[at] as HttpSettings, chain)),
  }),
);

const tlsInspector = {
  name: 'envoy.filters.listener.tls_inspector',
  configType: { case: 'typedConfig', value: pack(TlsInspectorSchema, create(TlsInspectorSchema)) },
} as const;

/** HTTP listeners that share a port share this chain, so it has the name of none of them. */
const sharedHttpChain = 'http';

function httpChain(policy: string, settings: HttpSettings, { table, tls }: HttpChainNames): FilterChain {
  const filters = [httpConnectionManager(settings, { table, policy })];
  if (tls === undefined) return create(FilterChainSchema, { name: sharedHttpChain, filters });
  return create(FilterChainSchema, {
    name: tls.name,
    filters,
    ...(tls.serverNames === undefined ? {} : { filterChainMatch: { serverNames: [...tls.serverNames] } }),
    transportSocket: downstreamTlsSocket(tls.secrets),
  });
}

function tcpChain(service: ObjectKey, { listener, target }: ChainRow & { kind: 'tcp' }): FilterChain {
  return create(FilterChainSchema, {
    name: listener.name,
    filters: [
      create(FilterSchema, networkPolicySlot(networkPolicyName(service))),
      tcpProxy(`${pathOf(service)}/${listener.name}`, listener, target),
    ],
  });
}
