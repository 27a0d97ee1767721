import { fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClusterLoadAssignmentSchema } from '../../src/gen/envoy/config/endpoint/v3/endpoint_pb.js';
import type { RouteMatch } from '../../src/gen/envoy/config/route/v3/route_components_pb.js';
import { RouteConfigurationSchema } from '../../src/gen/envoy/config/route/v3/route_pb.js';
import type { BackendPoolSpec, DraftObject, Match, RouteSpec } from '../../src/model/index.ts';
import { lint } from '../../src/translate/index.ts';
import { decodeResource, type Resource, typeUrls } from '../../src/xds/index.ts';
import { createWorld, objectsOf } from '../support/world.ts';

/** Laws of the translation that hold whatever is written. */

const path = fc.oneof(
  fc.constantFrom('/', '/a', '/a/', '/a/b').map((prefix) => ({ prefix })),
  fc.constantFrom('/', '/a', '/a/b').map((exact) => ({ exact })),
  fc.constantFrom('/.*', '/[a-z]+').map((regex) => ({ regex })),
);
const match: fc.Arbitrary<Match> = fc.record(
  {
    path,
    methods: fc.constantFrom(['GET' as const], ['PUT' as const, 'POST' as const]),
    headers: fc.array(fc.constantFrom({ name: 'a', present: true as const }, { name: 'B', exact: 'x' }), {
      minLength: 1,
      maxLength: 3,
    }),
    query: fc.constant([{ name: 'q', prefix: 'x' }]),
  },
  { requiredKeys: [] },
);
const rules = fc
  .array(
    fc.record({
      match: fc.array(match, { minLength: 1, maxLength: 3 }),
      pools: fc.array(fc.tuple(fc.constantFrom('p', 'q', 'absent'), fc.integer({ min: 0, max: 2 })), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((list): RouteSpec['rules'] =>
    list.map(({ match, pools }, i) => ({
      name: `rule-${i}`,
      match,
      action: { forward: pools.map(([pool, weight]) => ({ pool, weight })) },
    })),
  );
const hosts = fc.subarray(['a.example', 'b.example', '*.example'], { minLength: 1 });
const routes = fc
  .array(fc.record({ hosts, rules }), { maxLength: 5 })
  .map((list) =>
    list.map(({ hosts, rules }, i) =>
      draft('Route', `r${i}`, { attachTo: [{ virtualService: 'shop', listener: 'web' }], hosts, rules }),
    ),
  );
const pool = fc
  .array(
    fc.record({
      address: fc.constantFrom('10.0.0.1', '10.0.0.2', '2001:db8::1'),
      port: fc.integer({ min: 1, max: 3 }),
      weight: fc.integer({ min: 0, max: 300 }),
      priority: fc.integer({ min: 0, max: 5 }),
      enabled: fc.boolean(),
      drain: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((members): BackendPoolSpec => ({ members }));

function draft(kind: 'Route' | 'BackendPool', name: string, spec: RouteSpec | BackendPoolSpec): DraftObject {
  return {
    apiVersion: 'fairway/v1',
    kind,
    metadata: { name, scope: 'default', labels: {}, annotations: {} },
    spec,
  } as DraftObject;
}

const around = objectsOf(`
apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
---
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  listeners:
    - { name: web, port: 80, protocol: HTTP, defaultAction: { forward: [{ pool: p }] } }
    - { name: tcp, port: 81, protocol: TCP, defaultAction: { pool: q } }
`);

/** A world costs some milliseconds: fewer of them than fast-check would make by itself. */
const runs = { numRuns: fc.readConfigureGlobal().numRuns ?? 40 };

const objects = fc
  .tuple(routes, pool, pool)
  .map(([routes, p, q]) => [draft('BackendPool', 'p', p), draft('BackendPool', 'q', q), ...routes]);
const world = objects.map((drafts) => {
  const made = createWorld();
  made.apply(...around, ...drafts);
  return made;
});

function inner(resource: Resource): Uint8Array {
  const wire = decodeResource(resource.bytes);
  if (!wire.ok) throw new Error(wire.error);
  return wire.value.value;
}

/** Where a path stands in the order of precedence, written a second time. */
function pathPlace({ pathSpecifier }: RouteMatch): number {
  if (pathSpecifier.case === 'path') return 0;
  if (pathSpecifier.case === 'safeRegex') return 1;
  return 10_000 - String(pathSpecifier.value).length;
}

describe('translation', () => {
  test('composites are the bytes that the whole would be encoded as', () => {
    fc.assert(
      fc.property(world, (made) => {
        for (const resource of made.resources()) {
          const schema = {
            [typeUrls.route]: RouteConfigurationSchema,
            [typeUrls.endpoint]: ClusterLoadAssignmentSchema,
          }[resource.type];
          if (schema === undefined) continue;
          const bytes = inner(resource);
          expect(Buffer.from(toBinary(schema, fromBinary(schema, bytes) as never))).toEqual(Buffer.from(bytes));
        }
      }),
      runs,
    );
  });

  test('what is written with names filled in is what is encoded: the same world, again and again, has the same bytes', () => {
    fc.assert(
      fc.property(objects, (drafts) => {
        const versions = () => {
          const made = createWorld();
          made.apply(...around, ...drafts);
          return made.resources().map(({ type, name, hash }) => `${type} ${name} ${hash}`);
        };
        // The first time a shape is encoded as a whole, the second time its template is made, the third it is there.
        const first = versions();
        expect(versions()).toEqual(first);
        expect(versions()).toEqual(first);
      }),
      runs,
    );
  });

  test('nothing dangles', () => {
    fc.assert(
      fc.property(world, (made) => {
        expect(lint(made.resources())).toEqual([]);
      }),
      runs,
    );
  });

  test('routes of a host stand in the order of their paths, the default action last', () => {
    fc.assert(
      fc.property(world, (made) => {
        const table = made.resource(typeUrls.route, 'default/shop:80') as Resource;
        for (const host of fromBinary(RouteConfigurationSchema, inner(table)).virtualHosts) {
          const places = host.routes.map(({ match }) => pathPlace(match as RouteMatch));
          expect(places).toEqual([...places].sort((a, b) => a - b));
          expect(host.routes.at(-1)?.name).toBe('default/shop/default');
        }
      }),
      runs,
    );
  });

  test('hosts are sorted and each is there once', () => {
    fc.assert(
      fc.property(world, (made) => {
        const table = made.resource(typeUrls.route, 'default/shop:80') as Resource;
        const domains = fromBinary(RouteConfigurationSchema, inner(table)).virtualHosts.flatMap((host) => host.domains);
        expect(domains).toEqual([...new Set(domains)].sort());
      }),
      runs,
    );
  });

  test('an assignment has the members that get traffic, in priorities without a gap', () => {
    fc.assert(
      fc.property(pool, (spec) => {
        const made = createWorld();
        made.apply(...around, draft('BackendPool', 'p', spec));
        const { endpoints } = fromBinary(
          ClusterLoadAssignmentSchema,
          inner(made.resource(typeUrls.endpoint, 'default/p') as Resource),
        );
        expect(endpoints.map(({ priority }) => priority)).toEqual(endpoints.map((_, i) => i));
        const used = (spec.members ?? []).filter(({ enabled, weight }) => enabled === true && weight !== 0);
        expect(endpoints.flatMap((locality) => locality.lbEndpoints)).toHaveLength(used.length);
      }),
      runs,
    );
  });

  test('the order in which members are written means nothing', () => {
    fc.assert(
      fc.property(pool, (spec) => {
        const version = (members: BackendPoolSpec['members']) => {
          const made = createWorld();
          made.apply(...around, draft('BackendPool', 'p', { members: [...(members ?? [])] }));
          return made.resource(typeUrls.endpoint, 'default/p')?.hash;
        };
        expect(version([...(spec.members ?? [])].reverse())).toBe(version(spec.members));
      }),
      runs,
    );
  });
});
