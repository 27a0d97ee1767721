/** The world of the benches of the xDS server: one service whose routes lead to many pools. */
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

/** A pool whose first member says which change it was moved by. */
export function pool(at: number, change = 0): Manifest {
  const rest = Array.from({ length: members - 1 }, (_, member) => ({
    address: `10.${at >> 8}.${at & 255}.${member + 1}`,
    port: 8080,
  }));
  return manifest('BackendPool', poolName(at), { members: [{ address: mark(change), port: 8080 }, ...rest] });
}

export function* world(pools: number): Generator<Manifest> {
  yield manifest('Fleet', fleet, {});
  yield manifest('VirtualService', 'shop', {
    fleet,
    addresses: [{ address: '192.0.2.1' }],
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }],
  });
  for (let at = 0; at < pools; at += 1) yield pool(at);
  for (let from = 0; from < pools; from += rulesPerRoute) {
    const ats = Array.from({ length: Math.min(rulesPerRoute, pools - from) }, (_, index) => from + index);
    yield manifest('Route', `routes-${from}`, {
      attachTo: [{ virtualService: 'shop', listener: 'web' }],
      hosts: ['shop.example.com'],
      rules: ats.map((at) => ({
        name: `rule-${at}`,
        match: [{ path: { prefix: `/pools/${at}` } }],
        action: { forward: [{ pool: poolName(at) }] },
      })),
    });
  }
}
