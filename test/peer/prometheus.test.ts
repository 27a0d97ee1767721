import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { debianProgram } from '../support/debian.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Manifest, startFairway, type TestFairway } from '../support/fairway.ts';
import { createPoison, poisonedTimeout } from '../support/poison.ts';
import { freePort } from '../support/ports.ts';
import { type RunningPrometheus, startPrometheus } from '../support/prometheus.ts';
import { until } from '../support/until.ts';

// A real Prometheus scrapes a real server with a real Envoy, understands every metric, and answers what happened.

let fairway: TestFairway;
let envoy: RunningEnvoy;
let prometheus: RunningPrometheus | { readonly missing: string };

beforeAll(async () => {
  fairway = await startFairway({ rawPatch: createPoison().patch });
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
  prometheus = await startPrometheus([new URL(fairway.url).host]);
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool('1s'), await service());
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
});

afterAll(async () => {
  if (prometheus !== undefined && 'stop' in prometheus) await prometheus.stop();
  await envoy?.stop();
  await fairway?.close();
});

function pool(connectTimeout: string): Manifest {
  const members = [{ address: '127.0.0.1', port: 9 }];
  return { kind: 'BackendPool', metadata: { name: 'web' }, spec: { members, connectTimeout } };
}

async function service(): Promise<Manifest> {
  const forward = [{ pool: 'web' }];
  const listeners = [{ name: 'web', port: await freePort(), protocol: 'HTTP', defaultAction: { forward } }];
  return { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { fleet: 'edge', listeners } };
}

function running(skip: (note: string) => void): RunningPrometheus {
  if ('missing' in prometheus) skip(prometheus.missing);
  return prometheus as RunningPrometheus;
}

test('Prometheus knows every metric of the table, with its type and help', async ({ skip }) => {
  const { metadata } = running(skip);
  // It does not show all of its first scrape at once.
  const known = await until('all metrics to be known', async () => {
    const all = await metadata();
    return Object.values(metricTable).every(({ name }) => name in all) && all;
  });
  const own = Object.values(metricTable).map(({ name, type, help }) => [name, [{ type, help, unit: '' }]]);
  const told = Object.entries(known).filter(([name]) => !/^fairway_(process|nodejs)_/.test(name));
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(own));
});

test('its checker has nothing to complain of', async ({ skip }) => {
  const program = await debianProgram('promtool', 'prometheus');
  if ('missing' in program) return skip(program.missing);
  const { body } = await fairway.call('GET', '/metrics');
  const checker = spawn(program.path, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const output of [checker.stdout, checker.stderr]) output.on('data', (chunk: Buffer) => (said += chunk));
  checker.stdin.end(body);
  const code = await new Promise((resolve) => checker.once('close', resolve));
  expect({ code, said }).toEqual({ code: 0, said: '' });
});

test('its answers say what happened: a change, a refusal, and what it cost', async ({ skip }) => {
  const { value, query } = running(skip);
  const before = (await value('fairway_xds_ack_lag_seconds_count')) ?? 0;
  await fairway.put(pool('2s'));
  await until(
    'the change to be counted',
    async () => ((await value('fairway_xds_ack_lag_seconds_count')) ?? 0) > before,
  );
  await fairway.put(pool(poisonedTimeout));
  await fairway.waitFor('BackendPool', 'web', 'Programmed', 'False');
  await until('the refusal to be counted', () => value('fairway_xds_rejections_total{type="Cluster"}'));
  const { headers } = await fairway.call('GET', '/v1/fleets');
  const revision = Number(headers.get('fairway-revision'));
  await until('the newest scrape', async () => {
    const reached = await value('fairway_view_revision');
    return reached !== undefined && reached >= revision && (await value('fairway_view_lag_revisions')) === 0;
  });

  expect(await value('up')).toBe(1);
  expect(await value('fairway_leader')).toBe(1);
  expect(await value('fairway_xds_streams{protocol="delta"}')).toBe(1);
  expect(await value('fairway_objects{kind="BackendPool"}')).toBe(1);
  // The fleet, the service, and the pool three times.
  expect(await value('sum(fairway_api_requests_total{method="PUT"})')).toBe(5);
  const pools = 'method="PUT",route="/v1/scopes/:scope/backend-pools/:name"';
  expect(await query(`fairway_api_request_seconds_count{${pools}}`)).toEqual([
    { labels: expect.objectContaining({ code: '200' }), value: 2 },
    { labels: expect.objectContaining({ code: '201' }), value: 1 },
  ]);
  expect(await value('sum(fairway_xds_nacks_total)')).toBeGreaterThan(0);
  // Each answer is for a response; nothing is on its way when all is at rest.
  const unanswered = 'sum(fairway_xds_sent_total) - sum(fairway_xds_acks_total) - sum(fairway_xds_nacks_total)';
  await until('all responses to be answered', async () => (await value(unanswered)) === 0);
  expect(await value('fairway_reports_total{kind="rejected"}')).toBeGreaterThan(0);
  const p99 = 'histogram_quantile(0.99, sum by (le) (fairway_xds_ack_lag_seconds_bucket))';
  expect(await value(p99)).toBeGreaterThan(0);
  expect(await value('fairway_store_revision - fairway_view_revision')).toBe(0);
});
