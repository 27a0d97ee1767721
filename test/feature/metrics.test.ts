import { afterEach, expect, test } from 'vitest';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { startToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// The metrics of a whole server, read as Prometheus reads them, after a little of everything has happened to it.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

/** `name{labels}` → value, of all samples. */
async function scrape({ call }: TestFairway): Promise<Map<string, number>> {
  const { body } = await call('GET', '/metrics');
  const samples = (body as string).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

const pool = (name: string, port: number) => ({
  kind: 'BackendPool',
  metadata: { name },
  spec: { members: [{ address: '10.0.0.1', port }] },
});
const shop = {
  kind: 'VirtualService',
  metadata: { name: 'shop' },
  spec: {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } }],
  },
};

test('every metric of the table is there, and says what happened', async () => {
  const fairway = await startFairway();
  cleanUp.push(() => fairway.close());
  const proxy = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-1', fleet: 'edge' });
  cleanUp.push(() => proxy.close());
  proxy.refuse(({ name }) => (name === 'default/poison' ? 'no such thing' : undefined));
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool('web', 80), shop);
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  const refused = { ...shop, metadata: { name: 'bad' }, spec: { ...shop.spec, listeners: [] } };
  expect((await fairway.call('PUT', '/v1/scopes/default/virtual-services/bad', refused)).status).toBe(422);
  const path = '/v1/scopes/default/backend-pools/web';
  expect((await fairway.call('PUT', path, pool('web', 81), { 'if-match': '"1"' })).status).toBe(409);
  await fairway.put(pool('poison', 80), {
    ...shop,
    spec: {
      ...shop.spec,
      listeners: [{ ...shop.spec.listeners[0], defaultAction: { forward: [{ pool: 'poison' }] } }],
    },
  });
  await until('the refusal', async () => ((await scrape(fairway)).get(rejections) ?? 0) > 0);
  const watching = new AbortController();
  const watch = await fetch(`${fairway.url}/v1/backend-pools?watch=true`, { signal: watching.signal });
  cleanUp.push(() => watching.abort());

  const samples = await until('the metrics to be at rest', async () => {
    const now = await scrape(fairway);
    // The Node is written a moment after its proxy has come.
    const isRecorded = now.get('fairway_objects{kind="Node"}') === 1;
    const rests = now.get('fairway_view_lag_revisions') === 0 && now.get('fairway_xds_commits_waiting') === 0;
    return isRecorded && rests && now;
  });
  const families = new Set([...samples.keys()].map((key) => key.replace(/\{.*/, '')));
  const missing = Object.values(metricTable).filter(({ name, type }) => {
    return !families.has(type === 'histogram' ? `${name}_count` : name);
  });
  // Nothing of this came to pass.
  const quiet = new Set<string>(
    [metricTable.stalls, metricTable.storeErrors, metricTable.peerQuestions].map(({ name }) => name),
  );
  expect(missing.map(({ name }) => name).filter((name) => !quiet.has(name))).toEqual([]);

  const value = (key: string): number => samples.get(key) ?? 0;
  expect(value('fairway_api_requests_total{method="PUT",code="422"}')).toBe(1);
  expect(value('fairway_api_requests_total{method="PUT",code="409"}')).toBe(1);
  const put = 'method="PUT",code="409",route="/v1/scopes/:scope/backend-pools/:name"';
  expect(value(`fairway_api_request_seconds_count{${put}}`)).toBe(1);
  // The scrape itself.
  expect(value('fairway_api_requests_in_flight')).toBe(1);
  expect(value('fairway_api_watches')).toBe(1);
  const { body: list } = await fairway.call('GET', '/v1/backend-pools');
  expect(value('fairway_view_revision')).toBeGreaterThan(0);
  expect(value('fairway_store_revision')).toBe(value('fairway_view_revision'));
  expect(Number(list.metadata.revision)).toBeGreaterThanOrEqual(value('fairway_view_revision'));
  expect(value('fairway_store_commit_seconds_count')).toBe(value('fairway_store_commits_total{outcome="committed"}'));
  // Two scopes that are always there, a fleet, two pools, a service written twice, and a Node.
  expect(value('fairway_store_writes_total{data="spec"}')).toBe(8);
  expect(value('fairway_objects{kind="BackendPool"}')).toBe(2);
  expect(value('fairway_kernel_rows{collection="BackendPool objects"}')).toBeGreaterThanOrEqual(2);
  expect(value('fairway_kernel_failures')).toBe(0);
  expect(value('fairway_leader')).toBe(1);
  expect(value('fairway_xds_streams{protocol="delta"}')).toBe(1);
  expect(value('fairway_xds_streams{protocol="sotw"}')).toBe(0);
  expect(value('fairway_xds_nacks_total{type="Cluster"}')).toBeGreaterThan(0);
  for (const type of ['Cluster', 'Listener', 'RouteConfiguration', 'ClusterLoadAssignment']) {
    const [sent, acks, nacks] = ['sent', 'acks', 'nacks'].map((what) =>
      value(`fairway_xds_${what}_total{type="${type}"}`),
    );
    expect(sent, type).toBeGreaterThan(0);
    expect(sent, type).toBe(Number(acks) + Number(nacks));
    expect(value(`fairway_xds_sent_bytes_total{type="${type}"}`), type).toBeGreaterThan(Number(sent) * 20);
  }
  expect(value('fairway_xds_ack_lag_seconds_count')).toBeGreaterThan(1);
  expect(value('fairway_reports_total{kind="opened"}')).toBe(1);
  expect(value('fairway_reports_total{kind="rejected"}')).toBeGreaterThan(0);

  watching.abort();
  await watch.text().catch(() => undefined);
  await until('the watch to be gone', async () => (await scrape(fairway)).get('fairway_api_watches') === 0);
  expect((await scrape(fairway)).get('fairway_api_requests_in_flight')).toBe(1);
});

const rejections = 'fairway_xds_rejections_total{type="Cluster",scope="convicted"}';
