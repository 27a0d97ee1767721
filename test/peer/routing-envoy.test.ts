/** What requests meet in a real Envoy: the rules mean there what the model says. */

import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend, startEcho } from '../support/backend.ts';
import { freePort } from '../support/ports.ts';
import { type ProxiedWorld, startProxiedWorld } from '../support/proxied-world.ts';
import { createWorld, objectsOf } from '../support/world.ts';

const pem = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../support/certificates/${name}.pem`, import.meta.url)), 'utf8').trim();
const indented = (text: string) => text.replaceAll('\n', '\n    ');

let proxied: ProxiedWorld;
let backend: Backend;
let echo: Awaited<ReturnType<typeof startEcho>>;
let ports: { http: number; https: number; tcp: number; dead: number };

const manifest = () => `
apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
---
apiVersion: fairway/v1
kind: Certificate
metadata: { name: tls }
spec:
  chain: |
    ${indented(`${pem('p256')}\n${pem('intermediate')}`)}
  key: |
    ${indented(pem('p256.key'))}
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec: { members: [{ address: 127.0.0.1, port: ${backend.port} }] }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: named }
spec: { members: [{ address: localhost, port: ${backend.port} }] }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: unverifiable }
spec: { members: [{ address: 127.0.0.1, port: ${backend.port} }], tls: { ca: absent } }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: echo }
spec: { members: [{ address: 127.0.0.1, port: ${echo.port} }] }
---
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  listeners:
    - name: web
      port: ${ports.http}
      protocol: HTTP
      hosts: [shop.example, "*.wild.example"]
      routes:
        - hosts: [shop.example]
          rules:
            - { name: all, action: { forward: [{ pool: web }] } }
            - { name: exact, match: [{ path: { exact: /api/1 } }], action: { respond: { status: 200, body: exact } } }
            - { name: regex, match: [{ path: { regex: '/api/[0-9]+' } }], action: { respond: { status: 200, body: regex } } }
            - { name: api, match: [{ path: { prefix: /api } }], action: { respond: { status: 200, body: prefix } } }
            - { name: v1, match: [{ path: { prefix: /api/v1 } }], action: { respond: { status: 200, body: longer prefix } } }
            - { name: post, match: [{ path: { prefix: /api }, methods: [POST, PUT] }], action: { respond: { status: 200, body: method } } }
            - { name: header, match: [{ path: { prefix: /api }, headers: [{ name: X-Tier, exact: gold }] }], action: { respond: { status: 200, body: header } } }
            - { name: query, match: [{ path: { prefix: /api }, query: [{ name: page, exact: "2" }] }], action: { respond: { status: 200, body: query } } }
            - { name: not, match: [{ path: { exact: /not }, headers: [{ name: x-bad, exact: "yes", invert: true }] }], action: { respond: { status: 200, body: not bad } } }
            - { name: absent, match: [{ path: { exact: /absent }, headers: [{ name: x-any, present: true, invert: true }] }], action: { respond: { status: 200, body: absent } } }
            - { name: to-root, match: [{ path: { prefix: /root } }], action: { forward: [{ pool: web }], rewrite: { prefix: / } } }
            - { name: to-other, match: [{ path: { prefix: /v1 } }], action: { forward: [{ pool: web }], rewrite: { prefix: /v2 } } }
            - { name: to-slash, match: [{ path: { prefix: /a.b } }], action: { forward: [{ pool: web }], rewrite: { prefix: /c/ } } }
            - { name: below, match: [{ path: { prefix: /down/ } }], action: { forward: [{ pool: web }], rewrite: { prefix: /up } } }
            - { name: whole, match: [{ path: { prefix: /whole } }], action: { forward: [{ pool: web }], rewrite: { path: /fixed, host: inner.example } } }
            - { name: groups, match: [{ path: { regex: '/user/.*' } }], action: { forward: [{ pool: web }], rewrite: { regex: { pattern: '^/user/([^/]+)', substitution: '/u/\\1' } } } }
            - { name: moved, match: [{ path: { prefix: /moved } }], action: { redirect: { prefix: /, code: 301 } } }
            - { name: secure, match: [{ path: { prefix: /secure } }], action: { redirect: { scheme: https, host: shop.example, port: 8443 } } }
            - { name: zero, match: [{ path: { exact: /zero } }], action: { forward: [{ pool: web, weight: 0 }] } }
            - { name: some, match: [{ path: { exact: /some } }], action: { forward: [{ pool: web }, { pool: absent, weight: 0 }] } }
            - { name: missing, match: [{ path: { exact: /missing } }], action: { forward: [{ pool: absent }] } }
            - { name: unverifiable, match: [{ path: { exact: /unverifiable } }], action: { forward: [{ pool: unverifiable }] } }
            - { name: named, match: [{ path: { exact: /named } }], action: { forward: [{ pool: named }] } }
            - name: edited
              match: [{ path: { exact: /edited } }]
              action:
                forward: [{ pool: web }]
                headers:
                  request: { set: { x-share: "100%" }, add: { x-tag: two }, remove: [x-secret] }
                  response: { set: { x-note: "50% off" }, remove: [x-backend] }
    - name: web-tls
      port: ${ports.https}
      protocol: HTTPS
      hosts: [shop.example, "*.shop.example"]
      certificates: [tls]
      defaultAction: { respond: { status: 200, body: shop } }
    - name: pay-tls
      port: ${ports.https}
      protocol: HTTPS
      hosts: [pay.example]
      certificates: [tls]
      defaultAction: { respond: { status: 200, body: pay } }
    - { name: echo, port: ${ports.tcp}, protocol: TCP, defaultAction: { pool: echo } }
    - { name: dead, port: ${ports.dead}, protocol: TCP, defaultAction: { pool: absent } }
