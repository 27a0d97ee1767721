import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Manifest, pathOf, startFairway, type TestFairway } from '../support/fairway.ts';
import { startToyProxy, type ToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// What is known to make a proxy refuse its configuration never reaches one: it is refused when it is written, or it
// harms itself alone. (What the checks let through, a real Envoy takes: see the peer tests of the schemas.)

const pem = (name: string) => readFileSync(new URL(`../support/certificates/${name}.pem`, import.meta.url), 'utf8');

let fairway: TestFairway;
let toy: ToyProxy;

beforeAll(async () => {
  fairway = await startFairway();
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool('good', {}), {
    kind: 'VirtualService',
    metadata: { name: 'shop' },
    spec: {
      listeners: [{ name: 'web', port: 80, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'good' }] } }],
    },
  });
  toy = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-1', fleet: 'edge' });
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
});

afterAll(async () => {
  toy?.close();
  await fairway?.close();
});

function pool(name: string, spec: object): Manifest {
  return { kind: 'BackendPool', metadata: { name }, spec: { members: [{ address: '10.0.0.1', port: 80 }], ...spec } };
}

function route(match: object, action: object = { respond: { status: 200 } }): Manifest {
  return {
    kind: 'Route',
    metadata: { name: 'bad' },
    spec: {
      attachTo: [{ virtualService: 'shop', listener: 'web' }],
      rules: [{ name: 'r', match: [match], action }],
    },
  };
}

function certificate(chain: string, key: string): Manifest {
  return { kind: 'Certificate', metadata: { name: 'bad' }, spec: { chain: pem(chain), key: pem(key) } };
}

function service(listener: object, name = 'bad'): Manifest {
  return {
    kind: 'VirtualService',
    metadata: { name },
    spec: { listeners: [{ name: 'web', port: 81, protocol: 'HTTP', ...listener }] },
  };
}

const check = (rest: object) => ({ healthChecks: [{ type: 'HTTP', ...rest }] });

describe('is refused when it is written, by field', () => {
  test.each<[what: string, Manifest, pointer: string]>([
    ['a key that is not that of the chain', certificate('p256', 'p384.key'), '/spec/key'],
    ['an RSA key that is too short', certificate('rsa1024', 'rsa1024.key'), '/spec/chain'],
    ['a curve that no proxy knows', certificate('secp256k1', 'secp256k1.key'), '/spec/chain'],
    ['a key that is encrypted', certificate('p256', 'p256.encrypted.key'), '/spec/key'],
    ['a chain out of order', certificate('root', 'p256.key'), '/spec/key'],
    ['a regex that ends too early', route({ path: { regex: '[invalid' } }), '/spec/rules/0/match/0/path/regex'],
    ['a regex that RE2 does not know', route({ path: { regex: '(?=ahead)' } }), '/spec/rules/0/match/0/path/regex'],
    ['a regex that is too long', route({ path: { regex: 'a'.repeat(513) } }), '/spec/rules/0/match/0/path/regex'],
    [
      'a regex that compiles to too large a program',
      route({ path: { regex: '(a{1,1000}){1,1000}' } }),
      '/spec/rules/0/match/0/path/regex',
    ],
    ['a regex of a header', route({ headers: [{ name: 'x-a', regex: '*' }] }), '/spec/rules/0/match/0/headers/0/regex'],
    [
      'a substitution without its group',
      route({}, { forward: [{ pool: 'good' }], rewrite: { regex: { pattern: '^/a', substitution: '/\\1' } } }),
      '/spec/rules/0/action/rewrite/regex/substitution',
    ],
    [
      'a path that is too long',
      route({ path: { prefix: `/${'a'.repeat(1024)}` } }),
      '/spec/rules/0/match/0/path/prefix',
    ],
    ['a path without a slash', route({ path: { prefix: 'api' } }), '/spec/rules/0/match/0/path/prefix'],
    [
      'a body of 5 KB',
      route({}, { respond: { status: 200, body: 'x'.repeat(5_000) } }),
      '/spec/rules/0/action/respond/body',
    ],
    ['a status that is none', route({}, { respond: { status: 99 } }), '/spec/rules/0/action/respond/status'],
    ['a negative duration', route({}, { forward: [{ pool: 'good' }], timeout: '-1s' }), '/spec/rules/0/action/timeout'],
    [
      'a weight that wraps',
      route({}, { forward: [{ pool: 'good', weight: 4_294_967_296 }] }),
      '/spec/rules/0/action/forward/0/weight',
    ],
    [
      'a header that frames the message',
      route({}, { respond: { status: 200 }, headers: { response: { set: { 'content-length': '1' } } } }),
      '/spec/rules/0/action/headers/response/set/content-length',
    ],
    [
      'a header value with a line break',
      route({}, { respond: { status: 200 }, headers: { response: { set: { 'x-a': 'a\r\nb: c' } } } }),
      '/spec/rules/0/action/headers/response/set/x-a',
    ],
    ['a member without an address', pool('bad', { members: [{ address: '', port: 80 }] }), '/spec/members/0/address'],
    [
      'a member that is every address',
      pool('bad', { members: [{ address: '0.0.0.0', port: 80 }] }),
      '/spec/members/0/address',
    ],
    [
      'an address that is none',
      pool('bad', { members: [{ address: '300.0.0.1', port: 80 }] }),
      '/spec/members/0/address',
    ],
    ['a port out of range', pool('bad', { members: [{ address: '10.0.0.1', port: 70_000 }] }), '/spec/members/0/port'],
    [
      'a member twice',
      pool('bad', {
        members: [
          { address: '10.0.0.1', port: 80 },
          { address: '10.0.0.1', port: 80 },
        ],
      }),
      '/spec/members/1',
    ],
    ['a limit that wraps', pool('bad', { limits: { maxRequests: 4_294_967_296 } }), '/spec/limits/maxRequests'],
    ['a limit of nothing', pool('bad', { limits: { maxConnections: 0 } }), '/spec/limits/maxConnections'],
    ['a hash where nothing hashes', pool('bad', { hash: { source: 'sourceIp' } }), '/spec/hash'],
    ['an algorithm without its hash', pool('bad', { algorithm: 'maglev' }), '/spec/hash'],
    ['numbers of a ring', pool('bad', { algorithm: 'ringHash', ringSize: 10 }), '/spec/ringSize'],
    ['two checks', pool('bad', { healthChecks: [{ type: 'TCP' }, { type: 'TCP' }] }), '/spec/healthChecks'],
    ['a check for statuses in reverse', pool('bad', check({ expect: ['299-200'] })), '/spec/healthChecks/0/expect/0'],
    ['a check that never ends', pool('bad', check({ interval: '0s' })), '/spec/healthChecks/0/interval'],
    ['a port that is none', service({ port: 0 }), '/spec/listeners/0/port'],
    ['HTTPS without a certificate', service({ protocol: 'HTTPS' }), '/spec/listeners/0/certificates'],
    ['a host twice', service({ hosts: ['a.example', 'A.example'] }), '/spec/listeners/0/hosts/1'],
    ['a host that is only a star', service({ hosts: ['*'] }), '/spec/listeners/0/hosts/0'],
  ])('%s', async (_, manifest, pointer) => {
    const { kind, metadata } = manifest;
    const { status, body } = await fairway.call('PUT', pathOf(kind, metadata.name), {
      apiVersion: 'fairway/v1',
      ...manifest,
    });
    expect([status, body.errors?.map((error: { pointer: string }) => error.pointer)]).toEqual([422, [pointer]]);
  });
});

