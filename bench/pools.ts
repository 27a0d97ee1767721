/** The objects of the benches of the xDS server, as operators write them. */
import { mark } from './marks.ts';

export const fleet = 'edge';

/** Of each pool. */
export const members = 20;

/** Rules of a Route object; many objects of this size make up a large service. */
const rulesPerRoute = 50;

export interface Manifest {
  readonly apiVersion: 'fairway/v1';
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

function manifest(kind: string, name: string, spec: object): Manifest {
  return { apiVersion: 'fairway/v1', kind, metadata: { name }, spec };
}

export function poolName(at: number): string {
  return `pool-${at}`;
}

/** Name of the pool's cluster and of its endpoint assignment. */
export function clusterName(at: number): string {
  return `default/${poolName(at)}`;
}

/**
 * A pool whose first member says which change it was moved by. Members that leave are gone at once, as with the peers:
 * otherwise each would be announced as draining first, and a change would be two.
 */
export function pool(at: number, change = 0): Manifest {
  const rest = Array.from({ length: members - 1 }, (_, member) => ({
    address: `10.${at >> 8}.${at & 255}.${member + 1}`,
    port: 8080,
  }));
  return manifest('BackendPool', poolName(at), {
    members: [{ address: mark(change), port: 8080 }, ...rest],
    drainTimeout: '0s',
  });
}

function* httpRoutes(service: string, pools: readonly number[]): Generator<Manifest> {
  for (let from = 0; from < pools.length; from += rulesPerRoute) {
    yield manifest('Route', `${service}-${from}`, {
      attachTo: [{ virtualService: service, listener: 'web' }],
      rules: pools.slice(from, from + rulesPerRoute).map((at) => ({
        name: `rule-${at}`,
        match: [{ path: { prefix: `/pools/${at}` } }],
        action: { forward: [{ pool: poolName(at) }] },
      })),
    });
  }
}

function httpService(name: string, address: string): Manifest {
  return manifest('VirtualService', name, {
    fleet,
    addresses: [{ address }],
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }],
  });
}

/** One service whose routes lead to many pools. */
export function* oneService(pools: number): Generator<Manifest> {
  yield manifest('Fleet', fleet, {});
  yield httpService('shop', '192.0.2.1');
  for (let at = 0; at < pools; at += 1) yield pool(at);
  yield* httpRoutes('shop', [...Array(pools).keys()]);
}

/** Many services, each with an address, a Route and a pool of its own. */
export function* manyServices(services: number): Generator<Manifest> {
  yield manifest('Fleet', fleet, {});
  for (let at = 0; at < services; at += 1) {
    const name = `service-${at}`;
    yield httpService(name, `198.18.${at >> 8}.${at & 255}`);
    yield pool(at);
    yield* httpRoutes(name, [at]);
  }
}