`;

beforeAll(async () => {
  const [http, https, tcp, dead] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  ports = { http, https, tcp, dead };
  backend = await startBackend('b1');
  echo = await startEcho();
  proxied = await startProxiedWorld('edge');
  const world = createWorld();
  world.apply(...objectsOf(manifest()));
  expect(await proxied.serve(world)).toEqual([]);
});

afterAll(async () => {
  await proxied?.close();
  await backend?.close();
  await echo?.close();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly host?: string;
  readonly headers?: Record<string, string>;
  readonly servername?: string;
}

function ask(
  path: string,
  { method = 'GET', host = 'shop.example', headers = {}, servername }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', path, method, headers: { ...headers, host }, agent: false };
    const call =
      servername === undefined
        ? httpRequest({ ...options, port: ports.http })
        : httpsRequest({ ...options, port: ports.https, servername, rejectUnauthorized: false });
    call.once('error', reject);
    call.once('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    call.end();
  });
}

describe('precedence', () => {
  test.each<[string, string, Asked, string]>([
    ['exact before regex and prefix', '/api/1', {}, 'exact'],
    ['regex before prefix', '/api/2', {}, 'regex'],
    ['longer prefix before shorter', '/api/v1/x', {}, 'longer prefix'],
    ['prefix by whole segments', '/api/x', {}, 'prefix'],
    ['a method before none', '/api/x', { method: 'PUT', headers: { 'x-tier': 'gold' } }, 'method'],
    ['a header before none', '/api/x?page=2', { headers: { 'x-tier': 'gold' } }, 'header'],
    ['a query parameter before none', '/api/x?page=2', {}, 'query'],
    ['path before the rest', '/api/1', { method: 'POST', headers: { 'x-tier': 'gold' } }, 'exact'],
    ['an inverted header that is absent', '/not', {}, 'not bad'],
    ['an inverted header that is another', '/not', { headers: { 'x-bad': 'no' } }, 'not bad'],
    ['a header that must be absent', '/absent', {}, 'absent'],
  ])('%s', async (_name, path, asked, body) => {
    expect((await ask(path, asked)).body).toBe(body);
  });

  test.each<[string, string, Asked]>([
    ['a prefix that ends inside a segment', '/apix', {}],
    ['an inverted header that is the same', '/not', { headers: { 'x-bad': 'yes' } }],
    ['a header that is there and must not', '/absent', { headers: { 'x-any': '' } }],
  ])('not: %s', async (_name, path, asked) => {
    expect((await ask(path, asked)).headers['x-backend']).toBe('b1');
  });
});

describe('hosts', () => {
  test.each<[string, string, number]>([
    ['exact', 'shop.example', 200],
    ['in capitals', 'Shop.Example', 200],
    ['with a port', 'shop.example:8080', 200],
    ['with a dot at the end', 'shop.example.', 200],
    ['of a wildcard without rules', 'a.wild.example', 404],
    ['that nobody serves', 'other.example', 404],
  ])('%s', async (_name, host, status) => {
    expect((await ask('/api/1', { host })).status).toBe(status);
  });
});

describe('rewrites', () => {
  test.each([
    ['/root', '/'],
    ['/root/', '/'],
    ['/root/x?q=1', '/x?q=1'],
    ['/v1', '/v2'],
    ['/v1/x', '/v2/x'],
    ['/a.b', '/c/'],
    ['/a.b/x', '/c/x'],
    ['/down/x', '/up/x'],
    ['/whole/lot?q=1', '/fixed?q=1'],
    ['/user/ada/cart', '/u/ada/cart'],
    ['/plain/../x', '/x'],
    ['/two//slashes', '/two//slashes'],
  ])('%s is %s to the backend', async (path, seen) => {
    expect((await ask(path)).body).toContain(`GET ${seen} host=`);
  });

  test('the host too', async () => {
    expect((await ask('/whole')).body).toContain('host=inner.example');
  });
});

describe('answers', () => {
  test.each<[string, string, number, string | undefined]>([
    ['a redirect of a prefix', '/moved/x?q=1', 301, 'http://shop.example/x?q=1'],
    ['a redirect of scheme, host and port', '/secure/x', 302, 'https://shop.example:8443/secure/x'],
    ['all weights 0', '/zero', 500, undefined],
    ['weight 0 of a missing pool', '/some', 200, undefined],
    ['a missing pool', '/missing', 503, undefined],
    ['a pool whose TLS cannot be verified', '/unverifiable', 503, undefined],
    ['a pool of names', '/named', 200, undefined],
  ])('%s', async (_name, path, status, location) => {
    const answer = await ask(path);
    expect([answer.status, answer.headers.location]).toEqual([status, location]);
  });

  test('nothing went to members that could not be verified', () => {
    expect(backend.requests.filter(({ url }) => url === '/unverifiable')).toEqual([]);
  });
});

test('header values are literal', async () => {
  const answer = await ask('/edited', { headers: { 'x-tag': 'one', 'x-secret': 'no' } });
  const seen = backend.requests.find(({ url }) => url === '/edited')?.headers;
  expect(seen).toMatchObject({ 'x-share': '100%', 'x-tag': 'one, two' });
  expect(seen).not.toHaveProperty('x-secret');
  expect(answer.headers['x-note']).toBe('50% off');
  expect(answer.headers).not.toHaveProperty('x-backend');
});

describe('TLS', () => {
  test.each<[string, string, string, number, string]>([
    ['a host of the listener', 'shop.example', 'shop.example', 200, 'shop'],
    ['a host below its wildcard', 'a.shop.example', 'b.shop.example', 200, 'shop'],
    ['the other listener', 'pay.example', 'pay.example', 200, 'pay'],
    ['a host of the other listener on this connection', 'shop.example', 'pay.example', 421, ''],
    ['and the other way round', 'pay.example', 'x.shop.example', 421, ''],
    ['a host of nobody', 'shop.example', 'other.example', 404, ''],
  ])('%s', async (_name, servername, host, status, body) => {
    const answer = await ask('/', { servername, host });
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  test('a name that no listener serves gets no handshake', async () => {
    await expect(ask('/', { servername: 'other.example' })).rejects.toThrow(/RESET|disconnected|hang up/);
  });
});

describe('TCP', () => {
  const talk = (port: number, text: string): Promise<string> =>
    new Promise((resolve) => {
      let got = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (chunk: Buffer) => {
        got += chunk.toString();
        if (got.length >= text.length) socket.end();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(got));
    });

  test('carries bytes both ways', async () => {
    expect(await talk(ports.tcp, 'hello')).toBe('hello');
  });

  test('closes connections that have nowhere to go', async () => {
    expect(await talk(ports.dead, 'hello')).toBe('');
  });

  test('listens on IPv6 too', async () => {
    const socket = connect(ports.tcp, '::1');
    const first = new Promise<string>((resolve, reject) => {
      socket.once('error', reject);
      socket.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    });
    socket.write('six');
    expect(await first).toBe('six');
    socket.destroy();
  });
});
