import { describe, expect, test } from 'vitest';
import type { BackendPoolSpec } from '../../../src/model/index.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import { certificate, fleet, http, https, pool, route, service, tcp } from '../../support/drafts.ts';
import { createWorld } from '../../support/world.ts';

const good: BackendPoolSpec = { members: [{ address: '10.0.0.1', port: 80 }] };
const bad: BackendPoolSpec = { members: [{ address: '10.0.0.2', port: 80 }] };

function served(content: BackendPoolSpec) {
  const world = createWorld();
  world.apply(fleet('edge'), pool('p', content), service('shop', { listeners: [tcp('p')] }));
  return world;
}

const endpointOf = (world: ReturnType<typeof served>) => world.resource(typeUrls.endpoint, 'default/p');

test('the last good form of a refused object goes on being served, and a newer one is tried', () => {
  const world = served(good);
  const first = endpointOf(world);
  world.apply(pool('p', bad));
  const second = endpointOf(world);
  expect(second?.hash).not.toBe(first?.hash);
  world.pin('BackendPool/default/p', { generation: 1, spec: good });
  expect(endpointOf(world)).toMatchObject({ hash: first?.hash, parts: [{ generation: 1 }] });
  world.apply(pool('p', { members: [] }));
  expect(endpointOf(world)?.parts).toMatchObject([{ generation: 3 }]);
  // Refused once more: the same good form, since the pin says so.
  world.pin('BackendPool/default/p', { generation: 1, spec: good });
  expect(endpointOf(world)?.hash).toBe(first?.hash);
});

test('an object of the same name that was made anew is not held by the pin of the former one', () => {
  const world = served(bad);
  world.pin('BackendPool/default/p');
  expect(endpointOf(world)).toBeUndefined();
  const { kernel, graph } = world;
  const object = kernel.get(graph.objects.BackendPool, 'BackendPool/default/p');
  if (object === undefined) throw new Error('the pool is gone');
  const fork = kernel.fork();
  fork.put(graph.objects.BackendPool, 'BackendPool/default/p', {
    ...object,
    metadata: { ...object.metadata, uid: 'another', createdRevision: '99', revision: '99' },
    spec: good,
  } as typeof object);
  fork.settleNow();
  kernel.adopt(fork);
  expect(endpointOf(world)).toBeDefined();
});

describe('what was refused and never good', () => {
  test('is withheld, and those that name it say why', () => {
    const world = served(bad);
    world.apply(route('r', 'web', { pools: ['p'] }), service('web'));
    world.pin('BackendPool/default/p');
    expect(world.resource(typeUrls.cluster, 'default/p')).toBeUndefined();
    for (const key of ['VirtualService/default/shop', 'Route/default/r']) {
      expect(world.verdict(key)['ResolvedRefs']).toMatchObject({ status: 'False', reason: 'ReferenceMissing' });
      expect(world.verdict(key)['ResolvedRefs']?.message).toContain('proxies refuse');
    }
    // Its own conditions say nothing about it here: status knows of the refusal.
    expect(world.verdict('BackendPool/default/p')).toMatchObject({ Accepted: { status: 'True' } });
    world.unpin('BackendPool/default/p');
    expect(world.resource(typeUrls.cluster, 'default/p')).toBeDefined();
    expect(world.verdict('Route/default/r')['ResolvedRefs']).toMatchObject({ status: 'True' });
  });

  test('as a service is attached to by nobody, and its sockets are free', () => {
    const world = createWorld();
    world.apply(fleet('edge'), service('older'), service('younger', { listeners: [http()] }), route('r', 'older'));
    world.pin('VirtualService/default/older');
    expect(world.verdict('Route/default/r')['Accepted']).toMatchObject({ reason: 'NotAttached' });
    expect(world.verdict('Route/default/r')['Accepted']?.message).toContain('proxies refuse the virtual service');
    expect(world.resource(typeUrls.listener, 'default/younger/any:80')).toBeDefined();
  });

  test('as a certificate closes the listener that has no other', () => {
    const world = createWorld();
    world.apply(fleet('edge'), certificate('c'), certificate('d'), service('shop', { listeners: [https(['c', 'd'])] }));
    world.pin('Certificate/default/c');
    expect(world.resource(typeUrls.listener, 'default/shop/any:443')).toBeDefined();
    expect(world.resource(typeUrls.secret, 'default/c')).toBeUndefined();
    world.pin('Certificate/default/d');
    expect(world.resource(typeUrls.listener, 'default/shop/any:443')).toBeUndefined();
    world.unpin('Certificate/default/c');
    expect(world.resource(typeUrls.listener, 'default/shop/any:443')).toBeDefined();
  });
});
