/** The rules of the protocol that are kept by what is translated, over all golden cases. */
import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { type Listener, ListenerSchema } from '../../../src/gen/envoy/config/listener/v3/listener_pb.js';
import { describeResource, drains, lint } from '../../../src/translate/index.ts';
import { decodeResource, type Resource, typeUrls } from '../../../src/xds/index.ts';
import { caseNames, readCase, worldOf } from '../../golden/cases.ts';
import { createWorld, objectsOf, type World } from '../../support/world.ts';

function ofType(world: World, type: string): Resource[] {
  return world.resources().filter((resource) => resource.type === type);
}

/** All objects that stand under a key, however deep. */
function* under(key: string, value: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(value)) for (const item of value) yield* under(key, item);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      if (name === key) yield inner as Record<string, unknown>;
      yield* under(key, inner);
    }
  }
}

/** A listener without what may change in place. */
function ownFields(resource: Resource): Listener {
  const wire = decodeResource(resource.bytes);
  if (!wire.ok) throw new Error(wire.error);
  const listener = fromBinary(ListenerSchema, wire.value.value);
  listener.filterChains = [];
  listener.filterChainMatcher = undefined as never;
  listener.defaultFilterChain = undefined as never;
  return listener;
}

describe.each(caseNames)('%s', (name) => {
  const world = worldOf(name);

  test('rule 28: the name of a resource is the name inside', () => {
    for (const resource of world.resources()) {
      const wire = decodeResource(resource.bytes);
      if (!wire.ok) throw new Error(wire.error);
      // All of Envoy's resources begin with their name, which has fewer than 128 bytes here.
      const { value } = wire.value;
      const inside = new TextDecoder().decode(value.subarray(2, 2 + (value[1] ?? 0)));
      expect([resource.name, value[0], inside]).toEqual([wire.value.name, 0x0a, resource.name]);
    }
  });

  test('rule 37: a filter that is filled by ECDS has a default and does not wait', () => {
    for (const { bytes } of ofType(world, typeUrls.listener)) {
      for (const discovery of under('config_discovery', describeResource(bytes))) {
        expect(discovery).toMatchObject({
          default_config: expect.objectContaining({ '@type': expect.any(String) }),
          apply_default_config_without_warming: true,
        });
      }
    }
  });

  test('rule 39: nothing is named that is not there', () => {
    expect(lint(world.resources())).toEqual([]);
  });
});

test('rule 37: there are such filters', () => {
  const found = caseNames.flatMap((name) =>
    ofType(worldOf(name), typeUrls.listener).flatMap(({ bytes }) => [
      ...under('config_discovery', describeResource(bytes)),
    ]),
  );
  expect(found.length).toBeGreaterThan(10);
});

test('rule 39: a name that is taken away while something needs it is found', () => {
  const resources = worldOf('minimal').resources();
  for (const gone of resources) {
    const rest = resources.filter((resource) => resource !== gone);
    const needed = rest.some(({ needs }) => needs.some(({ type, name }) => type === gone.type && name === gone.name));
    if (needed) expect(lint(rest).map(({ problem }) => problem)).toContainEqual(expect.stringContaining(gone.name));
  }
});

test('rule 26: a pool without members has an assignment, an empty one', () => {
  const world = createWorld();
  world.apply(...readCase('minimal'));
  const pool = objectsOf(`
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec: { members: [] }
`);
  world.apply(...pool);
  const [assignment] = ofType(world, typeUrls.endpoint);
  expect(describeResource(assignment?.bytes ?? new Uint8Array())).not.toHaveProperty('resource.endpoints');
  expect(assignment?.name).toBe('default/web');
});

describe('rule 38: the own fields of a listener are left alone by an edit of', () => {
  const service = `
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  listeners:
    - { name: web, port: 80, protocol: HTTP, hosts: [shop.example], defaultAction: { forward: [{ pool: web }] } }
    - { name: db, port: 5432, protocol: TCP, defaultAction: { pool: web } }
`;
  const pool = (spec: string) => `
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec: { ${spec} }
`;
  const route = (path: string) => `
apiVersion: fairway/v1
kind: Route
metadata: { name: more }
spec:
  attachTo: [{ virtualService: shop, listener: web }]
  hosts: [shop.example]
  rules: [{ name: one, match: [{ path: { prefix: ${path} } }], action: { forward: [{ pool: web }] } }]
`;
  const fleet = (spec: string) => `
apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
spec: { ${spec} }
`;
  test.each([
    ['members', pool('members: [{ address: 10.0.0.9, port: 1 }]')],
    ['no members', pool('members: []')],
    ['settings of a pool', pool('connectTimeout: 7s, members: [{ address: 10.0.0.1, port: 1 }]')],
    ['routes', route('/new')],
    ['the routes of the listener itself', service.replace('forward: [{ pool: web }]', 'respond: { status: 200 }')],
    ['the hosts of the listener', service.replace('[shop.example]', '[shop.example, more.example]')],
    ['what policies do when they are unknown', service.replace('spec:', 'spec:\n  policyFailMode: allow')],
    ['the drain time of the fleet', fleet('drainTimeout: 30s')],
    ['labels', service.replace('name: shop', 'name: shop, labels: { a: b }')],
  ])('%s', (_what, edit) => {
    const world = createWorld();
    world.apply(
      ...objectsOf([fleet(''), pool('members: [{ address: 10.0.0.1, port: 1 }]'), service, route('/old')].join('---')),
    );
    const before = new Map(ofType(world, typeUrls.listener).map((resource) => [resource.name, resource]));
    const bytes = world.resources().map(({ hash }) => hash);
    world.apply(...objectsOf(edit));
    const after = ofType(world, typeUrls.listener);
    expect(after.map((resource) => resource.name)).toEqual([...before.keys()]);
    for (const resource of after) {
      const old = before.get(resource.name) as Resource;
      expect(ownFields(resource)).toEqual(ownFields(old));
      expect(drains(old, resource).listeners).toEqual([]);
    }
    // The edit itself is one that matters to something.
    if (!/labels|drainTimeout/.test(edit)) expect(world.resources().map(({ hash }) => hash)).not.toEqual(bytes);
  });
});
