/** What is in the store under the faults: a service that a real Envoy serves, with Routes and pools of its own. */

export const fleet = 'edge';

/** Routes of the service, each with a host and a pool: what proxies hold beside the one pool that changes. */
export const routes = 50;

export const servicePath = '/v1/scopes/default/virtual-services/shop';
export const poolPath = (name: string): string => `/v1/scopes/default/backend-pools/${name}`;
export const routePath = (name: string): string => `/v1/scopes/default/routes/${name}`;

const withVersion = (kind: string, name: string, spec: unknown) => ({
  apiVersion: 'fairway/v1' as const,
  kind,
  metadata: { name },
  spec,
});

export function poolManifest(name: string, ports: readonly number[], more: object = {}) {
  return withVersion('BackendPool', name, { members: ports.map((port) => ({ address: '127.0.0.1', port })), ...more });
}

/** The pool that changes under the faults, each time to what it never was; nobody is asked for anything there. */
export const turnedPool = (turn: number) => poolManifest('turned', [10_000 + turn], { drainTimeout: '0s' });

export const hostOf = (name: string): string => `${name}.example`;

export function routeManifest(name: string, pool: string) {
  return withVersion('Route', name, {
    attachTo: [{ virtualService: 'shop', listener: 'web' }],
    hosts: [hostOf(name)],
    rules: [{ name: 'all', action: { forward: [{ pool }] } }],
  });
}

export function manifests(port: number, members: readonly number[]) {
  const names = Array.from({ length: routes }, (_, n) => `team-${n}`);
  return [
    withVersion('Fleet', fleet, {}),
    poolManifest('web', members),
    turnedPool(0),
    ...names.map((name) => poolManifest(name, members)),
    withVersion('VirtualService', 'shop', { fleet, listeners: [{ name: 'web', port, protocol: 'HTTP' }] }),
    routeManifest('web', 'web'),
    routeManifest('turned', 'turned'),
    ...names.map((name) => routeManifest(name, name)),
  ];
}
