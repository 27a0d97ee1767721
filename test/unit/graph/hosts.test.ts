import { describe, expect, test } from 'vitest';
import { covers, intersect } from '../../../src/graph/hosts.ts';
import type { DraftObject } from '../../../src/model/index.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import { fleet, forward, http, https, pool, respond, route, service } from '../../support/drafts.ts';
import { createWorld, type World } from '../../support/world.ts';

describe('hosts', () => {
  test.each<[pattern: string, host: string, covered: boolean]>([
    ['*', 'a.example', true],
    ['*', '*.example', true],
    ['*', '*', true],
    ['a.example', '*', false],
    ['a.example', 'a.example', true],
    ['*.example', 'a.example', true],
    ['*.example', 'a.b.example', true],
    ['*.example', '*.b.example', true],
    ['*.example', '*.example', true],
    ['*.b.example', '*.example', false],
    ['*.example', 'example', false],
    ['*.example', 'anexample', false],
    ['a.example', 'b.a.example', false],
  ])('%s covers %s: %s', (pattern, host, covered) => {
    expect(covers(pattern, host)).toBe(covered);
  });

  test.each<[string[] | undefined, string[] | undefined, string[]]>([
    [undefined, undefined, ['*']],
    [['a.example'], undefined, ['a.example']],
    [undefined, ['b.example', 'a.example'], ['a.example', 'b.example']],
    [['*.example'], ['a.example', 'b.other'], ['a.example']],
    [['a.example'], ['*.example'], ['a.example']],
    [
      ['*.example', 'other'],
      ['*.b.example', '*'],
      ['*.b.example', '*.example', 'other'],
    ],
    [['a.example'], ['b.example'], []],
    [['*.a.example'], ['*.b.example'], []],
  ])('%j and %j have in common %j', (a, b, common) => {
    expect(intersect(a, b)).toEqual(common);
    expect(intersect(b, a)).toEqual(common);
  });
});

