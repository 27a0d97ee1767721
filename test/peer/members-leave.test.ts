/** Members that leave a pool, as a real Envoy and the connections through it see it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEcho } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Manifest, pathOf, startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

type Echo = Awaited<ReturnType<typeof startEcho>>;

let data: string;
let fairway: TestFairway;
let envoy: RunningEnvoy;
let echoes: readonly Echo[];
let port: number;
let xdsPort: number;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'fairway-leave-'));
  echoes = await Promise.all([startEcho(), startEcho(), startEcho()]);
  [port, xdsPort] = await Promise.all([freePort(), freePort()]);
  fairway = await startFairway({ data, xdsPort });
  envoy = await startEnvoy({ xdsPort, fleet: 'edge', node: 'lb-1' });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool([0, 1]), {
    kind: 'VirtualService',
    metadata: { name: 'db' },
    spec: { fleet: 'edge', listeners: [{ name: 'db', port, protocol: 'TCP', defaultAction: { pool: 'db' } }] },
  });
  await fairway.waitFor('VirtualService', 'db', 'Programmed', 'True');
});

afterAll(async () => {
  await envoy?.stop();
  await fairway?.close();
  await Promise.all((echoes ?? []).map((echo) => echo.close()));
  if (data !== undefined) await rm(data, { recursive: true, force: true });
});

function pool(members: readonly number[], drainTimeout = '10m'): Manifest {
  const spec = { members: members.map((at) => ({ address: '127.0.0.1', port: echoes[at]?.port })), drainTimeout };
  return { kind: 'BackendPool', metadata: { name: 'db' }, spec };
}

/** How the proxy sees each member, by its place among the echoes. */
async function members(): Promise<Record<number, { status: string; connections: number }>> {
  const { cluster_statuses } = JSON.parse(await envoy.admin('/clusters?format=json'));
  const cluster = cluster_statuses.find((one: { name: string }) => one.name === 'default/db');
  const seen: Record<number, { status: string; connections: number }> = {};
  for (const host of cluster.host_statuses ?? []) {
    const at = echoes.findIndex((echo) => echo.port === host.address.socket_address.port_value);
    const active = host.stats.find((stat: { name: string }) => stat.name === 'cx_active');
    seen[at] = { status: host.health_status.eds_health_status, connections: Number(active?.value ?? 0) };
  }
  return seen;
}

/** A connection that stays open; `echo` fails when it does not carry both ways. */
async function open(): Promise<{ socket: Socket; echo(): Promise<void> }> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  const echo = async (): Promise<void> => {
    const before = received.length;
    socket.write('x');
    await until('an echo', () => received.length > before, { describe: () => ({ destroyed: socket.destroyed }) });
  };
  await echo();
  return { socket, echo };
}

interface Member {
  readonly port: number;
  readonly state: string;
  readonly until?: string;
}

/** What the status of the pool says of those who drain: whether it is decided until when, by place among the echoes. */
async function draining(): Promise<Record<number, boolean>> {
  const shown = (await fairway.get('BackendPool', 'db')).status['members'] as readonly Member[];
  return Object.fromEntries(
    shown
      .filter(({ state }) => state === 'Draining')
      .map((member) => [echoes.findIndex((echo) => echo.port === member.port), member.until !== undefined]),
  );
}

test('a removed member drains, over a restart too, and goes when told to; its connections live on', async () => {
  await fairway.put(pool([0]));
  await until('the other one to drain', async () => (await members())[1]?.status === 'DRAINING');
  const connection = await open();

  const path = `${pathOf('BackendPool', 'db')}?dryRun=true`;
  const said = await fairway.call('PUT', path, { apiVersion: 'fairway/v1', ...pool([2]) });
  expect(said.body.resources.changed).toHaveLength(1);
  await fairway.put(pool([2]));
  await until('it to drain', async () => (await members())[0]?.status === 'DRAINING');
  // The same host as before, with what it has open.
  expect(await members()).toEqual({
    0: { status: 'DRAINING', connections: 1 },
    1: { status: 'DRAINING', connections: 0 },
    2: { status: 'HEALTHY', connections: 0 },
  });
  await until('its time to be decided', async () => (await draining())[0]);
  expect(await draining()).toEqual({ 0: true, 1: true });

  await fairway.close();
  fairway = await startFairway({ data, xdsPort });
  await until('Envoy to be back', async () => (await fairway.call('GET', '/v1/proxies/lb-1')).body.state === 'Synced');
  expect(await draining()).toEqual({ 0: true, 1: true });
  expect((await members())[0]).toEqual({ status: 'DRAINING', connections: 1 });
  await connection.echo();

  await fairway.put(pool([2], '0s'));
  await until('it to be gone', async () => Object.keys(await members()).join() === '2');
  expect(await draining()).toEqual({});
  await connection.echo();
  connection.socket.destroy();
});

test('it goes when its time is over', async () => {
  await fairway.put(pool([1, 2], '300ms'));
  await until('both', async () => Object.keys(await members()).length === 2);
  await fairway.put(pool([2], '300ms'));
  const seen = new Set<string>();
  await until('it to be gone', async () => {
    seen.add((await members())[1]?.status ?? 'gone');
    return seen.has('gone');
  });
  expect([...seen]).toContain('DRAINING');
  await until('the status to be without it', async () => Object.keys(await draining()).length === 0);
});

test('a member that comes back is one like any other, and a pool takes its leavers with it', async () => {
  await fairway.put(pool([0, 2]));
  await fairway.put(pool([2]));
  await until('it to drain', async () => (await members())[0]?.status === 'DRAINING');
  await fairway.put(pool([0, 2]));
  await until('it to be back', async () => (await members())[0]?.status === 'HEALTHY');
  expect(await draining()).toEqual({});

  await fairway.put(pool([2]));
  await until('it to drain again', async () => (await draining())[0]);
  expect((await fairway.call('DELETE', `${pathOf('BackendPool', 'db')}?force=true`)).status).toBe(200);
  await fairway.put(pool([2]));
  await until('the new pool', async () => Object.keys(await members()).join() === '2');
  expect(await draining()).toEqual({});
});
