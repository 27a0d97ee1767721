import { describe, expect, test } from 'vitest';
import type { DraftObject, VirtualServiceSpec } from '../../../src/model/index.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import { fleet, http, pool, service, tcp } from '../../support/drafts.ts';
import { createWorld, type World } from '../../support/world.ts';

/** Addresses of the services a, b, …, from the oldest to the newest; undefined: every address. */
type Claims = readonly (readonly string[] | undefined)[];

const names = ['a', 'b', 'c', 'd'];

function claimant(name: string, addresses: readonly string[] | undefined): DraftObject {
  const given: Partial<VirtualServiceSpec> =
    addresses === undefined ? {} : { addresses: addresses.map((address) => ({ address })) };
  return service(name, { fleet: 'edge', ...given });
}

/** The listeners of all proxies in short: `a@10.0.0.1`. */
function served(world: World): string[] {
  return world
    .resources()
    .filter(({ type }) => type === typeUrls.listener)
    .map(({ name }) => name.replace(/^default\//, '').replace(/^([^/]+)\/(.*):\d+$/, '$1@$2'))
    .sort();
}

/** The services that say that another one stands in their way, each with the names in its message. */
function conflicts(world: World): string[] {
  return names.flatMap((name) => {
    const accepted = world.verdict(`VirtualService/default/${name}`)['Accepted'];
    if (accepted?.reason !== 'ListenerConflict') return [];
    const blockers = [...accepted.message.matchAll(/VirtualService default\/(\w)/g)].map((match) => match[1]);
    return [`${name} behind ${[...new Set(blockers)].join()}`];
  });
}

const one = ['10.0.0.1'];
const two = ['10.0.0.2'];

describe('a socket belongs to the older of those that want it', () => {
  test.each<[string, Claims, served: string[], conflicts: string[]]>([
    ['the same address', [one, one], ['a@10.0.0.1'], ['b behind a']],
    ['different addresses', [one, two], ['a@10.0.0.1', 'b@10.0.0.2'], []],
    ['all addresses, twice', [undefined, undefined], ['a@any'], ['b behind a']],
    ['a single one behind all', [undefined, one], ['a@any'], ['b behind a']],
    ['all behind a single one', [one, undefined], ['a@10.0.0.1'], ['b behind a']],
    ['one of two addresses', [one, [...one, ...two]], ['a@10.0.0.1', 'b@10.0.0.2'], ['b behind a']],
    ['all behind two', [one, two, undefined], ['a@10.0.0.1', 'b@10.0.0.2'], ['c behind a']],
    ['two behind all', [undefined, one, two], ['a@any'], ['b behind a', 'c behind a']],
    ['what lost to one is in nobody else’s way', [one, undefined, two], ['a@10.0.0.1', 'c@10.0.0.2'], ['b behind a']],
    ['what lost, between two that want all', [one, undefined, undefined], ['a@10.0.0.1'], ['b behind a', 'c behind a']],
    ['three of one', [one, one, one], ['a@10.0.0.1'], ['b behind a', 'c behind a']],
    [
      'a part of what lost',
      [one, undefined, [...one, ...two]],
      ['a@10.0.0.1', 'c@10.0.0.2'],
      ['b behind a', 'c behind a'],
    ],
    ['four', [two, undefined, one, undefined], ['a@10.0.0.2', 'c@10.0.0.1'], ['b behind a', 'd behind a']],
    ['one address in two notations', [['2001:db8::1'], ['2001:DB8:0::0:1']], ['a@[2001:db8::1]'], ['b behind a']],
  ])('%s', (_, claims, wantServed, wantConflicts) => {
    const world = createWorld();
    world.apply(fleet('edge'));
    for (const [at, addresses] of claims.entries()) world.apply(claimant(names[at] as string, addresses));
    expect(served(world)).toEqual(wantServed);
    expect(conflicts(world)).toEqual(wantConflicts);
  });

  test('whatever is written first after a restart: age counts, not order', () => {
    for (const claims of [
      [one, undefined, two],
      [undefined, one, two],
      [two, one, undefined],
    ] as const) {
      const grown = createWorld();
      grown.apply(fleet('edge'));
      for (const [at, addresses] of claims.entries()) grown.apply(claimant(names[at] as string, addresses));
      const { graph, kernel } = grown;
      const objects = [...kernel.keys(graph.objects.VirtualService)].map((key) =>
        kernel.get(graph.objects.VirtualService, key),
      );
      const again = createWorld();
      again.apply(fleet('edge'));
      const fork = again.kernel.fork();
      for (const object of objects.toReversed()) {
        if (object !== undefined) fork.put(again.graph.objects.VirtualService, object.metadata.uid, object);
      }
      fork.settleNow();
      again.kernel.adopt(fork);
      expect(served(again)).toEqual(served(grown));
    }
  });
});

describe('a socket is free again', () => {
  test.each<[string, (world: World) => void]>([
    ['when its owner is removed', (world) => world.remove('VirtualService/default/a')],
    ['when its owner is disabled', (world) => world.apply(service('a', { fleet: 'edge', enabled: false }))],
    [
      'when its owner moves to another port',
      (world) => world.apply(service('a', { fleet: 'edge', listeners: [http({ port: 81 })] })),
    ],
    ['when its owner moves to another fleet', (world) => world.apply(service('a', { fleet: 'other' }))],
    ['when its owner keeps other addresses only', (world) => world.apply(claimant('a', one))],
  ])('%s', (_, edit) => {
    const world = createWorld();
    world.apply(fleet('edge'), claimant('a', undefined), claimant('b', two));
    expect(served(world)).toEqual(['a@any']);
    edit(world);
    expect(served(world)).toContain('b@10.0.0.2');
    expect(world.verdict('VirtualService/default/b')['Accepted']).toMatchObject({ status: 'True' });
  });

  test('and an enabled owner comes back before those that came later', () => {
    const world = createWorld();
    world.apply(fleet('edge'), claimant('a', one), claimant('b', one));
    world.apply(service('a', { fleet: 'edge', addresses: [{ address: '10.0.0.1' }], enabled: false }));
    expect(served(world)).toEqual(['b@10.0.0.1']);
    world.apply(claimant('a', one));
    expect(served(world)).toEqual(['a@10.0.0.1']);
    expect(conflicts(world)).toEqual(['b behind a']);
  });
});

test('fleets and ports do not meet', () => {
  const world = createWorld();
  world.apply(fleet('edge'), fleet('core'), service('a', { fleet: 'edge' }), service('b', { fleet: 'core' }));
  world.apply(service('c', { fleet: 'edge', listeners: [http({ port: 81 })] }));
  expect(served(world)).toEqual(['a@any', 'b@any', 'c@any']);
});

test('a service that lost one of its ports serves the other, and says which it lost', () => {
  const world = createWorld();
  world.apply(fleet('edge'), pool('db'), service('a', { listeners: [http()] }));
  world.apply(service('b', { listeners: [http(), tcp('db')] }));
  expect(served(world)).toEqual(['a@any', 'b@any']);
  expect(world.resource(typeUrls.listener, 'default/b/any:25')).toBeDefined();
  const { Accepted } = world.verdict('VirtualService/default/b');
  expect(Accepted).toMatchObject({ status: 'False', reason: 'ListenerConflict' });
  expect(Accepted?.message).toContain('port 80 on all addresses belongs to the older VirtualService default/a');
  expect(Accepted?.message).not.toContain('port 25');
});
