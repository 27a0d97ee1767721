import { type ListenerRow, pathOf } from '../graph/index.ts';
import type { ObjectKey } from '../model/index.ts';

/**
 * Names of resources. They hold nothing that changes while the thing stays the same: no index, weight, count or hash.
 * A cluster and a secret are called by the path of their object, a route table as the graph calls it.
 */

/** `default/shop/203.0.113.10:443`, `default/shop/[2001:db8::1]:443`, or `default/shop/any:443`. */
export function listenerName({ service, address, port }: Pick<ListenerRow, 'service' | 'address' | 'port'>): string {
  const host = address === undefined ? 'any' : address.includes(':') ? `[${address}]` : address;
  return `${pathOf(service)}/${host}:${port}`;
}

/** The slot of the HTTP policy of a service: one name for all its listeners. */
export function httpPolicyName(service: ObjectKey): string {
  return `policy/http/${pathOf(service)}`;
}

/** The slot of the TCP policy of a service. */
export function networkPolicyName(service: ObjectKey): string {
  return `policy/net/${pathOf(service)}`;
}

const overHttp1 = '/http1';

/**
 * The cluster of a pool that chooses its HTTP version by TLS, for requests that need HTTP/1.1: members that would
 * rather speak HTTP/2 refuse a WebSocket in it. Paths of pools have one slash, so no pool is called so.
 */
export function http1Cluster(cluster: string): string {
  return cluster + overHttp1;
}

/** The cluster that `http1Cluster` made this name of; undefined when it did not. */
export function baseOfHttp1Cluster(name: string): string | undefined {
  return name.endsWith(overHttp1) && name.indexOf('/') < name.length - overHttp1.length
    ? name.slice(0, -overHttp1.length)
    : undefined;
}
