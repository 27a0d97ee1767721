import { describe, expect, test } from 'vitest';
import type { DraftObject } from '../../../src/model/index.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import {
  authority,
  certificate,
  fleet,
  forward,
  http,
  https,
  pool,
  route,
  service,
  tcp,
} from '../../support/drafts.ts';
import { createWorld, type World } from '../../support/world.ts';

const members = [{ address: '10.0.0.1', port: 80 }];

function worldWith(...objects: readonly DraftObject[]): World {
  const world = createWorld();
  world.apply(fleet('edge'));
  for (const object of objects) world.apply(object);
  return world;
}

/** Names of what proxies get of a type. */
function namesOf(world: World, type: string): string[] {
  return world
    .resources()
    .filter((resource) => resource.type === type && resource.name !== 'fairway:unavailable')
    .map(({ name }) => name)
    .sort();
}

const listening = service('shop', { listeners: [http({ defaultAction: { forward: [{ pool: 'red/p' }] } })] });

describe('a reference', () => {
  test.each<[string, DraftObject[], key: string, reason: string, words: string]>([
    [
      'to nothing',
      [listening],
      'VirtualService/default/shop',
      'ReferenceMissing',
      'listener web names BackendPool red/p, which does not exist',
    ],
    [
      'to a pool of another scope',
      [listening, pool('red/p')],
      'VirtualService/default/shop',
      'ReferenceNotAllowed',
      'does not allow scope default',
    ],
    [
      'that is allowed by name',
      [listening, pool('red/p', { members, allowedScopes: ['default'] })],
      'VirtualService/default/shop',
      'ResolvedRefs',
      '',
    ],
    [
      'that is allowed to all',
      [listening, pool('red/p', { members, allowedScopes: ['*'] })],
      'VirtualService/default/shop',
      'ResolvedRefs',
      '',
    ],
    [
      'that is allowed to others',
      [listening, pool('red/p', { members, allowedScopes: ['blue'] })],
      'VirtualService/default/shop',
      'ReferenceNotAllowed',
      'BackendPool red/p',
    ],
    [
      'of a rule',
      [service('shop'), route('r', 'shop', { pools: ['p', 'q'] }), pool('q')],
      'Route/default/r',
      'ReferenceMissing',
      'rule forward names BackendPool default/p',
    ],
    [
      'of an inline rule',
      [service('shop', { listeners: [http({ routes: [{ rules: [forward('p')] }] })] })],
      'VirtualService/default/shop',
      'ReferenceMissing',
      'rule forward of listener web',
    ],
    [
      'of a TCP listener',
      [service('shop', { listeners: [tcp('p')] })],
      'VirtualService/default/shop',
      'ReferenceMissing',
      'listener raw names BackendPool default/p',
    ],
    [
      'to a certificate',
      [service('shop', { listeners: [https(['c'])] })],
      'VirtualService/default/shop',
      'ReferenceMissing',
      'Certificate default/c',
    ],
    [
      'to a CA where a pair is needed',
      [service('shop', { listeners: [https(['c'])] }), authority('c')],
      'VirtualService/default/shop',
      'ReferenceNotUsable',
      'chain and key',
    ],
    [
      'to a pair where a CA is needed',
      [pool('p', { members, tls: { ca: 'c' } }), certificate('c')],
      'BackendPool/default/p',
      'ReferenceNotUsable',
      'a certificate with ca',
    ],
    [
      'of a client certificate',
      [pool('p', { members, tls: { ca: 'c', certificate: 'd' } }), authority('c')],
      'BackendPool/default/p',
      'ReferenceMissing',
      'tls.certificate names Certificate default/d',
    ],
    [
      'of a disabled service',
      [service('shop', { enabled: false, listeners: [tcp('p')] })],
      'VirtualService/default/shop',
      'ReferenceMissing',
      'BackendPool default/p',
    ],
  ])('%s', (_, objects, key, reason, words) => {
    const { ResolvedRefs } = worldWith(...objects).verdict(key);
    expect(ResolvedRefs).toMatchObject({ reason, status: reason === 'ResolvedRefs' ? 'True' : 'False' });
    expect(ResolvedRefs?.message).toContain(words);
  });

  test('that is missing heals when its target appears, in any order of creation', () => {
    const objects = [
      service('shop', { listeners: [https(['c'], { defaultAction: { forward: [{ pool: 'p' }] } })] }),
      certificate('c'),
      pool('p', { members, tls: { ca: 'authority' } }),
      authority('authority'),
      fleet('edge'),
    ];
    const wanted = [typeUrls.cluster, typeUrls.endpoint, typeUrls.secret, typeUrls.listener, typeUrls.route];
    for (let turn = 0; turn < objects.length; turn += 1) {
      const world = createWorld();
      for (const object of [...objects.slice(turn), ...objects.slice(0, turn)]) world.apply(object);
      expect(wanted.map((type) => namesOf(world, type))).toEqual([
        ['default/p'],
        ['default/p'],
        ['default/authority', 'default/c'],
        ['default/shop/any:443'],
        ['default/shop/web'],
      ]);
      for (const key of ['VirtualService/default/shop', 'BackendPool/default/p']) {
        expect(world.verdict(key)).toMatchObject({ Accepted: { status: 'True' }, ResolvedRefs: { status: 'True' } });
      }
    }
  });

  test('tells at most eight problems and counts the rest', () => {
    const rules = Array.from({ length: 20 }, (_, n) => ({ ...forward(`p${n}`), name: `r${n}` }));
    const { ResolvedRefs } = worldWith(service('shop'), route('r', 'shop', { rules })).verdict('Route/default/r');
    expect(ResolvedRefs?.message.match(/does not exist/g)).toHaveLength(8);
    expect(ResolvedRefs?.message).toMatch(/; and 12 more$/);
  });
});

