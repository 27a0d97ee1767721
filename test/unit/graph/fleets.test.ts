import { describe, expect, test } from 'vitest';
import { typeUrls } from '../../../src/xds/index.ts';
import { fleet, pool, service, tcp } from '../../support/drafts.ts';
import { createWorld, type World } from '../../support/world.ts';

const audienceOf = (world: World) => world.resource(typeUrls.listener, 'default/shop/any:80')?.audience;
const accepted = (world: World) => world.verdict('VirtualService/default/shop')['Accepted'];

describe('the fleet of a service that names none', () => {
  test.each<[string, fleets: string[], audience: string | undefined]>([
    ['is the only one, whatever its name', ['edge'], 'fleet/edge'],
    ['is the one named default of several', ['edge', 'default', 'core'], 'fleet/default'],
    ['is missing when none of several is named default', ['edge', 'core'], undefined],
    ['is missing when there is none', [], undefined],
  ])('%s', (_, fleets, audience) => {
    const world = createWorld();
    world.apply(service('shop'), ...fleets.map((name) => fleet(name)));
    expect(audienceOf(world)).toBe(audience);
    expect(accepted(world)?.reason).toBe(audience === undefined ? 'FleetMissing' : 'Accepted');
  });

  test('follows the fleets as they come and go', () => {
    const world = createWorld();
    world.apply(service('shop'));
    expect(accepted(world)?.message).toContain('create a Fleet named default');
    const seen: (string | undefined)[] = [];
    for (const step of [
      () => world.apply(fleet('edge')),
      () => world.apply(fleet('core')),
      () => world.apply(fleet('default')),
      () => world.remove('Fleet/edge', 'Fleet/default'),
      () => world.remove('Fleet/core'),
    ]) {
      step();
      seen.push(audienceOf(world));
    }
    expect(seen).toEqual(['fleet/edge', undefined, 'fleet/default', 'fleet/core', undefined]);
  });
});

test('a service whose fleet is missing is served when the fleet appears, with no second write', () => {
  const world = createWorld();
  world.apply(pool('p'), fleet('other'), service('shop', { fleet: 'edge', listeners: [tcp('p', { port: 80 })] }));
  expect(accepted(world)).toMatchObject({ reason: 'FleetMissing' });
  expect(accepted(world)?.message).toContain('Fleet edge does not exist');
  world.apply(fleet('edge'));
  expect(accepted(world)).toMatchObject({ status: 'True' });
  expect(audienceOf(world)).toBe('fleet/edge');
  expect(world.resource(typeUrls.cluster, 'default/p')?.audience).toBe('fleet/edge');
  world.remove('Fleet/edge');
  expect(audienceOf(world)).toBeUndefined();
  expect(world.resource(typeUrls.cluster, 'default/p')).toBeUndefined();
  expect(world.kernel.get(world.graph.fleetAudiences, 'edge')).toBeUndefined();
});

test('an edit of a Fleet concerns none of its services', () => {
  const world = createWorld();
  world.apply(fleet('edge'), pool('p'), service('shop', { listeners: [tcp('p')] }), service('other'));
  const { kernel, graph } = world;
  const before = kernel.get(graph.objects.Fleet, 'Fleet/edge');
  const fork = kernel.fork();
  if (before === undefined) throw new Error('the Fleet is gone');
  const edited = { ...before, metadata: { ...before.metadata, generation: 2 }, spec: { drainTimeout: '5s' } };
  fork.put(graph.objects.Fleet, 'Fleet/edge', edited as typeof before);
  fork.settleNow();
  expect(fork.computed.get('verdicts')).toBe(1);
  for (const name of ['services served', 'service facts', 'listeners', 'audiences of fleets', 'lds']) {
    expect(fork.computed.get(name) ?? 0, name).toBe(0);
  }
});
