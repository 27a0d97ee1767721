import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type Filter, FilterSchema } from '../gen/envoy/config/listener/v3/listener_components_pb.js';
import { TcpProxySchema } from '../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js';
import { type Target, unavailableCluster } from '../graph/index.ts';
import { type Listener, listenerIdleTimeoutMs } from '../model/index.ts';
import { pack } from './encode.ts';
import { trafficShares } from './traffic-shares.ts';

/** Clusters that connections go to. There is always one: where nothing is left, connections are closed. */
export function tcpShares(target: Target): { name: string; weight: number }[] {
  const shares = trafficShares(target.clusters);
  return shares.length === 0 ? [{ name: unavailableCluster, weight: 1 }] : shares;
}

/** TcpProxy: carries the bytes of a connection to a member. */
export function tcpProxy(statPrefix: string, listener: Listener, target: Target): Filter {
  const shares = tcpShares(target);
  const [only] = shares;
  const proxy = create(TcpProxySchema, {
    statPrefix,
    clusterSpecifier:
      shares.length === 1 && only !== undefined
        ? { case: 'cluster', value: only.name }
        : { case: 'weightedClusters', value: { clusters: shares } },
    idleTimeout: durationFromMs(listenerIdleTimeoutMs(listener)),
    // A connection has an address and nothing else that a hash could be made of.
    hashPolicy: target.hashes.some(({ source }) => source === 'sourceIp')
      ? [{ policySpecifier: { case: 'sourceIp', value: {} } }]
      : [],
  });
  return create(FilterSchema, {
    name: 'envoy.filters.network.tcp_proxy',
    configType: { case: 'typedConfig', value: pack(TcpProxySchema, proxy) },
  });
}
