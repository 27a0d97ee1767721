/** What `drains` says of a change is what a real Envoy counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drains } from '../../src/translate/index.ts';
import { type Resource, typeUrls } from '../../src/xds/index.ts';
import { type ProxiedWorld, startProxiedWorld, withoutPorts } from '../support/proxied-world.ts';
import { createWorld, objectsOf, type World } from '../support/world.ts';

/** Longer than the tests take: what drains is still there to be counted. */
const drainSeconds = 600;

const start = `
apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec: { members: [{ address: 127.0.0.1, port: 9 }] }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: other }
spec: { members: [{ address: 127.0.0.1, port: 9 }] }
`;

/** A service, with what a test changes. */
function service(options: { web?: string; db?: string; spec?: string; more?: string } = {}): string {
  const { web = 'defaultAction: { forward: [{ pool: web }] }', db = 'defaultAction: { pool: web }' } = options;
  return `
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  addresses: [{ address: 127.0.0.1 }]
  ${options.spec ?? ''}
  listeners:
    - { name: web, port: 8080, protocol: HTTP, ${web} }
    - { name: db, port: 5432, protocol: TCP, ${db} }
    ${options.more ?? ''}
`;
}

describe('drains', () => {
  let proxied: ProxiedWorld;
  let world: World;
  beforeAll(async () => {
    proxied = await startProxiedWorld('edge', { drainSeconds });
  });
  afterAll(() => proxied?.close());

  const listeners = (): Map<string, Resource> =>
    new Map(
      world
        .resources()
        .filter(({ type }) => type === typeUrls.listener)
        .map((resource) => [resource.name, resource]),
    );

  const counted = async () => ({
    listeners: await proxied.envoy.stat('listener_manager.total_listeners_draining'),
    filterChains: await proxied.envoy.stat('listener_manager.total_filter_chains_draining'),
  });

  test.each<[name: string, change: string, expected: { listeners: string[]; filterChains: string[] }]>([
    ['nothing, when the same is written again', service(), { listeners: [], filterChains: [] }],
    [
      'nothing, for a rule',
      service({ web: 'defaultAction: { respond: { status: 200 } }' }),
      { listeners: [], filterChains: [] },
    ],
    [
      'nothing, for a further port',
      service({ more: '- { name: admin, port: 8081, protocol: HTTP }' }),
      { listeners: [], filterChains: [] },
    ],
    [
      'nothing, for a listener that shares the HTTP port and is no more patient',
      service({
        web: 'hosts: [a.example], defaultAction: { forward: [{ pool: web }] }',
        more: '- { name: images, port: 8080, protocol: HTTP, hosts: [b.example], idleTimeout: 1m }',
      }),
      { listeners: [], filterChains: [] },
    ],
    [
      'the chain, for the idle time of HTTP',
      service({ web: 'idleTimeout: 1m, defaultAction: { forward: [{ pool: web }] }' }),
      { listeners: [], filterChains: ['default/shop/127.0.0.1:8080#http'] },
    ],
    [
      'the chain, for the pool of TCP',
      service({ db: 'defaultAction: { pool: other }' }),
      { listeners: [], filterChains: ['default/shop/127.0.0.1:5432#db'] },
    ],
    [
      'the HTTP chain, for what holds until the policy has arrived',
      service({ spec: 'policyFailMode: allow' }),
      { listeners: [], filterChains: ['default/shop/127.0.0.1:8080#http'] },
    ],
    [
      'the listener, when it goes',
      service({ spec: 'enabled: false' }),
      { listeners: ['default/shop/127.0.0.1:8080', 'default/shop/127.0.0.1:5432'], filterChains: [] },
    ],
  ])('%s', async (_name, change, expected) => {
    world = createWorld({ rawPatch: withoutPorts });
    world.apply(...objectsOf(start), ...objectsOf(service()));
    expect(await proxied.serve(world)).toEqual([]);
    const before = listeners();
    const countedBefore = await counted();

    world.apply(...objectsOf(change));
    const after = listeners();
    const said = [...before.keys()].map((name) => drains(before.get(name), after.get(name)));
    expect({
      listeners: said.flatMap((one) => one.listeners).sort(),
      filterChains: said.flatMap((one) => one.filterChains).sort(),
    }).toEqual({ listeners: [...expected.listeners].sort(), filterChains: [...expected.filterChains].sort() });

    expect(await proxied.serve(world)).toEqual([]);
    const countedAfter = await counted();
    expect({
      listeners: countedAfter.listeners - countedBefore.listeners,
      filterChains: countedAfter.filterChains - countedBefore.filterChains,
    }).toEqual({ listeners: expected.listeners.length, filterChains: expected.filterChains.length });
  });

  test('the listener, for a field of its own', async () => {
    world = createWorld({ rawPatch: withoutPorts });
    world.apply(...objectsOf(start), ...objectsOf(service()));
    expect(await proxied.serve(world)).toEqual([]);
    const before = listeners();
    const countedBefore = await counted();
    world = createWorld({
      rawPatch: (type, name, message) => {
        withoutPorts(type, name, message);
        if (type === typeUrls.listener && name.endsWith(':8080')) message['tcpBacklogSize'] = 64;
      },
    });
    world.apply(...objectsOf(start), ...objectsOf(service()));
    const said = [...before.keys()].map((name) => drains(before.get(name), listeners().get(name)));
    expect(said.flatMap((one) => one.listeners)).toEqual(['default/shop/127.0.0.1:8080']);
    expect(await proxied.serve(world)).toEqual([]);
    expect((await counted()).listeners - countedBefore.listeners).toBe(1);
  });
});
