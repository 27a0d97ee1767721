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