describe('is taken, and sound', () => {
  test.each<[what: string, Manifest]>([
    ['limits without a value', pool('sound', { limits: {} })],
    ['the largest limit', pool('sound', { limits: { maxRequests: 4_294_967_295 } })],
    ['a pool without members', pool('sound', { members: [] })],
    ['a long path', { ...route({ path: { prefix: `/${'a'.repeat(200)}` } }), metadata: { name: 'sound' } }],
    ['a long regex', { ...route({ path: { regex: `/${'a'.repeat(300)}` } }), metadata: { name: 'sound' } }],
    [
      'a body of 4096 bytes',
      { ...route({}, { respond: { status: 200, body: 'x'.repeat(4_096) } }), metadata: { name: 'sound' } },
    ],
    [
      'weights that are all 0',
      { ...route({}, { forward: [{ pool: 'good', weight: 0 }] }), metadata: { name: 'sound' } },
    ],
  ])('%s', async (_, manifest) => {
    await fairway.put(manifest);
  });
});

describe('harms itself alone', () => {
  test('what names something that is missing: its rule answers by itself, the rest is served', async () => {
    await fairway.put(
      { ...route({ path: { prefix: '/lost' } }, { forward: [{ pool: 'absent' }] }), metadata: { name: 'lost' } },
      {
        ...service({ name: 'tls', port: 443, protocol: 'HTTPS', certificates: ['absent'] }, 'closed'),
      },
      service({ port: 80 }, 'late'),
    );
    for (const [kind, name, condition] of [
      ['Route', 'lost', 'ResolvedRefs'],
      ['VirtualService', 'closed', 'ResolvedRefs'],
      ['VirtualService', 'late', 'Accepted'],
    ] as const) {
      await fairway.waitFor(kind, name, condition, 'False');
    }
    await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
    await until('the proxy to be in step', async () => {
      const { body } = await fairway.call('GET', '/v1/proxies/lb-1');
      return body.state === 'Synced';
    });
    expect(fairway.logged()).not.toContain('resource_rejected');
  });
});
