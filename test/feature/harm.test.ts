import { afterEach, expect, test } from 'vitest';
import { encodeStored, type FairwayObject, objectKey, specKey } from '../../src/model/index.ts';
import { createMemoryStore } from '../../src/store/index.ts';
import { typeUrls } from '../../src/xds/index.ts';
import { type StoredObject, startFairway } from '../support/fairway.ts';
import { startToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// A bad object harms itself only: here such as no check lets through, so that what reads them throws.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

/** Writes past all checks. */
function broken(kind: 'VirtualService' | 'BackendPool' | 'Route', name: string, spec: unknown) {
  const metadata = {
    name,
    scope: 'default',
    labels: {},
    annotations: {},
    uid: `uid-of-${name}`,
    generation: 1,
    revision: '',
    createdRevision: '',
    createdAt: '2026-01-01T00:00:00Z',
  };
  const object = { apiVersion: 'fairway/v1', kind, metadata, spec } as unknown as FairwayObject;
  return { key: specKey(objectKey(kind, 'default', name)), value: encodeStored(object) };
}

const listener = (port: number, pool: string) => ({
  name: 'web',
  port,
  protocol: 'HTTP',
  defaultAction: { forward: [{ pool }] },
});

test('what cannot be derived is told on its object, and the rest is served and edited', async () => {
  const store = createMemoryStore();
  const fairway = await startFairway({ store });
  cleanUp.push(() => fairway.close());
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    { kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [{ address: '10.0.0.1', port: 80 }] } },
    { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { listeners: [listener(80, 'web')] } },
    { kind: 'VirtualService', metadata: { name: 'other' }, spec: { listeners: [listener(81, 'bad-pool')] } },
  );
  const toy = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-1', fleet: 'edge' });
  cleanUp.push(() => toy.close());
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  toy.takeFrames();

  const puts = [
    // The graph trips over the first two, the translation over the third.
    broken('VirtualService', 'bad-service', {}),
    broken('Route', 'bad-route', { attachTo: [{ virtualService: 'shop', listener: 'web' }] }),
    broken('BackendPool', 'bad-pool', { members: [{ address: '10.0.0.1', port: 80 }], connectTimeout: 'soon' }),
  ];
  await store.commit({ id: 'broken', checks: [], puts, deletes: [] });

  const accepted = (object: StoredObject) => object.status.conditions.find(({ type }) => type === 'Accepted');
  for (const [kind, name] of [
    ['VirtualService', 'bad-service'],
    ['Route', 'bad-route'],
    ['BackendPool', 'bad-pool'],
  ] as const) {
    const object = await fairway.waitFor(kind, name, 'Accepted', 'False');
    expect(accepted(object), name).toMatchObject({ reason: 'InternalError' });
    expect(accepted(object)?.message).toContain('please report this; other objects are not affected');
  }
  for (const name of ['shop', 'other']) {
    expect(accepted(await fairway.get('VirtualService', name))).toMatchObject({ status: 'True' });
  }
  expect(toy.names(typeUrls.listener)).toEqual(['default/other/any:81', 'default/shop/any:80']);
  expect(
    fairway
      .logged()
      .split('\n')
      .filter((line) => line.includes('derivation_failed')).length,
  ).toBeGreaterThan(0);

  const before = toy.version(typeUrls.endpoint, 'default/web');
  await fairway.put({ kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [] } });
  await until('the edit of another pool', () => toy.version(typeUrls.endpoint, 'default/web') !== before);

  // Mended, it is served like any other.
  await fairway.put({ kind: 'BackendPool', metadata: { name: 'bad-pool' }, spec: { members: [] } });
  const mended = await fairway.waitFor('BackendPool', 'bad-pool', 'Programmed', 'True');
  expect(accepted(mended)).toMatchObject({ status: 'True' });
});
