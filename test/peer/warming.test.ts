/** Pools that never get ready, as those see it who use the service, and those who look after it. */

import { request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Manifest, startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

let fairway: TestFairway;
let envoy: RunningEnvoy;
let backend: Backend;
let deaf: { readonly port: number; close(): void };
let port: number;

/** Of the check that is never answered: so long the cluster warms. */
const timeoutMs = 3_000;

beforeAll(async () => {
  [backend, deaf, port] = await Promise.all([startBackend('one'), startDeaf(), freePort()]);
  fairway = await startFairway();
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
  const listeners = [{ name: 'web', port, protocol: 'HTTP' }];
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { fleet: 'edge', listeners } },
    pool('good', backend.port),
    route('good'),
  );
  await fairway.waitFor('Route', 'good', 'Programmed', 'True');
});

afterAll(async () => {
  await envoy?.stop();
  await fairway?.close();
  await backend?.close();
  deaf?.close();
});

/** Takes connections and never says a word. */
async function startDeaf() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

function pool(name: string, member: number, check?: object): Manifest {
  const spec = { members: [{ address: '127.0.0.1', port: member }], ...(check ? { healthChecks: [check] } : {}) };
  return { kind: 'BackendPool', metadata: { name }, spec };
}

function route(name: string): Manifest {
  const spec = {
    attachTo: [{ virtualService: 'shop', listener: 'web' }],
    hosts: [`${name}.example`],
    rules: [{ name: 'all', action: { forward: [{ pool: name }] } }],
  };
  return { kind: 'Route', metadata: { name }, spec };
}

function statusOf(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, headers: { host: `${host}.example` } }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });
}

test('a pool whose check never passes keeps its own route waiting, and nobody else', async () => {
  const check = { type: 'HTTP', path: '/', interval: '1h', timeout: `${timeoutMs}ms` };
  await fairway.put(pool('deaf', deaf.port, check), route('deaf'));
  const started = performance.now();
  await fairway.put(pool('later', backend.port), route('later'));
  await until('the other route', async () => (await statusOf('later')) === 200);
  expect(performance.now() - started, 'the other route came first').toBeLessThan(timeoutMs - 500);
  expect(await statusOf('deaf')).toBe(404);
  expect(await statusOf('good')).toBe(200);
  // It was checked, in vain: there is a route now, and nobody behind it.
  await until('its own route', async () => (await statusOf('deaf')) === 503);
  await fairway.waitFor('Route', 'deaf', 'Programmed', 'True');
  expect(await statusOf('good')).toBe(200);
});
