/**
 * Whatever the schemas and checks of the model let through, a real Envoy accepts: random objects with a liking for the
 * limits of every field, one world after the other over our own ADS.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DraftObject, kinds, parseObject } from '../../src/model/index.ts';
import { type ProxiedWorld, startProxiedWorld, withoutPorts } from '../support/proxied-world.ts';
import { valuesOf, without } from '../support/schema-values.ts';
import { createWorld } from '../support/world.ts';
import { short } from '../support/xds-rig.ts';

const pem = (name: string) => readFileSync(new URL(`../support/certificates/${name}.pem`, import.meta.url), 'utf8');

/** The object, without what the model's further checks refuse of it; undefined when nothing is left. */
function draft(kind: string, name: string, spec: unknown): DraftObject | undefined {
  let object: unknown = { apiVersion: 'fairway/v1', kind, metadata: { name, scope: 'default' }, spec };
  for (let step = 0; step < 20; step += 1) {
    const parsed = parseObject(object);
    if (parsed.ok) return parsed.value;
    object = without(
      object,
      parsed.error.map(({ pointer }) => pointer),
    );
  }
  return undefined;
}

const pools = ['p0', 'p1', 'p2'];
const fixed = [
  parseObject({ apiVersion: 'fairway/v1', kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }),
  // What random Routes attach to, beside a random service.
  parseObject({
    apiVersion: 'fairway/v1',
    kind: 'VirtualService',
    metadata: { name: 'front', scope: 'default' },
    spec: { listeners: [{ name: 'a', port: 8080, protocol: 'HTTP' }] },
  }),
  ...[
    ['cert', { chain: pem('p256'), key: pem('p256.key') }],
    ['ca', { ca: pem('root') }],
  ].map(([name, spec]) =>
    parseObject({ apiVersion: 'fairway/v1', kind: 'Certificate', metadata: { name, scope: 'default' }, spec }),
  ),
].map((parsed) => {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
});

const overrides = {
  pool: fc.constantFrom(...pools),
  ca: fc.constant('ca'),
  certificate: fc.constant('cert'),
  certificates: fc.constant(['cert']),
  fleet: fc.constant('edge'),
  enabled: fc.constant(true),
  attachTo: fc.constant([{ virtualService: 'front', listener: 'a' }]),
  allowedScopes: fc.constant(['*']),
};

const specsOf = (kind: 'BackendPool' | 'VirtualService' | 'Route') => valuesOf(kinds[kind].schema, overrides);

const world = fc.record({
  pools: fc.tuple(specsOf('BackendPool'), specsOf('BackendPool'), specsOf('BackendPool')),
  service: specsOf('VirtualService'),
  routes: fc.array(specsOf('Route'), { minLength: 1, maxLength: 4 }),
});

const runs = 120;

let proxied: ProxiedWorld;
beforeAll(async () => {
  proxied = await startProxiedWorld('edge');
});
afterAll(() => proxied?.close());

test('what the model takes, Envoy takes', async () => {
  const served = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(world, async (specs) => {
      const made = createWorld({ rawPatch: withoutPorts });
      const objects = [
        ...specs.pools.map((spec, n) => draft('BackendPool', pools[n] as string, spec)),
        draft('VirtualService', 'shop', specs.service),
        ...specs.routes.map((spec, n) => draft('Route', `r${n}`, spec)),
      ].filter((object) => object !== undefined);
      made.apply(...fixed, ...objects);
      for (const { type, parts } of made.resources()) {
        const kind = short(type);
        served.set(kind, (served.get(kind) ?? 0) + Math.max(1, parts.length));
      }
      expect(await proxied.serve(made)).toEqual([]);
    }),
    { numRuns: runs },
  );
  // Most of it was served at all.
  for (const kind of ['cluster', 'endpoint', 'listener', 'route']) expect(served.get(kind)).toBeGreaterThan(runs);
});