describe('proxies get what is used by something served, and nothing else', () => {
  const tls = { ca: 'authority', certificate: 'client' };
  const theirs = [authority('red/authority'), certificate('red/client')];

  test('not the pool of another tenant that does not allow it, nor its certificates', () => {
    const world = worldWith(listening, pool('red/p', { members, tls }), ...theirs);
    expect(namesOf(world, typeUrls.cluster)).toEqual([]);
    expect(namesOf(world, typeUrls.secret)).toEqual([]);
    world.apply(pool('red/p', { members, tls, allowedScopes: ['default'] }));
    expect(namesOf(world, typeUrls.cluster)).toEqual(['red/p']);
    expect(namesOf(world, typeUrls.secret)).toEqual(['red/authority', 'red/client']);
  });

  test('not the certificate of another tenant that does not allow it', () => {
    const world = worldWith(
      service('shop', { listeners: [https(['red/c', 'own'])] }),
      certificate('red/c'),
      certificate('own'),
    );
    expect(namesOf(world, typeUrls.secret)).toEqual(['default/own']);
  });

  test.each<[string, DraftObject[]]>([
    ['nobody', []],
    ['a disabled service', [service('shop', { enabled: false, listeners: [tcp('p')] })]],
    ['a service whose fleet is missing', [service('shop', { fleet: 'absent', listeners: [tcp('p')] })]],
    [
      'a service whose port is another’s',
      [service('older', { listeners: [http({ port: 25 })] }), service('shop', { listeners: [tcp('p')] })],
    ],
    ['a Route that is attached nowhere', [route('r', 'absent', { pools: ['p'] })]],
    ['a Route that may not attach', [service('red/shop'), route('r', 'red/shop', { pools: ['p'] })]],
    ['a Route of a disabled service', [service('shop', { enabled: false }), route('r', 'shop', { pools: ['p'] })]],
    [
      'rules for hosts that the listener does not serve',
      [
        service('shop', {
          listeners: [http({ hosts: ['a.example'], routes: [{ hosts: ['b.example'], rules: [forward('p')] }] })],
        }),
      ],
    ],
    [
      'an HTTPS listener without a certificate',
      [service('shop', { listeners: [https(['absent'], { defaultAction: { forward: [{ pool: 'p' }] } })] })],
    ],
  ])('not a pool that is used by %s', (_, objects) => {
    const world = worldWith(pool('p', { members, tls: { ca: 'authority' } }), authority('authority'), ...objects);
    expect(namesOf(world, typeUrls.cluster)).toEqual([]);
    expect(namesOf(world, typeUrls.secret)).toEqual([]);
  });

  test('a broken pool asks for none of its certificates', () => {
    const broken = pool('p', { members, tls: { ca: 'authority', certificate: 'absent' } });
    const world = worldWith(service('shop', { listeners: [tcp('p')] }), broken, authority('authority'));
    expect(namesOf(world, typeUrls.cluster)).toEqual(['default/p']);
    expect(namesOf(world, typeUrls.secret)).toEqual([]);
  });
});

describe('audiences', () => {
  test('a pool of two fleets, and the certificates behind it, go to the proxies of both', () => {
    const tlsPool = pool('p', { members, tls: { ca: 'authority' } });
    const world = worldWith(fleet('core'), tlsPool, authority('authority'));
    world.apply(service('a', { fleet: 'edge', listeners: [tcp('p')] }));
    const before = world.resource(typeUrls.cluster, 'default/p');
    expect(before?.audience).toBe('fleet/edge');
    world.apply(service('b', { fleet: 'core', listeners: [tcp('p')] }));
    const after = world.resource(typeUrls.cluster, 'default/p');
    expect(after?.audience).toBe('fleet/core,edge');
    expect(after?.hash).toBe(before?.hash);
    expect(world.resource(typeUrls.secret, 'default/authority')?.audience).toBe('fleet/core,edge');
    for (const name of ['edge', 'core']) {
      const row = world.kernel.get(world.graph.fleetAudiences, name);
      expect(row?.audiences).toEqual(['fleet/core,edge', `fleet/${name}`, 'fleets/*'].sort());
    }
    world.remove('VirtualService/default/a');
    expect(world.resource(typeUrls.cluster, 'default/p')?.audience).toBe('fleet/core');
    expect(world.kernel.get(world.graph.fleetAudiences, 'edge')?.audiences).toEqual(['fleet/edge', 'fleets/*']);
  });

  test('a Route brings its pools to the fleets of all services that it is attached to', () => {
    const world = worldWith(
      fleet('core'),
      pool('p'),
      service('a', { fleet: 'edge' }),
      service('b', { fleet: 'core' }),
      route('r', ['a', 'b'], { pools: ['p'] }),
    );
    expect(world.resource(typeUrls.cluster, 'default/p')?.audience).toBe('fleet/core,edge');
  });
});
