import { describe, expect, test } from 'vitest';
import type { DraftObject } from '../../../src/model/index.ts';
import { parseResourceKey } from '../../../src/translate/index.ts';
import { listenerName } from '../../../src/translate/names.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import { createWorld, objectsOf, type World } from '../../support/world.ts';

const objects = (text: string): DraftObject[] => objectsOf(text);

const base = `
apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
---
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  listeners:
    - { name: web, port: 80, protocol: HTTP, defaultAction: { forward: [{ pool: web }] } }
    - { name: db, port: 5432, protocol: TCP, defaultAction: { pool: web } }
`;
const pool = (port: number, more = '') => `
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec: { members: [{ address: 10.0.0.5, port: ${port} }]${more} }
`;
const route = (name: string, path: string) => `
apiVersion: fairway/v1
kind: Route
metadata: { name: ${name} }
spec:
  attachTo: [{ virtualService: shop, listener: web }]
  rules: [{ name: one, match: [{ path: { exact: ${path} } }], action: { respond: { status: 200 } } }]
`;

/** Type and name of what a change makes other bytes of. */
function changed(world: World, change: () => void): string[] {
  const versions = () =>
    new Map(world.resources().map(({ type, name, hash }) => [`${type.split('.').at(-1)} ${name}`, hash]));
  const before = versions();
  change();
  const after = versions();
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key)).sort();
}

function worldOf(...texts: string[]): World {
  const world = createWorld();
  for (const text of texts) world.apply(...objects(text));
  return world;
}

describe('one change touches', () => {
  test.each<[string, string[], string[]]>([
    ['a member', [pool(8081)], ['ClusterLoadAssignment default/web']],
    ['a setting of a pool', [pool(8080, ', connectTimeout: 1s')], ['Cluster default/web']],
    ['a Route', [route('api', '/api')], ['RouteConfiguration default/shop:80']],
    ['the same once more', [pool(8080), base], []],
    [
      'a member that has a name',
      [pool(8080).replace('10.0.0.5', 'backend.internal')],
      ['Cluster default/web', 'ClusterLoadAssignment default/web'],
    ],
  ])('%s', (_name, texts, want) => {
    const world = worldOf(base, pool(8080), route('cart', '/cart'));
    expect(changed(world, () => world.apply(...texts.flatMap(objects)))).toEqual(want);
  });

  test('a label: nothing', () => {
    const world = worldOf(base, pool(8080));
    const labelled = pool(8080).replace('{ name: web }', '{ name: web, labels: { team: a } }');
    expect(changed(world, () => world.apply(...objects(labelled)))).toEqual([]);
  });
});

