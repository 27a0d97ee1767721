import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  certificate,
  createTestApi,
  keyFragments,
  type Method,
  pem,
  pool,
  service,
  type TestApi,
  urlOf,
} from '../support/api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi();
});
afterEach(async () => {
  await api.close();
});

const yaml = { 'content-type': 'application/yaml' };
const head = 'apiVersion: fairway/v1\nkind: BackendPool\nmetadata: {name: web}\nspec:\n';
const listener = (fields: object) => ({
  ...service('shop', 'web'),
  spec: {
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] }, ...fields }],
  },
});
const rules = (...list: object[]) => listener({ routes: [{ rules: list }] });
const forward = { forward: [{ pool: 'web' }] };
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...Array.from('bcdefghi', (name, i) => {
    const before = 'abcdefgh'[i];
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`;
  }),
].join('\n');

/** What is sent, and what the answer must name: a pointer, or words of the message (the limit, or line and byte). */
type Case = readonly [name: string, body: unknown, status: number, names: { pointer?: string; words?: string }];

const pools: readonly Case[] = [
  ['a list instead of an object', [], 422, { pointer: '' }],
  ['a text instead of an object', '"pool"', 422, { pointer: '' }],
  [
    'a text instead of a number',
    pool('web', { members: [{ address: '10.0.0.1', port: '80' }] }),
    422,
    { pointer: '/spec/members/0/port' },
  ],
  ['a number instead of a text', pool('web', { algorithm: 3 }), 422, { pointer: '/spec/algorithm' }],
  ['an object instead of a list', pool('web', { members: {} }), 422, { pointer: '/spec/members' }],
  ['null', pool('web', { members: null }), 422, { pointer: '/spec/members' }],
  ['an unknown field', pool('web', { memebers: [] }), 422, { pointer: '/spec/memebers', words: 'members' }],
  [
    'an unknown field of metadata',
    { ...pool('web'), metadata: { name: 'web', lables: {} } },
    422,
    { pointer: '/metadata/lables' },
  ],
  ['an unknown field at the top', { ...pool('web'), sepc: {} }, 422, { pointer: '/sepc' }],
  ['an unknown kind', { ...pool('web'), kind: 'BackendPol' }, 422, { pointer: '/kind', words: 'BackendPool' }],
  ['another version', { ...pool('web'), apiVersion: 'fairway/v2' }, 422, { pointer: '/apiVersion' }],
  ['a bad duration', pool('web', { connectTimeout: '5 seconds' }), 422, { pointer: '/spec/connectTimeout' }],
  ['a duration without a unit', pool('web', { connectTimeout: '5' }), 422, { pointer: '/spec/connectTimeout' }],
  ['a duration out of range', pool('web', { connectTimeout: '10h' }), 422, { pointer: '/spec/connectTimeout' }],
  ['port 0', pool('web', { members: [{ address: '10.0.0.1', port: 0 }] }), 422, { pointer: '/spec/members/0/port' }],
  [
    'port 65536',
    pool('web', { members: [{ address: '10.0.0.1', port: 65_536 }] }),
    422,
    { pointer: '/spec/members/0/port' },
  ],
  [
    'port 80.5',
    pool('web', { members: [{ address: '10.0.0.1', port: 80.5 }] }),
    422,
    { pointer: '/spec/members/0/port' },
  ],
  [
    'a bad address',
    pool('web', { members: [{ address: '10.0.0.256', port: 80 }] }),
    422,
    { pointer: '/spec/members/0/address' },
  ],
  [
    'a member twice',
    pool('web', {
      members: [
        { address: '10.0.0.1', port: 80 },
        { address: '10.0.0.1', port: 80 },
      ],
    }),
    422,
    { pointer: '/spec/members/1' },
  ],
  [
    'a reversed range',
    pool('web', { healthChecks: [{ type: 'HTTP', expect: ['299-200'] }] }),
    422,
    { pointer: '/spec/healthChecks/0/expect/0' },
  ],
  [
    'a check longer than its interval',
    pool('web', { healthChecks: [{ type: 'TCP', interval: '1s', path: '/' }] }),
    422,
    { pointer: '/spec/healthChecks/0/path' },
  ],
  ['fields that need another', pool('web', { algorithm: 'maglev' }), 422, { pointer: '/spec/hash' }],
  [
    'a bad label',
    { ...pool('web'), metadata: { name: 'web', labels: { 'a b': 'x' } } },
    422,
    { pointer: '/metadata/labels/a b' },
  ],
  [
    'a field __proto__',
    `{"apiVersion":"fairway/v1","kind":"BackendPool","metadata":{"name":"web"},"spec":{"__proto__":{}}}`,
    422,
    { pointer: '/spec/__proto__' },
  ],
  [
    'a huge number of members',
    pool('web', {
      members: Array.from({ length: 3000 }, (_, i) => ({ address: `10.0.${i >> 8}.${i & 255}`, port: 80 })),
    }),
    422,
    { pointer: '/spec/members' },
  ],
  [
    'an object over 256 KiB',
    pool(
      'web',
      {},
      { annotations: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, 'x'.repeat(16_000)])) },
    ),
    413,
    { words: 'objectBytes' },
  ],
  [
    'a body over 512 KiB',
    `${JSON.stringify(pool('web'))}${' '.repeat(600 * 1024)}`,
    413,
    { words: 'bodyBytes of 524288 bytes' },
  ],
  ['an empty body', '', 400, { words: 'empty' }],
  ['JSON that ends early', '{"kind": "BackendPool",\n "metadata": {', 400, { words: 'line 2, column 15' }],
  ['JSON with a key twice', '{"kind": "BackendPool", "kind": "Route"}', 400, { words: 'line 1, column 25' }],
  ['JSON nested too deep', nested(100_000), 400, { words: '64 levels' }],
  ['JSON with more after its end', '{} {}', 400, { words: 'line 1, column 4' }],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from('{"kind":\n"'), Buffer.from([0xff]), Buffer.from('"}')]),
    400,
    { words: 'byte 10 (line 2)' },
  ],
  ['UTF-8 cut off', Buffer.from('{"kind": "\u{1f600}"}').subarray(0, 12), 400, { words: 'byte 10 (line 1)' }],
  [
    'half a surrogate pair',
    '{"apiVersion":"fairway/v1","kind":"BackendPool","metadata":{"name":"web","annotations":{"a":"\\ud800"}},"spec":{}}',
    422,
    { pointer: '/metadata/annotations/a' },
  ],
];

const yamlPools: readonly Case[] = [
  ['YAML with wrong indentation', `${head}  members:\n - {address: 10.0.0.1, port: 80}\n`, 400, { words: 'line 6' }],
  ['YAML with a key twice', `${head}  algorithm: random\n  algorithm: maglev\n`, 400, { words: 'line 6' }],
  ['YAML with an unknown tag', `${head}  algorithm: !!js/function "x"\n`, 400, { words: 'line 5' }],
  ['a YAML bomb', bomb, 400, { words: 'alias' }],
  ['YAML nested too deep', nested(10_000), 400, { words: '64 levels' }],
  ['two documents for one object', `${head}---\n${head}`, 400, { words: 'one object' }],
  ['only comments', '# nothing\n', 400, { words: 'none' }],
  [
    'a truth of old YAML',
    `${head}  members:\n  - {address: 10.0.0.1, port: 80, enabled: yes}\n`,
    422,
    { pointer: '/spec/members/0/enabled' },
  ],
];

const services: readonly Case[] = [
  ['no listener', { ...service('shop', 'web'), spec: { listeners: [] } }, 422, { pointer: '/spec/listeners' }],
  [
    'a listener name twice',
    {
      ...service('shop', 'web'),
      spec: {
        listeners: [
          { name: 'web', port: 80, protocol: 'HTTP' },
          { name: 'web', port: 81, protocol: 'HTTP' },
        ],
      },
    },
    422,
    { pointer: '/spec/listeners/1/name' },
  ],
  [
    'a rule name twice',
    rules({ name: 'a', action: forward }, { name: 'a', action: forward }),
    422,
    { pointer: '/spec/listeners/0/routes/0/rules/1/name' },
  ],
  [
    'a rule with two actions',
    rules({ name: 'a', action: { ...forward, respond: { status: 200 } } }),
    422,
    { pointer: '/spec/listeners/0/routes/0/rules/0/action' },
  ],
  [
    'an expression that is none',
    rules({ name: 'a', match: [{ path: { regex: '(' } }], action: forward }),
    422,
    { pointer: '/spec/listeners/0/routes/0/rules/0/match/0/path/regex' },
  ],
  [
    'HTTPS without a certificate',
    listener({ protocol: 'HTTPS', port: 443 }),
    422,
    { pointer: '/spec/listeners/0/certificates' },
  ],
  ['a bad host', listener({ hosts: ['*.*.example'] }), 422, { pointer: '/spec/listeners/0/hosts/0' }],
];

describe('every malformed manifest gets a problem that names the field, the limit or the place', () => {
  async function refused(url: string, [, body, status, names]: Case, headers = {}): Promise<void> {
    const before = await api.store.head();
    const answer = await api.call('PUT', url, body, headers);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.body).toMatchObject({
      type: expect.any(String),
      title: expect.any(String),
      status,
      code: expect.any(String),
      requestId: answer.headers['x-request-id'],
    });
    if (names.pointer !== undefined) {
      expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toContain(names.pointer);
    }
    if (names.words !== undefined) expect(answer.text).toContain(names.words);
    expect(answer.text).not.toMatch(/node_modules|\.ts:|at file|\bstack\b/);
    expect(await api.store.head()).toBe(before);
    expect((await api.call('GET', '/healthz')).status).toBe(200);
  }

  it.each(pools)('%s', async (...given) => refused('/v1/scopes/default/backend-pools/web', given));
  it.each(yamlPools)('%s', async (...given) => refused('/v1/scopes/default/backend-pools/web', given, yaml));
  it.each(services)('%s', async (...given) => refused('/v1/scopes/default/virtual-services/shop', given));

  it.each([...pools, ...yamlPools, ...services].filter(([, , status]) => status === 422))(
    '%s, in an apply',
    async (_name, body, _status, names) => {
      const before = await api.store.head();
      const isText = typeof body === 'string' && !body.startsWith('{') && !body.startsWith('"');
      const value = typeof body === 'string' && !isText ? JSON.parse(body) : body;
      const answer = isText
        ? await api.call('POST', '/v1/apply', `${JSON.stringify(pool('good'))}\n---\n${body}`, yaml)
        : await api.call('POST', '/v1/apply', { objects: [pool('good'), Array.isArray(value) ? 3 : value] });
      expect(answer.status, answer.text).toBe(422);
      if (names.pointer !== undefined) {
        const pointers = answer.body.errors.map(({ pointer }: { pointer: string }) => pointer);
        expect(pointers).toContain(`${isText ? '' : '/objects'}/1${names.pointer}`);
      }
      expect(await api.store.head()).toBe(before);
    },
  );
});

describe('certificates', () => {
  const url = urlOf(certificate('tls'));
  const shown = (answer: Answer) => expect(answer.text).toContain('BEGIN CERTIFICATE');

  it('never show the key: not in answers, lists, watches, dry runs, conflicts, problems, history or logs', async () => {
    const answers = [
      await api.call('PUT', url, certificate('tls')),
      await api.call('GET', url),
      await api.call('GET', '/v1/certificates'),
      await api.call('PUT', `${url}?dryRun=true`, { ...certificate('tls', 'rsa2048') }),
      await api.call('PATCH', `${url}?dryRun=true`, { spec: { allowedScopes: ['system'] } }),
      await api.call('PATCH', url, { spec: { allowedScopes: ['system'] } }),
      await api.call('PUT', url, certificate('tls'), { 'if-match': '"1"' }),
      await api.call('PUT', url, certificate('tls'), { 'if-none-match': '*' }),
      await api.call('POST', '/v1/apply', [certificate('tls', 'rsa2048')]),
      await api.call('POST', '/v1/apply?dryRun=true', [certificate('tls', 'p384')]),
      await api.call('DELETE', `${url}?dryRun=true`),
    ];
    for (const answer of answers) shown(answer);
    const stream = (await api.app.inject({ url: '/v1/certificates?watch=true', payloadAsStream: true })).stream();
    const first = await new Promise<string>((resolve) => stream.once('data', (chunk) => resolve(String(chunk))));
    stream.destroy();
    expect(first).toContain('BEGIN CERTIFICATE');
    // Refusals, some of which are about the key itself.
    const { chain, key } = certificate('tls').spec as { chain: string; key: string };
    const faulty: [unknown, Record<string, string>?][] = [
      [{ ...certificate('tls'), spec: { chain, key, kye: key } }],
      [{ ...certificate('tls'), spec: { chain: pem('p384'), key } }],
      [{ ...certificate('tls'), spec: { chain: key, key: chain } }],
      [{ ...certificate('tls'), spec: { chain, key: [key] } }],
      [{ ...certificate('tls'), spec: { chain, key: key.replaceAll('\n', ' ') } }],
      [{ ...certificate('tls'), spec: { chain, key: `${key}${key}` } }],
      [{ ...certificate('tls'), spec: { ca: key } }],
      [{ ...certificate('tls'), spec: { [key]: chain } }],
      [{ ...certificate('tls'), metadata: { name: key } }],
      [{ ...certificate('tls'), metadata: { name: 'tls', labels: { a: key } } }],
      [JSON.stringify(certificate('tls')).replace('"key":', '"key"')],
      [`{"spec": {"key": ${key}`],
      [`kind: Certificate\nspec:\n  key: |\n${key}\n`, yaml],
      [`kind: Certificate\nspec:\n  key: ${key}\n`, yaml],
      [`kind: Certificate\n${key}\n`, yaml],
      [`kind: Certificate\nspec: {key: *${key.split('\n')[1]}}\n`, yaml],
      [`kind: Certificate\nspec: {key: "${key}\n`, yaml],
      [`kind: Certificate\nspec: {key: !${key.split('\n')[1]} x}\n`, yaml],
    ];
    for (const [body, headers] of faulty) {
      for (const [method, path] of [
        ['PUT', url],
        ['POST', '/v1/apply'],
      ] as const) {
        const answer = await api.call(method, path, body, headers);
        expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
        expect(answer.status, answer.text).toBeLessThan(500);
      }
    }
    await api.call('GET', `/v1/certificates?fieldSelector=${encodeURIComponent(`spec.key=${key}`)}`);
    const output = api.everything() + first;
    expect(output).toContain('"event":"request_answered"');
    const leaks = keyFragments('p256', 'p384', 'rsa2048').filter((fragment) => output.includes(fragment));
    expect(leaks).toEqual([]);
  });

  it('keep the key where a write leaves it out and it fits the chain', async () => {
    await api.put(certificate('tls'));
    const { chain, key } = certificate('tls').spec as { chain: string; key: string };
    const same = await api.call('PUT', url, { ...certificate('tls'), spec: { chain } });
    expect(same.body.metadata).toMatchObject({ generation: 1, revision: '3' });
    const changed = await api.call('PUT', url, { ...certificate('tls'), spec: { chain, allowedScopes: ['*'] } });
    expect(changed.body).toMatchObject({ metadata: { generation: 2 }, spec: { chain, allowedScopes: ['*'] } });
    const entry = await api.store.get('spec/Certificate/default/tls');
    expect(JSON.parse(entry?.value ?? '').spec.key).toBe(key);
    const other = await api.call('PUT', url, { ...certificate('tls'), spec: { chain: pem('p384') } });
    expect(other.body).toMatchObject({ status: 422, errors: [{ pointer: '/spec/key' }] });
  });

  it.each([
    ['without a key', { chain: pem('p256') }, '/spec/key'],
    ['with another key', { chain: pem('p256'), key: pem('p384.key') }, '/spec/key'],
    ['with an encrypted key', { chain: pem('p256'), key: pem('p256.encrypted.key') }, '/spec/key'],
    ['in the wrong order', { chain: pem('intermediate') + pem('p256'), key: pem('p256.key') }, '/spec/chain'],
    ['that is too weak', { chain: pem('rsa1024'), key: pem('rsa1024.key') }, '/spec/chain'],
    ['with a CA that is none', { ca: pem('p256') }, '/spec/ca'],
    ['that is no PEM', { chain: 'chain', key: 'key' }, '/spec/chain'],
  ])('%s are refused', async (_what, spec, pointer) => {
    const answer = await api.call('PUT', url, { ...certificate('tls'), spec });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  });
});

