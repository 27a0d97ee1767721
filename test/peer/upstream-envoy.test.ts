/** What a real Envoy does towards the members: TLS, HTTP versions, upgrades, time limits, health. */
import { readFileSync } from 'node:fs';
import { createServer, get, type Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/ports.ts';
import { type ProxiedWorld, startProxiedWorld } from '../support/proxied-world.ts';
import { until } from '../support/until.ts';
import { createWorld, objectsOf, type World } from '../support/world.ts';

const pem = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../support/certificates/${name}.pem`, import.meta.url)), 'utf8').trim();
const indented = (text: string) => text.replaceAll('\n', '\n    ');

/** A server that speaks both versions of HTTP behind TLS, and says which one it was asked in. */
function tlsBackend() {
  const server = createSecureServer(
    { key: pem('p256.key'), cert: `${pem('p256')}\n${pem('intermediate')}`, allowHTTP1: true },
    (request, response) => {
      response.end(`HTTP/${request.httpVersion}`);
    },
  );
  server.on('upgrade', echoUpgraded);
  return server;
}

/** Takes any upgrade, and sends back what it gets. */
function echoUpgraded(_request: unknown, socket: import('node:stream').Duplex): void {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  socket.pipe(socket);
  socket.on('error', () => socket.destroy());
}

let proxied: ProxiedWorld;
let world: World;
let port: number;
let plain: Server;
let secure: ReturnType<typeof tlsBackend>;
/** Status that the plain server answers checks with. */
let health = 200;
let checks = 0;

const listening = async (server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
}) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

beforeAll(async () => {
  plain = createServer((request, response) => {
    if (request.url === '/healthz') {
      checks += 1;
      response.statusCode = health;
    }
    response.end(`HTTP/${request.httpVersion}`);
  });
  plain.on('upgrade', echoUpgraded);
  secure = tlsBackend();
  const plainPort = await listening(plain);
  const tlsPort = await listening(secure);
  port = await freePort();
  const pool = (name: string, more: string, to = tlsPort) => `
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: ${name} }
spec: { members: [{ address: 127.0.0.1, port: ${to} }], ${more} }`;
  const rule = (name: string, more = '') =>
    `- { name: ${name}, match: [{ path: { prefix: /${name} } }], action: { forward: [{ pool: ${name} }]${more} } }`;
  world = createWorld();
  world.apply(
    ...objectsOf(`
apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
---
apiVersion: fairway/v1
kind: Certificate
metadata: { name: root }
spec:
  ca: |
    ${indented(pem('root'))}
---
apiVersion: fairway/v1
kind: Certificate
metadata: { name: unrelated }
spec:
  ca: |
    ${indented(pem('not-ca'))}
${pool('named', 'tls: { sni: shop.example, ca: root }')}
${pool('below', 'tls: { sni: a.shop.example, ca: root }')}
${pool('unnamed', 'tls: { ca: root }')}
${pool('misnamed', 'tls: { sni: other.example, ca: root }')}
${pool('untrusted', 'tls: { sni: shop.example, ca: unrelated }')}
${pool('two', 'tls: { ca: root }, protocol: http2')}
${pool('auto', 'tls: { ca: root }, protocol: auto')}
${pool('checked', 'healthChecks: [{ type: HTTP, path: /healthz, interval: 100ms, timeout: 1s, rise: 1, fall: 3 }]', plainPort)}
${pool('plain', 'connectTimeout: 5s', plainPort)}
---
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  listeners:
    - name: web
      port: ${port}
      protocol: HTTP
      routes:
        - rules:
            ${['named', 'below', 'unnamed', 'misnamed', 'untrusted', 'two', 'auto', 'checked'].map((name) => rule(name)).join('\n            ')}
            - { name: live, match: [{ path: { prefix: /live } }], action: { forward: [{ pool: auto }], websocket: true } }
            ${rule('plain', ', websocket: true, timeout: 300ms')}
            - { name: closed, match: [{ path: { prefix: /closed } }], action: { forward: [{ pool: plain }] } }
`),
  );
  proxied = await startProxiedWorld('edge');
  expect(await proxied.serve(world)).toEqual([]);
});

afterAll(async () => {
  await proxied?.close();
  plain?.closeAllConnections();
  plain?.close();
  secure?.close();
});

function ask(path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
    }).once('error', reject);
  });
}

describe('TLS to members', () => {
  test.each([
    ['named', 200, 'HTTP/1.1'],
    ['below', 200, 'HTTP/1.1'],
    ['unnamed', 200, 'HTTP/1.1'],
    ['two', 200, 'HTTP/2.0'],
    ['auto', 200, 'HTTP/2.0'],
    ['misnamed', 503, undefined],
    ['untrusted', 503, undefined],
  ])('%s: %i', async (name, status, body) => {
    const answer = await ask(`/${name}`);
    expect(answer.status).toBe(status);
    if (body !== undefined) expect(answer.body).toBe(body);
  });
});

/** Asks for an upgrade; gives the status, and a function that sends a text and waits for it to come back. */
async function upgrade(path: string): Promise<{ status: number; echo(text: string): Promise<void>; close(): void }> {
  const socket = connect(port, '127.0.0.1');
  let got = '';
  let over = false;
  socket.on('data', (chunk: Buffer) => (got += chunk.toString()));
  socket.on('close', () => (over = true));
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const status = await until('the answer to an upgrade', () => /^HTTP\/1\.1 (\d+)[\s\S]*\r\n\r\n/.exec(got)?.[1]);
  return {
    status: Number(status),
    async echo(text) {
      socket.write(text);
      await until(
        'the echo',
        () => {
          if (over) throw new Error('the connection is closed');
          return got.endsWith(text);
        },
        { limitMs: 2000 },
      );
    },
    close: () => socket.destroy(),
  };
}

describe('upgrades', () => {
  test('pass where the rule says so, and live longer than its time limit', async () => {
    const socket = await upgrade('/plain');
    expect(socket.status).toBe(101);
    await socket.echo('one');
    const started = performance.now();
    await until('longer than the limit', () => performance.now() - started > 600);
    await socket.echo('two');
    socket.close();
  });

  test('are refused where it does not', async () => {
    const socket = await upgrade('/closed');
    expect(socket.status).toBe(403);
    socket.close();
  });

  test('reach members that would rather speak HTTP/2', async () => {
    const socket = await upgrade('/live');
    expect(socket.status).toBe(101);
    await socket.echo('one');
    socket.close();
  });
});

describe('health', () => {
  test('a member goes down after `fall` bad statuses and not before, and comes back', async () => {
    const failures = () => proxied.envoy.stat('cluster.default/checked.health_check.failure');
    const healthy = () => proxied.envoy.stat('cluster.default/checked.membership_healthy');
    await until('the member to be up', async () => (await healthy()) === 1);
    health = 500;
    await until('the first failure', async () => (await failures()) === 1);
    await until('the member to be down', async () => (await healthy()) === 0);
    expect(await failures()).toBeGreaterThanOrEqual(3);
    await until('no traffic', async () => (await ask('/checked')).status === 503);
    health = 200;
    await until('traffic', async () => (await ask('/checked')).status === 200);
    expect(await healthy()).toBe(1);
    expect(checks).toBeGreaterThan(3);
  });
});