describe('parts', () => {
  const table = (world: World) => world.resource(typeUrls.route, 'default/shop:80');

  test('a route table names every object that it holds rules of, with the generation that it holds', () => {
    const world = worldOf(base, pool(8080), route('cart', '/cart'), route('api', '/api'));
    world.apply(...objects(route('api', '/api/v2')));
    const parts = new Map(table(world)?.parts.map(({ unit, generation }) => [unit, generation]));
    expect(parts).toEqual(
      new Map([
        ['Route/default/cart', 1],
        ['Route/default/api', 2],
        ['VirtualService/default/shop', 1],
      ]),
    );
  });

  test('an edit of one object changes the hash of its part alone', () => {
    const world = worldOf(base, pool(8080), route('cart', '/cart'), route('api', '/api'));
    const hashes = () => new Map(table(world)?.parts.map(({ unit, hash }) => [unit, hash]));
    const before = hashes();
    world.apply(...objects(route('api', '/api/v2')));
    const after = hashes();
    expect([...after.keys()].filter((unit) => before.get(unit) !== after.get(unit))).toEqual(['Route/default/api']);
  });

  describe('of a pool that chooses members by a hash', () => {
    const hashing = (name: string) => pool(8080, `, algorithm: ringHash, hash: { source: header, name: ${name} }`);
    const cart = `
apiVersion: fairway/v1
kind: Route
metadata: { name: cart }
spec:
  attachTo: [{ virtualService: shop, listener: web }]
  hosts: [cart.example, basket.example]
  rules: [{ name: one, action: { forward: [{ pool: web }] } }]
`;
    const parts = (world: World) => new Map(table(world)?.parts.map((part) => [part.unit, part]));

    test('the table names the pool, whose setting changes the bytes and no generation of the Route', () => {
      const world = worldOf(base, hashing('X-User'), cart);
      const [before, version] = [parts(world), table(world)?.hash];
      world.apply(...objects(hashing('X-Tenant')));
      const after = parts(world);
      expect(table(world)?.hash).not.toBe(version);
      expect([...after.keys()].sort()).toEqual([
        'BackendPool/default/web',
        'Route/default/cart',
        'VirtualService/default/shop',
      ]);
      expect([...after].flatMap(([unit, { generation }]) => (before.get(unit)?.generation === generation ? [] : unit))) //
        .toEqual(['BackendPool/default/web']);
      expect(after.get('BackendPool/default/web')?.hash).not.toBe(before.get('BackendPool/default/web')?.hash);
    });

    test('an edit of its members is a new generation of the same part', () => {
      const world = worldOf(base, hashing('X-User'), cart);
      const before = parts(world).get('BackendPool/default/web');
      const version = table(world)?.hash;
      world.apply(...objects(hashing('X-User').replace('8080', '8081')));
      expect(parts(world).get('BackendPool/default/web')).toEqual({ ...before, generation: 2 });
      expect(table(world)?.hash).toBe(version);
    });

    test('it is the same part wherever it stands', () => {
      const one = worldOf(base.replace(', defaultAction: { forward: [{ pool: web }] }', ''), hashing('X-User'), cart);
      const two = worldOf(base, hashing('X-User'), cart);
      const key = 'BackendPool/default/web';
      expect(parts(one).get(key)).toEqual(parts(two).get(key));
    });

    test('the table is one of its resources', () => {
      const world = worldOf(base, hashing('X-User'), cart);
      const names = world.translation.resourcesOf(world.kernel, 'BackendPool/default/web').map(parseResourceKey);
      expect(names).toContainEqual({ type: typeUrls.route, name: 'default/shop:80' });
    });
  });

  test('a new generation with the same bytes is a new part of the same version', () => {
    const world = worldOf(base, pool(8080));
    const [before, version] = [table(world)?.parts, table(world)?.hash];
    world.apply(...objects(base));
    expect(table(world)?.hash).toBe(version);
    expect(before?.map(({ generation }) => generation)).toEqual([1]);
    expect(table(world)?.parts.map(({ generation }) => generation)).toEqual([2]);
  });
});

test('the resources of an object are found by its key', () => {
  const world = worldOf(base, pool(8080), route('cart', '/cart'));
  const of = (key: string) =>
    world.translation
      .resourcesOf(world.kernel, key)
      .map(parseResourceKey)
      .map(({ type, name }) => `${type.split('.').at(-1)} ${name}`)
      .sort();
  expect(of('BackendPool/default/web')).toEqual(['Cluster default/web', 'ClusterLoadAssignment default/web']);
  expect(of('Route/default/cart')).toEqual(['RouteConfiguration default/shop:80']);
  expect(of('VirtualService/default/shop')).toEqual([
    'Listener default/shop/any:5432',
    'Listener default/shop/any:80',
    'RouteConfiguration default/shop:80',
    'TypedExtensionConfig policy/http/default/shop',
    'TypedExtensionConfig policy/net/default/shop',
  ]);
  world.remove('Route/default/cart');
  expect(of('Route/default/cart')).toEqual([]);
});

test('the audiences of a fleet hold those of all that it serves', () => {
  const world = worldOf(base, pool(8080));
  const row = world.kernel.get(world.translation.audiences, 'edge');
  expect(row?.subject).toBe('cluster/edge');
  for (const { audience } of world.resources()) expect(row?.audiences).toContain(audience);
});

test('the drain time of a fleet goes with its audiences', () => {
  const drainMs = (world: World) => world.kernel.get(world.translation.audiences, 'edge')?.drainMs;
  const world = worldOf(base, pool(8080));
  expect(drainMs(world)).toBe(60_000);
  world.apply(
    ...objectsOf('{ apiVersion: fairway/v1, kind: Fleet, metadata: { name: edge }, spec: { drainTimeout: 7s } }'),
  );
  expect(drainMs(world)).toBe(7_000);
});

test.each([
  [undefined, 'default/shop/any:443'],
  ['203.0.113.10', 'default/shop/203.0.113.10:443'],
  ['2001:db8::1', 'default/shop/[2001:db8::1]:443'],
])('the listener at %s is called %s', (address, name) => {
  expect(listenerName({ service: 'VirtualService/default/shop', address, port: 443 })).toBe(name);
});