describe('requests', () => {
  it.each<[Method, string, unknown, Record<string, string>, number, string]>([
    ['GET', '/v1/nothing', undefined, {}, 404, 'NotFound'],
    ['GET', '/v1/scopes/default/backend-pools', undefined, {}, 404, 'NotFound'],
    ['GET', '/%zz', undefined, {}, 400, 'InvalidParameter'],
    ['POST', '/v1/backend-pools', '{}', {}, 405, 'MethodNotAllowed'],
    ['DELETE', '/v1/apply', undefined, {}, 405, 'MethodNotAllowed'],
    ['PUT', '/healthz', '{}', {}, 405, 'MethodNotAllowed'],
    ['TRACE', '/healthz', undefined, {}, 405, 'MethodNotAllowed'],
    ['QUERY', '/healthz', undefined, {}, 405, 'MethodNotAllowed'],
    ['QUERY', '/v1/nothing', undefined, {}, 415, 'UnsupportedMediaType'],
    [
      'PUT',
      '/v1/scopes/default/backend-pools/web',
      'a=b',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'UnsupportedMediaType',
    ],
    [
      'PUT',
      '/v1/scopes/default/backend-pools/web',
      '{}',
      { 'content-type': 'application/json; charset=latin1' },
      415,
      'UnsupportedMediaType',
    ],
    [
      'PATCH',
      '/v1/scopes/default/backend-pools/web',
      '{}',
      { 'content-type': 'application/json-patch+json' },
      415,
      'UnsupportedMediaType',
    ],
    [
      'PATCH',
      '/v1/scopes/default/backend-pools/web',
      '{}',
      { 'content-type': 'application/yaml' },
      415,
      'UnsupportedMediaType',
    ],
    ['PUT', '/v1/scopes/default/backend-pools/web', undefined, {}, 400, 'MalformedBody'],
  ])('%s %s gets its code', async (method, url, body, headers, status, code) => {
    const answer = await api.call(method, url, body, headers);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.body.code).toBe(code);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    if (status === 405) expect(answer.headers['allow']).toMatch(/GET|POST/);
  });

  it('carry an id that is given or made, into answer and problem', async () => {
    const given = await api.call('GET', '/v1/routes', undefined, { 'x-request-id': 'abc-1:2.3_4' });
    expect(given.headers['x-request-id']).toBe('abc-1:2.3_4');
    for (const bad of ['', 'a b', '<x>', 'x'.repeat(200), '-x']) {
      const made = await api.call('GET', '/v1/nothing', undefined, { 'x-request-id': bad });
      expect(made.headers['x-request-id']).toMatch(/^id-/);
      expect(made.body.requestId).toBe(made.headers['x-request-id']);
    }
  });

  it('that are no HTTP get a problem too', async () => {
    const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
    const ask = async (text: string) => {
      const socket = connect(Number(address.port), '127.0.0.1');
      socket.end(text);
      let answer = '';
      for await (const chunk of socket) answer += chunk;
      return answer;
    };
    const nonsense = await ask('nonsense\r\n\r\n');
    expect(nonsense).toMatch(/^HTTP\/1.1 400 /);
    expect(nonsense).toContain('application/problem+json');
    expect(nonsense).toContain('"code":"MalformedBody"');
    expect(await ask(`GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 413 .*"code":"TooLarge"/s,
    );
  });
});
