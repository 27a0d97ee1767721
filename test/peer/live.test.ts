/** Changes of all kinds under constant load through a real Envoy. The bench of the same name does this in full size. */
import { Agent, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startBackend } from '../support/backend.ts';
import { startEnvoy } from '../support/envoy.ts';
import { pathOf, startFairway } from '../support/fairway.ts';
import { runLive } from '../support/live.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

const cleanUp: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

test('a service that is used while everything changes loses no request and no connection', async () => {
  const { traffic, draining, changes, requests, seconds } = await runLive({
    routes: 100,
    restarts: 2,
    requestsPerSecond: 300,
  });
  expect(traffic.failures).toEqual([]);
  expect(traffic.failed).toBe(0);
  // Three WebSockets and two TCP connections, from the first moment to the last.
  expect(traffic.held.open).toBe(5);
  expect(traffic.held.leastEchoes).toBeGreaterThan(10);
  expect(draining).toEqual({ listeners: 0, filterChains: 0 });
  // So that nothing of it is true for want of trying.
  expect(requests / seconds).toBeGreaterThan(100);
  expect(changes).toMatchObject({ routes: 100, connectTimeouts: 80, weights: 20, renamed: 20, restarts: 2 });
  expect(changes.members).toBeGreaterThan(4);
  expect(traffic.serials.length).toBeGreaterThan(4);
});

test('connections of a removed service are served until its drain time ends', async () => {
  const drainSeconds = 5;
  const [backend, port] = await Promise.all([startBackend('one'), freePort()]);
  const fairway = await startFairway();
  const envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1', drainSeconds });
  cleanUp.push(
    () => backend.close(),
    () => fairway.close(),
    () => envoy.stop(),
  );
  const members = [{ address: '127.0.0.1', port: backend.port }];
  const listener = { name: 'web', port, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } };
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: { drainTimeout: `${drainSeconds}s` } },
    { kind: 'BackendPool', metadata: { name: 'web' }, spec: { members } },
    { kind: 'VirtualService', metadata: { name: 'web' }, spec: { fleet: 'edge', listeners: [listener] } },
  );
  await fairway.waitFor('VirtualService', 'web', 'Programmed', 'True');
  const connections = [keepHttp1(port), keepHttp2(port)];
  for (const { ask, close } of connections) {
    cleanUp.push(close);
    expect(await ask()).toBe(200);
  }

  const removedAt = performance.now();
  for (const [kind, name] of [
    ['VirtualService', 'web'],
    ['BackendPool', 'web'],
  ] as const) {
    expect((await fairway.call('DELETE', pathOf(kind, name))).status).toBe(200);
  }
  await until('new connections to be refused', () => isRefused(port));
  const served = [0, 0];
  // A margin before the end, since Envoy counts the time from when it heard of it.
  while (performance.now() - removedAt < drainSeconds * 1000 - 1500) {
    for (const [at, { ask, told }] of connections.entries()) {
      // Envoy asks clients to leave in the course of the time: who was asked has been served.
      if (told()) continue;
      expect(await ask(), `after ${performance.now() - removedAt} ms`).toBe(200);
      served[at] = (served[at] ?? 0) + 1;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(Math.min(...served)).toBeGreaterThan(5);
  expect(await envoy.stat('cluster_manager.cluster_removed')).toBe(0);
  await until('what it used to be gone', async () => (await envoy.stat('cluster_manager.cluster_removed')) === 1);
});

interface Kept {
  /** A request over the one connection; gives the status. */
  ask(): Promise<number>;
  /** Whether the proxy has asked to close the connection. */
  told(): boolean;
  close(): void;
}

function keepHttp1(port: number): Kept {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let isTold = false;
  return {
    ask: () =>
      new Promise((resolve, reject) => {
        request({ host: '127.0.0.1', port, agent }, (response) => {
          if (response.headers.connection === 'close') isTold = true;
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        })
          .on('error', reject)
          .end();
      }),
    told: () => isTold,
    close: () => agent.destroy(),
  };
}

function keepHttp2(port: number): Kept {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  let isTold = false;
  session.on('error', () => undefined);
  session.on('goaway', () => {
    isTold = true;
  });
  return {
    ask: () =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':path': '/' });
        stream.on('response', (headers) => resolve(Number(headers[':status'])));
        stream.on('error', reject);
        stream.resume();
        stream.end();
      }),
    told: () => isTold || session.closed,
    close: () => session.destroy(),
  };
}

function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });
}
