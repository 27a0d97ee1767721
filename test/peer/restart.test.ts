import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { startLoad } from '../support/load.ts';
import { freePort } from '../support/ports.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

// A restart of the server is nobody's business but the server's: traffic goes on, and Envoy gets nothing it has already.

const teams = 20;

/**
 * What may flow to an Envoy that has everything: HTTP/2 settings, headers and pings, and for each of the two wildcard
 * types an empty answer. One listener alone is larger than this.
 */
const quietBytes = 1500;

let data: string;
let backend: Backend;
let fairway: TestFairway;
let proxy: TcpProxy;
let envoy: RunningEnvoy;
let port: number;
let hosts: string[];

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'fairway-restart-'));
  [backend, port] = await Promise.all([startBackend('one'), freePort()]);
  hosts = Array.from({ length: teams }, (_, n) => `team-${n}.example`);
  fairway = await startFairway({ data });
  proxy = await startTcpProxy(fairway.xdsPort);
  envoy = await startEnvoy({ xdsPort: proxy.port, fleet: 'edge', node: 'lb-1' });
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    {
      kind: 'VirtualService',
      metadata: { name: 'shop' },
      spec: { fleet: 'edge', listeners: [{ name: 'web', port, protocol: 'HTTP' }] },
    },
  );
  for (const [n, host] of hosts.entries()) {
    await fairway.put(
      {
        kind: 'BackendPool',
        metadata: { name: `team-${n}` },
        spec: { members: [{ address: '127.0.0.1', port: backend.port }] },
      },
      {
        kind: 'Route',
        metadata: { name: `team-${n}` },
        spec: {
          attachTo: [{ virtualService: 'shop', listener: 'web' }],
          hosts: [host],
          rules: [{ name: 'all', action: { forward: [{ pool: `team-${n}` }] } }],
        },
      },
    );
  }
  await fairway.waitFor('Route', `team-${teams - 1}`, 'Programmed', 'True');
  await inStep();
});

afterAll(async () => {
  await envoy?.stop();
  await proxy?.close();
  await fairway?.close();
  await backend?.close();
  if (data !== undefined) await rm(data, { recursive: true, force: true });
});

const inStep = () =>
  until('Envoy to be in step', async () => (await fairway.call('GET', '/v1/proxies/lb-1')).body.state === 'Synced');

async function restart(): Promise<void> {
  await fairway.close();
  proxy.reset();
  fairway = await startFairway({ data });
  proxy.target(fairway.xdsPort);
  await inStep();
}

test('three restarts under traffic: no request fails, and nothing is sent that Envoy has', async () => {
  const load = startLoad({ port, hosts });
  const versions = await envoy.admin('/config_dump?resource=dynamic_active_clusters&mask=version_info');
  for (let n = 0; n < 3; n += 1) {
    await restart();
    expect(proxy.connections, 'Envoy came back').toBeGreaterThan(0);
    expect(proxy.received).toBeLessThan(quietBytes);
  }
  const { sent, failures } = await load.stop();
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan(100);
  expect(await envoy.admin('/config_dump?resource=dynamic_active_clusters&mask=version_info')).toBe(versions);
  expect(await envoy.stat('listener_manager.listener_modified')).toBe(0);
  expect(await envoy.stat('cluster_manager.cluster_modified')).toBe(0);
});

test('what changed while the server was away is sent, and nothing else', async () => {
  await fairway.close();
  proxy.reset();
  // The change is made by another server on the same data, which no proxy knows of.
  const other = await startFairway({ data });
  await other.call('DELETE', '/v1/scopes/default/routes/team-0');
  await other.put({ kind: 'BackendPool', metadata: { name: 'team-1' }, spec: { members: [] } });
  await other.close();
  fairway = await startFairway({ data });
  proxy.target(fairway.xdsPort);
  await inStep();
  const ask = async (host: string) => {
    const load = startLoad({ port, hosts: [host], concurrency: 1, accept: () => false });
    await until('an answer', () => load.failures.length > 0);
    return (await load.stop()).failures[0];
  };
  expect(await ask('team-0.example')).toBe('team-0.example: status 404');
  expect(await ask('team-1.example')).toBe('team-1.example: status 503');
  expect(await ask('team-2.example')).toBe('team-2.example: status 200');
});