/** Host → paths of the rule sets that serve it on the only table, in their order. */
function hostsOf({ kernel, graph }: World): Record<string, readonly string[]> {
  return Object.fromEntries(
    [...kernel.keys(graph.virtualHosts)].sort().map((key) => {
      const row = kernel.get(graph.virtualHosts, key);
      return [row?.host ?? '', (row?.sets ?? []).map((set) => set.replace(/^\w+\//, ''))];
    }),
  );
}

function worldWith(...objects: readonly DraftObject[]): World {
  const world = createWorld();
  world.apply(fleet('edge'), pool('p'));
  for (const object of objects) world.apply(object);
  return world;
}

const shop = service('shop', { listeners: [http({ allowedRoutes: { scopes: ['*'] } })] });

describe('a host on a listener belongs to the oldest claim', () => {
  test('Routes of the same scope are merged, oldest first', () => {
    const world = worldWith(
      shop,
      route('z', 'shop', { hosts: ['a.example'] }),
      route('a', 'shop', { hosts: ['A.Example', 'b.example'] }),
    );
    expect(hostsOf(world)).toEqual({
      '*': [],
      'a.example': ['default/z', 'default/a'],
      'b.example': ['default/a'],
    });
    expect(world.verdict('Route/default/a')['Accepted']).toMatchObject({ status: 'True' });
  });

  test('Routes of another scope stay out, say so, and keep their other hosts', () => {
    const world = worldWith(
      shop,
      route('red/one', 'default/shop', { hosts: ['a.example'] }),
      route('blue/two', 'default/shop', { hosts: ['a.EXAMPLE', 'b.example'] }),
      route('red/three', 'default/shop', { hosts: ['a.example'] }),
    );
    expect(hostsOf(world)).toMatchObject({ 'a.example': ['red/one', 'red/three'], 'b.example': ['blue/two'] });
    const { Accepted } = world.verdict('Route/blue/two');
    expect(Accepted).toMatchObject({ status: 'False', reason: 'HostConflict' });
    expect(Accepted?.message).toBe(
      'host a.example on default/shop, listener web belongs to the older Route red/one of another scope',
    );
    const attachments = world.kernel.get(world.graph.verdicts, 'Route/blue/two')?.attachments;
    expect(attachments).toMatchObject([{ accepted: true, hosts: ['b.example'], reason: 'HostConflict' }]);
  });

  test('the claim passes on when its owner goes, without a write to the next', () => {
    const world = worldWith(
      shop,
      route('red/one', 'default/shop', { hosts: ['a.example'] }),
      route('blue/two', 'default/shop', { hosts: ['a.example'] }),
    );
    world.remove('Route/red/one');
    expect(hostsOf(world)).toMatchObject({ 'a.example': ['blue/two'] });
    expect(world.verdict('Route/blue/two')['Accepted']).toMatchObject({ status: 'True' });
  });

  test('an older Route of another scope is before the service’s own rules', () => {
    const inline = service('shop', {
      listeners: [http({ allowedRoutes: { scopes: ['*'] }, routes: [{ hosts: ['a.example'], rules: [respond()] }] })],
    });
    const world = worldWith(route('red/one', 'default/shop', { hosts: ['a.example'] }), inline);
    expect(hostsOf(world)).toMatchObject({ 'a.example': ['red/one'] });
    expect(world.verdict('VirtualService/default/shop')['Accepted']).toMatchObject({ reason: 'HostConflict' });
  });

  test('a wildcard and a name under it are different hosts', () => {
    const world = worldWith(
      shop,
      route('red/wide', 'default/shop', { hosts: ['*.example'] }),
      route('blue/narrow', 'default/shop', { hosts: ['a.example'] }),
      route('blue/all', 'default/shop'),
    );
    expect(hostsOf(world)).toEqual({ '*': ['blue/all'], '*.example': ['red/wide'], 'a.example': ['blue/narrow'] });
    for (const path of ['red/wide', 'blue/narrow', 'blue/all']) {
      expect(world.verdict(`Route/${path}`)['Accepted']).toMatchObject({ status: 'True' });
    }
  });

  test('inline entries of one host are merged in the order written, also beyond ten', () => {
    const routes = Array.from({ length: 12 }, (_, n) => ({
      hosts: ['a.example'],
      rules: [{ ...respond(), name: `r${n}` }],
    }));
    const world = worldWith(service('shop', { listeners: [http({ hosts: ['a.example'], routes })] }));
    expect(hostsOf(world)['a.example']).toEqual(routes.map((_, n) => `default/shop|web|${n}`));
  });
});

describe('listeners that share a port', () => {
  const listeners = [
    http({ name: 'one', hosts: ['one.example'], allowedRoutes: { scopes: ['*'] } }),
    http({ name: 'two', hosts: ['*.two.example'] }),
  ];

  test('have one table, and each host leads to its own listener', () => {
    const world = worldWith(
      service('shop', { listeners }),
      route('red/r', ['default/shop one'], { hosts: ['one.example'] }),
      route('r', ['shop two', 'default/shop two'], { hosts: ['a.two.example'] }),
    );
    const { kernel, graph } = world;
    expect(kernel.get(graph.served, 'VirtualService/default/shop')?.tables).toEqual([
      'VirtualService/default/shop|:80',
    ]);
    expect(hostsOf(world)).toEqual({ '*.two.example': [], 'a.two.example': ['default/r'], 'one.example': ['red/r'] });
    const listenerOf = (host: string) =>
      kernel.get(graph.virtualHosts, `VirtualService/default/shop|:80|${host}`)?.listener;
    expect([listenerOf('one.example'), listenerOf('a.two.example'), listenerOf('*.two.example')]).toEqual([
      'one',
      'two',
      'two',
    ]);
  });

  test('HTTPS ones have a table each', () => {
    const world = worldWith(
      service('shop', {
        listeners: [
          https(['absent'], { name: 'one', hosts: ['one.example'] }),
          https(['absent'], { name: 'two', hosts: ['two.example'] }),
        ],
      }),
    );
    const { kernel, graph } = world;
    const keys = [...kernel.keys(graph.virtualHosts)].sort();
    expect(keys).toEqual([
      'VirtualService/default/shop|/one|one.example',
      'VirtualService/default/shop|/two|two.example',
    ]);
  });
});

describe('a Route attaches where it is allowed', () => {
  const allowing = (allowedRoutes: NonNullable<Parameters<typeof http>[0]>['allowedRoutes']) =>
    service('shop', {
      listeners: [http({ hosts: ['*.example', 'shop.other'], ...(allowedRoutes && { allowedRoutes }) })],
    });

  test.each<[string, DraftObject, DraftObject, reason: string, words: string, hosts: string[]]>([
    ['its own scope', allowing(undefined), route('r', 'shop', { hosts: ['a.example'] }), 'Accepted', '', ['a.example']],
    ['another scope', allowing(undefined), route('red/r', 'default/shop'), 'AttachmentNotAllowed', 'scope red', []],
    [
      'a named scope',
      allowing({ scopes: ['red'] }),
      route('red/r', 'default/shop', { hosts: ['a.example'] }),
      'Accepted',
      '',
      ['a.example'],
    ],
    [
      'every scope',
      allowing({ scopes: ['*'] }),
      route('red/r', 'default/shop', { hosts: ['a.example'] }),
      'Accepted',
      '',
      ['a.example'],
    ],
    [
      'not the own one when others are named',
      allowing({ scopes: ['red'] }),
      route('r', 'shop'),
      'AttachmentNotAllowed',
      'scope default',
      [],
    ],
    [
      'no hosts: all of the listener',
      allowing(undefined),
      route('r', 'shop'),
      'Accepted',
      '',
      ['*.example', 'shop.other'],
    ],
    [
      'a wider host: what the listener has of it',
      allowing(undefined),
      route('r', 'shop', { hosts: ['*.other'] }),
      'Accepted',
      '',
      ['shop.other'],
    ],
    [
      'other hosts',
      allowing(undefined),
      route('r', 'shop', { hosts: ['a.b'] }),
      'NotAttached',
      '*.example, shop.other',
      [],
    ],
    [
      'some hosts',
      allowing(undefined),
      route('r', 'shop', { hosts: ['a.example', 'a.b'] }),
      'AttachmentNotAllowed',
      'a.b',
      ['a.example'],
    ],
    [
      'hosts that are not allowed',
      allowing({ hosts: ['*.a.example'] }),
      route('r', 'shop', { hosts: ['b.example'] }),
      'AttachmentNotAllowed',
      'b.example',
      [],
    ],
    [
      'hosts that are, in another case',
      allowing({ hosts: ['*.A.example'] }),
      route('r', 'shop', { hosts: ['b.a.Example'] }),
      'Accepted',
      '',
      ['b.a.example'],
    ],
    ['no such service', allowing(undefined), route('r', 'absent'), 'NotAttached', 'does not exist', []],
    ['no such listener', allowing(undefined), route('r', 'shop other'), 'NotAttached', 'no listener other', []],
    ['a disabled service', service('shop', { enabled: false }), route('r', 'shop'), 'NotAttached', 'disabled', []],
    [
      'a TCP listener',
      service('shop', { listeners: [{ name: 'web', port: 1, protocol: 'TCP', defaultAction: { pool: 'p' } }] }),
      route('r', 'shop'),
      'NotAttached',
      'TCP',
      [],
    ],
  ])('%s', (_, virtualService, attached, reason, words, hosts) => {
    const world = worldWith(virtualService, attached);
    const key = `Route/${attached.metadata.scope}/${attached.metadata.name}`;
    const { Accepted } = world.verdict(key);
    expect(Accepted).toMatchObject({ reason, status: reason === 'Accepted' ? 'True' : 'False' });
    expect(Accepted?.message).toContain(words);
    expect(world.kernel.get(world.graph.verdicts, key)?.attachments).toMatchObject([
      {
        listener: attached.kind === 'Route' ? attached.spec.attachTo[0]?.listener : '',
        hosts,
        accepted: hosts.length > 0,
      },
    ]);
    const served = world.kernel.get(world.graph.ruleSets, key)?.attachments.flatMap((at) => at.hosts) ?? [];
    expect(served).toEqual(hosts);
  });

  test('and heals with no second write when the service appears', () => {
    const world = worldWith(route('r', 'shop', { hosts: ['a.example'], rules: [forward('p')] }));
    expect(world.verdict('Route/default/r')['Accepted']).toMatchObject({ reason: 'NotAttached' });
    world.apply(shop);
    expect(world.verdict('Route/default/r')['Accepted']).toMatchObject({ status: 'True' });
    expect(world.resource(typeUrls.route, 'default/shop:80')?.parts.map(({ unit }) => unit)).toContain(
      'Route/default/r',
    );
  });
});
