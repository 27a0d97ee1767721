import { describe, expect, test } from 'vitest';
import {
  joinHostPort,
  parseServerConfig,
  type ServerConfig,
  serverDefaults,
  serverFields,
  splitHostPort,
} from '../../../src/config/index.ts';

type Input = Partial<Parameters<typeof parseServerConfig>[0]>;

const parse = (input: Input) => parseServerConfig({ env: {}, flags: {}, ...input });

function configOf(input: Input): ServerConfig {
  const parsed = parse(input);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

test('nothing said gives the defaults, which are loopback', () => {
  expect(configOf({})).toEqual(serverDefaults);
  expect(configOf({ file: null })).toEqual(serverDefaults);
  expect(configOf({ file: {} })).toEqual(serverDefaults);
});

test('a flag goes before the environment, and that before the file', () => {
  const file = { listen: '127.0.0.1:1', xdsListen: '127.0.0.1:2', data: 'file' };
  const env = { FAIRWAY_LISTEN: '127.0.0.1:3', FAIRWAY_XDS_LISTEN: '127.0.0.1:4', PATH: '/bin' };
  const flags = { listen: '127.0.0.1:5' };
  expect(configOf({ file, env, flags })).toMatchObject({
    listen: '127.0.0.1:5',
    xdsListen: '127.0.0.1:4',
    data: 'file',
  });
});

test('every field can be given in each of the three ways', () => {
  // What a field needs besides itself.
  const withTls = { tlsCert: 'c.pem', tlsKey: 'k.pem', oidcIssuer: 'https://id.example', oidcAudience: 'fairway' };
  const withCa = { xdsTls: 'own', caCert: 'ca.pem', caKey: 'ca.key' };
  const values: { readonly [F in keyof ServerConfig]: string | number } = {
    authentication: 'none',
    tlsCert: 'cert.pem',
    tlsKey: 'key.pem',
    tlsOwn: 'false',
    tlsClientCa: 'ca.pem',
    oidcIssuer: 'https://login.example/realm',
    oidcAudience: 'us',
    oidcUsernameClaim: 'email',
    oidcGroupsClaim: 'roles',
    openMetrics: 'true',
    requestsPerSecond: 5,
    watchesPerIdentity: 7,
    name: 'controller-1',
    roles: 'api,xds',
    listen: '127.0.0.1:1',
    xdsListen: '[::1]:2',
    advertise: 'controller-1.example',
    respreadAfter: '5m',
    data: 'elsewhere',
    store: 'etcd',
    dataKeyFile: 'keys',
    xdsTls: 'own',
    xdsCert: 'server.pem',
    xdsKey: 'server.key',
    xdsCa: 'nodes.pem',
    xdsCrl: 'nodes.crl',
    caCert: 'ca.pem',
    caKey: 'ca.key',
    caRoot: 'root.pem',
    certificateLife: '1h',
    etcdEndpoints: 'https://192.0.2.1:2379,https://etcd-2:2379',
    etcdPrefix: '/teams/edge',
    etcdCa: 'ca.pem',
    etcdCert: 'cert.pem',
    etcdKey: 'key.pem',
    etcdUser: 'fairway',
    etcdPasswordFile: 'password',
    insecure: 'true',
    traces: 'http://127.0.0.1:4318/v1/traces',
    auditEntries: 500,
    auditDays: 30,
    logLevel: 'debug',
  };
  expect(Object.keys(serverFields).sort()).toEqual(Object.keys(values).sort());
  for (const [field, value] of Object.entries(values) as [keyof ServerConfig, string | number][]) {
    const want = value === 'true' || value === 'false' ? value === 'true' : value;
    // Those about a cluster go with each other.
    const others = field.startsWith('etcd') || field === 'roles' ? { ...values } : { ...withTls, ...withCa };
    expect(configOf({ file: { ...others, [field]: value } })[field]).toBe(want);
    expect(configOf({ file: others, env: { [serverFields[field].env]: String(value) } })[field]).toBe(want);
    expect(configOf({ file: others, flags: { [field]: String(value) } })[field]).toBe(want);
  }
  expect(configOf({ flags: { insecure: true } }).insecure).toBe(true);
  expect(configOf({ file: { insecure: false } }).insecure).toBe(false);
});

describe('roles', () => {
  test.each([
    ['control,api', 'api,control'],
    ['xds', 'xds'],
    [['xds', 'api'], 'api,xds'],
  ])('%s', (given, want) => {
    expect(configOf({ file: { store: 'etcd', roles: given } }).roles).toBe(want);
  });

  test.each([
    ['what is no role', { store: 'etcd', roles: 'api,xdss' }, '/roles', /did you mean xds/],
    ['none', { store: 'etcd', roles: '' }, '/roles', /must be one or more/],
    ['parts of an embedded server', { roles: 'api' }, '--roles', /an embedded store has one process/],
  ])('are refused with %s', (_, file, pointer, message) => {
    const parsed = parse({ file });
    expect(parsed.ok ? [] : parsed.error).toEqual([{ pointer, message: expect.stringMatching(message) }]);
  });
});

describe('the store of a file', () => {
  test('can be said in one place', () => {
    const store = {
      kind: 'etcd',
      endpoints: ['https://etcd-1:2379', 'https://etcd-2:2379/'],
      prefix: '/edge',
      ca: 'ca.pem',
      cert: 'cert.pem',
      key: 'key.pem',
      user: 'fairway',
      passwordFile: 'password',
    };
    expect(configOf({ file: { store } })).toMatchObject({
      store: 'etcd',
      etcdEndpoints: 'https://etcd-1:2379,https://etcd-2:2379',
      etcdPrefix: '/edge',
      etcdCa: 'ca.pem',
      etcdCert: 'cert.pem',
      etcdKey: 'key.pem',
      etcdUser: 'fairway',
      etcdPasswordFile: 'password',
    });
  });

  test.each<[string, Record<string, unknown>, string, RegExp]>([
    ['an unknown field', { kind: 'etcd', endpoint: 'http://a:1' }, '/store/endpoint', /did you mean endpoints/],
    ['an unknown kind', { kind: 'etcdd' }, '/store/kind', /did you mean etcd/],
    ['no endpoint', { endpoints: [] }, '/store/endpoints', /must be URLs/],
    ['what is no URL', { endpoints: ['etcd-1:2379'] }, '/store/endpoints', /not etcd-1:2379/],
    ['a password in a URL', { endpoints: 'http://user:word@a:1' }, '/store/endpoints', /must be URLs/],
    ['both schemes', { endpoints: 'http://a:1,https://b:1' }, '/store/endpoints', /all https or all http/],
    ['a prefix with an open end', { prefix: '/fairway/' }, '/store/prefix', /without a slash at its end/],
    ['a certificate without key', { endpoints: 'https://a:1', cert: 'c' }, '--etcd-cert', /needs --etcd-key/],
    ['a key without certificate', { endpoints: 'https://a:1', key: 'k' }, '--etcd-key', /needs --etcd-cert/],
    ['a user without password', { user: 'u' }, '--etcd-user', /needs --etcd-password-file/],
    ['TLS for http', { endpoints: 'http://a:1', ca: 'c' }, '--etcd-ca', /are http/],
  ])('is refused with %s', (_, store, pointer, message) => {
    const parsed = parse({ file: { store } });
    expect(parsed.ok ? [] : parsed.error).toEqual([{ pointer, message: expect.stringMatching(message) }]);
  });
});

test('flags, variables and fields are told apart and well named', () => {
  const infos = Object.values(serverFields);
  expect(new Set(infos.map(({ flag }) => flag)).size).toBe(infos.length);
  for (const [field, { flag, env, help }] of Object.entries(serverFields)) {
    const words = field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ');
    expect(flag).toBe(`--${words.join('-')}`);
    expect(env).toBe(`FAIRWAY_${words.join('_').toUpperCase()}`);
    expect(help).not.toBe('');
  }
});

describe('faults', () => {
  test.each<[string, Input, pointer: string, words: string]>([
    ['a file that is a list', { file: [] }, '', 'mapping'],
    ['a file that is text', { file: 'listen' }, '', 'mapping'],
    ['an unknown field', { file: { xyz: 1 } }, '/xyz', 'there are name'],
    ['a near miss', { file: { xdslisten: 'x' } }, '/xdslisten', 'did you mean xdsListen?'],
    ['a field named like what every object has', { file: { constructor: 'x' } }, '/constructor', 'unknown field'],
    ['another of those', { file: JSON.parse('{"__proto__": "x"}') }, '/__proto__', 'unknown field'],
    ['a number as address', { file: { listen: 7600 } }, '/listen', 'host:port'],
    ['no port', { flags: { listen: '127.0.0.1' } }, '--listen', 'host:port'],
    ['a port too high', { flags: { listen: '127.0.0.1:65536' } }, '--listen', 'host:port'],
    ['IPv6 without brackets', { flags: { xdsListen: '::1:7601' } }, '--xds-listen', '[::1]:7600'],
    [
      'a name as host',
      { env: { FAIRWAY_LISTEN: 'controller:7600' } },
      'FAIRWAY_LISTEN',
      'controller is not an IP address',
    ],
    ['an address that is none', { file: { listen: '300.0.0.1:1' } }, '/listen', '300.0.0.1 is not an IP address'],
    ['an empty path', { flags: { data: '' } }, '--data', 'path'],
    ['another store', { flags: { store: 'sqlit' } }, '--store', 'did you mean sqlite?'],
    ['a store that is no text', { file: { store: 1 } }, '/store', 'one of sqlite, memory'],
    ['neither true nor false', { env: { FAIRWAY_INSECURE: 'yes' } }, 'FAIRWAY_INSECURE', 'true or false'],
    ['a CA without its key', { file: { xdsTls: 'own', caCert: 'c.pem' } }, '--ca-key', 'is needed with --ca-cert'],
    ['a root without a CA', { file: { xdsTls: 'own', caRoot: 'r.pem' } }, '--ca-cert', 'is needed with --ca-root'],
    ['a CA that signs for nobody', { file: { caCert: 'c.pem', caKey: 'k.pem' } }, '--ca-cert', 'needs --xds-tls own'],
    ['a certificate without its key', { file: { tlsCert: 'c.pem' } }, '--tls-key', 'is needed with --tls-cert'],
    ['a certificate of its own without an authority', { file: { tlsOwn: true } }, '--tls-own', 'needs --xds-tls own'],
    [
      'two certificates',
      { file: { tlsOwn: true, xdsTls: 'own', tlsCert: 'c.pem', tlsKey: 'k.pem' } },
      '--tls-own',
      'does not go with --tls-cert',
    ],
    ['CAs of clients without TLS', { file: { tlsClientCa: 'c.pem' } }, '--tls-cert', 'with --tls-client-ca'],
    ['an issuer without audience', { file: { oidcIssuer: 'https://x' } }, '--oidc-audience', 'with --oidc-issuer'],
    ['an issuer in plain text', { file: { oidcIssuer: 'http://id.example' } }, '/oidcIssuer', 'https://'],
    ['an issuer with a query', { file: { oidcIssuer: 'https://id.example/?a=b' } }, '/oidcIssuer', 'nothing else'],
    ['an issuer that is no URL', { flags: { oidcIssuer: 'id.example' } }, '--oidc-issuer', 'must be a URL'],
    ['no requests at all', { flags: { requestsPerSecond: '0' } }, '--requests-per-second', 'from 1 to'],
    ['another way in', { flags: { authentication: 'non' } }, '--authentication', 'did you mean none?'],
    ['another level', { flags: { logLevel: 'warm' } }, '--log-level', 'did you mean warn?'],
  ])('%s', (_, input, pointer, words) => {
    const parsed = parse(input);
    expect(parsed).toMatchObject({ ok: false, error: [{ pointer }] });
    if (!parsed.ok) expect(parsed.error[0]?.message).toContain(words);
  });

  test('are all told at once, each where it was said', () => {
    const parsed = parse({ file: { listen: 1, colour: 'red' }, env: { FAIRWAY_STORE: 'x' }, flags: { logLevel: 'x' } });
    expect(parsed.ok ? [] : parsed.error.map(({ pointer }) => pointer)).toEqual([
      '/listen',
      '/colour',
      'FAIRWAY_STORE',
      '--log-level',
    ]);
  });
});

describe('listening beyond loopback', () => {
  test.each(['127.0.0.1:0', '127.1.2.3:1', 'localhost:1', '[::1]:1', '[0:0:0:0:0:0:0:1]:1'])(
    '%s is loopback',
    (listen) => {
      expect(configOf({ flags: { listen, xdsListen: listen } }).listen).toBe(listen);
    },
  );

  test.each(['0.0.0.0:1', '[::]:1', '192.0.2.1:1', '[::ffff:127.0.0.1]:1', '128.0.0.1:1'])('%s is not', (listen) => {
    const parsed = parse({ flags: { listen } });
    expect(parsed).toMatchObject({ ok: false, error: [{ pointer: '--listen' }] });
    expect(parse({ flags: { xdsListen: listen } })).toMatchObject({ ok: false, error: [{ pointer: '--xds-listen' }] });
    expect(configOf({ flags: { listen, insecure: true } }).listen).toBe(listen);
    const tls = { tlsCert: 'c.pem', tlsKey: 'k.pem' };
    expect(configOf({ flags: { listen, ...tls } }).listen).toBe(listen);
    const own = { xdsTls: 'own', tlsOwn: true };
    expect(configOf({ flags: { listen, xdsListen: listen, ...own } }).listen).toBe(listen);
    expect(parse({ flags: { listen, ...tls, authentication: 'none' } })).toMatchObject({
      ok: false,
      error: [{ pointer: '--listen' }],
    });
  });
});

test.each<[string, { host: string; port: number } | undefined]>([
  ['127.0.0.1:7600', { host: '127.0.0.1', port: 7600 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['localhost:65535', { host: 'localhost', port: 65535 }],
  ['localhost:65536', undefined],
  ['::1', undefined],
  ['[::1]', undefined],
  ['[]:1', undefined],
  [':1', undefined],
  ['a:b', undefined],
  ['a:-1', undefined],
  ['a:1.5', undefined],
  ['', undefined],
])('%s is split, and joined again', (text, parts) => {
  expect(splitHostPort(text)).toEqual(parts);
  if (parts !== undefined) expect(joinHostPort(parts.host, parts.port)).toBe(text);
});
