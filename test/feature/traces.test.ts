import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { startServerProcess } from '../support/server-process.ts';
import { startToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// One trace from a write to its last acknowledgement, as a receiver of OTLP gets it.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

async function start(receiverOptions: { status?: number } = {}): Promise<{ fairway: TestFairway; to: OtlpReceiver }> {
  const to = await startOtlpReceiver(receiverOptions);
  cleanUp.push(() => to.close());
  const fairway = await startFairway({ config: { traces: to.url } });
  cleanUp.push(() => fairway.close());
  return { fairway, to };
}

const pool = (port: number) => ({
  kind: 'BackendPool',
  metadata: { name: 'web' },
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
const route = '/v1/scopes/:scope/backend-pools/:name';
const path = '/v1/scopes/default/backend-pools/web';
const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0] as ReceivedSpan;
}

describe('a write that proxies are concerned by', () => {
  test('is one trace: request, commit, View, sent, acknowledged', async () => {
    const { fairway, to } = await start();
    for (const node of ['lb-1', 'lb-2']) {
      const proxy = await startToyProxy({ xdsPort: fairway.xdsPort, node, fleet: 'edge' });
      cleanUp.push(() => proxy.close());
    }
    await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool(80), shop);
    await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
    await until('both proxies to be filled', async () => {
      const { body } = await fairway.call('GET', '/v1/proxies');
      return body.items.filter(({ state }: { state: string }) => state === 'Synced').length === 2;
    });
    const { status, headers, body } = await fairway.call('PUT', path, pool(81), { traceparent });
    expect(status).toBe(200);

    const ofTrace = () => to.spans.filter(({ traceId }) => traceId === caller.traceId);
    await until('all spans', () => ofTrace().length >= 5, { describe: () => to.spans });
    const spans = ofTrace();
    const [request, commit, adopt, send, acknowledge] = [
      named(spans, `PUT ${route}`),
      named(spans, 'store commit'),
      named(spans, 'view adopt'),
      named(spans, 'xds send'),
      named(spans, 'xds acknowledge'),
    ];
    expect(spans).toHaveLength(5);
    expect(request.parentSpanId).toBe(caller.spanId);
    expect(request.service).toBe('fairway');
    expect(request.facts).toEqual({
      'http.request.method': 'PUT',
      'http.route': route,
      'http.response.status_code': 200,
      'fairway.request_id': headers.get('x-request-id'),
    });
    expect(commit.parentSpanId).toBe(request.spanId);
    expect(commit.facts).toEqual({ 'fairway.revision': Number(body.metadata.revision) });
    for (const part of [adopt, send, acknowledge]) expect(part.parentSpanId).toBe(commit.spanId);
    expect(adopt.facts['fairway.resources']).toBe(1);
    expect(acknowledge.facts).toEqual({ 'fairway.proxies': 2 });
    const times = [request.from, commit.from, adopt.from, adopt.to, send.to, acknowledge.to];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(acknowledge.from).toBeGreaterThanOrEqual(send.from);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5);
  });
});

describe('which requests are traced', () => {
  test('those that write, each in a trace of its own, and those of callers that trace', async () => {
    const { fairway, to } = await start();
    await fairway.put(pool(80));
    expect((await fairway.call('PUT', path, pool(0))).status).toBe(422);
    await fairway.call('GET', path);
    await fairway.call('GET', path, undefined, { traceparent });
    await until('the spans', () => to.spans.length >= 5, { describe: () => to.spans });
    const requests = to.spans.filter(({ facts }) => 'http.route' in facts);
    expect(requests.map(({ name, facts }) => [name, facts['http.response.status_code']])).toEqual([
      [`PUT ${route}`, 201],
      [`PUT ${route}`, 422],
      [`GET ${route}`, 200],
    ]);
    expect(requests.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined, caller.spanId]);
    expect(new Set(requests.map(({ traceId }) => traceId)).size).toBe(3);
    // The pool concerns no proxy.
    expect(to.spans.map(({ name }) => name).toSorted()).toEqual(
      [...requests.map(({ name }) => name), 'store commit', 'view adopt'].toSorted(),
    );
  });

  test.each([
    ['not sampled by its caller', `00-${caller.traceId}-${caller.spanId}-00`, undefined],
    ['of a later version', `cc-${caller.traceId}-${caller.spanId}-01-more`, caller.spanId],
    ['with more than its version has', `${traceparent}-more`, 'none'],
    ['of no version', `ff-${caller.traceId}-${caller.spanId}-01`, 'none'],
    ['with an id of zeros', `00-${'0'.repeat(32)}-${caller.spanId}-01`, 'none'],
    ['that is no such thing', 'x', 'none'],
  ])('a write whose trace is %s', async (_, header, parent) => {
    const { fairway, to } = await start();
    const { status } = await fairway.call('PUT', path, pool(80), { traceparent: header });
    expect(status).toBe(201);
    // What comes after it says that nothing more of it will come.
    const last = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
    await fairway.call('DELETE', path, undefined, last);
    await until('the last span', () => to.spans.some(({ name }) => name.startsWith('DELETE')));
    const written = to.spans.filter(({ name }) => name.startsWith('PUT'));
    const want = parent === undefined ? [] : [parent === 'none' ? undefined : parent];
    expect(written.map(({ parentSpanId }) => parentSpanId)).toEqual(want);
  });
});

test.each([
  ['without traces', [], false],
  // Nobody is there.
  ['with traces', ['--traces', 'http://127.0.0.1:9/v1/traces'], true],
])('a server %s loads the libraries only if it needs them', async (_, flags, want) => {
  const data = await mkdtemp(join(tmpdir(), 'fairway-traces-'));
  cleanUp.push(() => rm(data, { recursive: true, force: true }));
  const trace = fileURLToPath(new URL('../support/module-trace.js', import.meta.url));
  const file = join(data, 'modules');
  const node = ['--import', trace];
  const server = await startServerProcess({ data, flags, node, env: { FAIRWAY_MODULE_TRACE: file } });
  await server.stop();
  const modules = await readFile(file, 'utf8');
  expect(modules).toContain('prom-client');
  expect(modules.includes('@opentelemetry/sdk-trace')).toBe(want);
});

test('a receiver that takes nothing costs nothing but a line', async () => {
  const { fairway, to } = await start({ status: 400 });
  const failures = () => fairway.logged().split('"event":"traces_not_sent"').length - 1;
  await fairway.put(pool(80));
  await until('the failure to be told', () => failures() === 1);
  await fairway.put(pool(81));
  await fairway.close();
  expect(failures()).toBe(1);
  expect(to.spans).toEqual([]);
});
