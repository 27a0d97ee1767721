import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend, startEcho } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// The whole path, for real: REST, store, View, delta ADS, Envoy, traffic, and back into status.

let fairway: TestFairway;
let envoy: RunningEnvoy;
let one: Backend;
let two: Backend;
let echo: Awaited<ReturnType<typeof startEcho>>;
let port: number;
let tcpPort: number;

beforeAll(async () => {
  [one, two, echo, port, tcpPort] = await Promise.all([
    startBackend('one'),
    startBackend('two'),
    startEcho(),
    freePort(),
    freePort(),
  ]);
  fairway = await startFairway();
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
});

afterAll(async () => {
  await Promise.all([envoy?.stop(), one?.close(), two?.close(), echo?.close()]);
  await fairway?.close();
});

const member = (backend: { port: number }) => ({ address: '127.0.0.1', port: backend.port });

async function ask(
  path: string,
  host = 'shop.example',
): Promise<{ status: number; backend: string | null; body: string }> {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, backend: String(response.headers['x-backend'] ?? ''), body }),
      );
    })
      .on('error', reject)
      .end();
  });
}

test('an Envoy whose fleet is not there yet is a Node with a condition, and is filled when the Fleet appears', async () => {
  await until('the Node', async () => (await fairway.call('GET', '/v1/nodes/lb-1')).status === 200);
  const lonely = await fairway.waitFor('Node', 'lb-1', 'Accepted', 'False');
  expect(lonely.status.conditions.find(({ type }) => type === 'Accepted')).toMatchObject({
    reason: 'FleetMissing',
    message: expect.stringContaining('Fleet edge'),
  });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
  const node = await fairway.waitFor('Node', 'lb-1', 'Accepted', 'True');
  expect(node.status).toMatchObject({
    phase: 'Connected',
    fleet: 'edge',
    envoy: { version: '1.40.0', connected: true },
  });
});

test('a service and its pool become traffic, in whatever order they are created', async () => {
  await fairway.put({
    kind: 'VirtualService',
    metadata: { name: 'shop' },
    spec: {
      fleet: 'edge',
      listeners: [{ name: 'web', port, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } }],
    },
  });
  const unresolved = await fairway.waitFor('VirtualService', 'shop', 'ResolvedRefs', 'False');
  expect(unresolved.status.conditions.find(({ type }) => type === 'ResolvedRefs')?.reason).toBe('ReferenceMissing');
  await fairway.put({ kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [member(one)] } });
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
  expect(await ask('/x')).toMatchObject({ status: 200, backend: 'one', body: 'one GET /x host=shop.example' });
});

test('a member that is added is used at once, one that is removed no longer', async () => {
  await fairway.put({ kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [member(one), member(two)] } });
  await until('both backends', async () => {
    const seen = new Set<string | null>();
    for (let n = 0; n < 10; n += 1) seen.add((await ask('/')).backend);
    return seen.size === 2;
  });
  await fairway.put({ kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [member(two)] } });
  await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
  for (let n = 0; n < 10; n += 1) expect((await ask('/')).backend).toBe('two');
});

test('a Route of another scope joins the listener where it is allowed', async () => {
  await fairway.put(
    { kind: 'Scope', metadata: { name: 'team' }, spec: {} },
    { kind: 'BackendPool', metadata: { name: 'api', scope: 'team' }, spec: { members: [member(one)] } },
    {
      kind: 'Route',
      metadata: { name: 'api', scope: 'team' },
      spec: {
        attachTo: [{ virtualService: 'default/shop', listener: 'web' }],
        hosts: ['API.example'],
        rules: [
          {
            name: 'all',
            match: [{ path: { prefix: '/v1' } }],
            action: { forward: [{ pool: 'api' }], rewrite: { prefix: '/' } },
          },
        ],
      },
    },
  );
  await fairway.waitFor('Route', 'api', 'Accepted', 'False', 'team');
  const { body } = await fairway.call('GET', '/v1/scopes/default/virtual-services/shop');
  const [listener] = body.spec.listeners;
  await fairway.put({
    kind: 'VirtualService',
    metadata: { name: 'shop' },
    spec: { ...body.spec, listeners: [{ ...listener, allowedRoutes: { scopes: ['default', 'team'] } }] },
  });
  await fairway.waitFor('Route', 'api', 'Programmed', 'True', 'team');
  expect(await ask('/v1/items', 'api.example')).toMatchObject({
    status: 200,
    backend: 'one',
    body: expect.stringContaining('GET /items'),
  });
  expect(await ask('/v1/items', 'shop.example')).toMatchObject({ backend: 'two' });
});

test('TCP goes through, and listeners were never drained by all this', async () => {
  await fairway.put(
    { kind: 'BackendPool', metadata: { name: 'echo' }, spec: { members: [member(echo)] } },
    {
      kind: 'VirtualService',
      metadata: { name: 'echo' },
      spec: {
        fleet: 'edge',
        listeners: [{ name: 'tcp', port: tcpPort, protocol: 'TCP', defaultAction: { pool: 'echo' } }],
      },
    },
  );
  await fairway.waitFor('VirtualService', 'echo', 'Programmed', 'True');
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(tcpPort, '127.0.0.1', () => socket.write('ping'));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString());
    });
    socket.once('error', reject);
  });
  expect(answer).toBe('ping');
  expect(await envoy.stat('listener_manager.listener_modified')).toBe(0);
  expect(await envoy.stat('listener_manager.total_listeners_draining')).toBe(0);
  expect(await envoy.stat('listener_manager.total_filter_chains_draining')).toBe(0);
});

test('the proxies say who is connected and what it has', async () => {
  const proxies = await until('the proxy to be in step', async () => {
    const { body } = await fairway.call('GET', '/v1/proxies');
    return body.items[0]?.state === 'Synced' && body.items;
  });
  expect(proxies).toHaveLength(1);
  expect(proxies[0]).toMatchObject({ node: 'lb-1', fleet: 'edge', version: '1.40.0' });
});

test('a deleted service is gone from Envoy, and its port is free', async () => {
  expect((await fairway.call('DELETE', '/v1/scopes/default/virtual-services/echo')).status).toBe(200);
  await until('the listener to go', async () => !(await envoy.admin('/listeners')).includes('default/echo'));
  const refused = await until(
    'the port to be closed',
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(tcpPort, '127.0.0.1', () => {
          socket.destroy();
          resolve(false);
        });
        socket.once('error', () => resolve(true));
      }),
  );
  expect(refused).toBe(true);
});
