import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { EventRecord } from '../../src/status/index.ts';
import { createTestApi, type TestApi } from '../support/api.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { startToyProxy, type ToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// What happened, as the REST API tells it: of a whole server with proxies, and of any events.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

interface Told {
  readonly object: { readonly kind: string; readonly scope?: string; readonly name: string };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
}

async function fairwayWith(options: Parameters<typeof startFairway>[0] = {}): Promise<TestFairway> {
  const fairway = await startFairway(options);
  cleanUp.push(() => fairway.close());
  return fairway;
}

async function proxy({ xdsPort }: TestFairway, node: string): Promise<ToyProxy> {
  const started = await startToyProxy({ xdsPort, node, fleet: 'edge' });
  cleanUp.push(() => started.close());
  return started;
}

async function happened({ call }: TestFairway, query: string): Promise<Told[]> {
  return (await call('GET', `/v1/events${query}`)).body.items;
}

const pool = (name: string) => ({
  kind: 'BackendPool',
  metadata: { name },
  spec: { members: [{ address: '10.0.0.1', port: 80 }] },
});
const shop = (poolName: string) => ({
  kind: 'VirtualService',
  metadata: { name: 'shop' },
  spec: {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP', defaultAction: { forward: [{ pool: poolName }] } }],
  },
});
const edge = { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} };

describe('a server tells', () => {
  it('of proxies that come and go, and counts what comes again', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge);
    for (let n = 1; n <= 3; n += 1) {
      const connected = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-1', fleet: 'edge' });
      await until('it to have come', async () => {
        const [event] = await happened(fairway, '?reason=ProxyConnected');
        return event?.count === n;
      });
      connected.close();
      await until('it to have gone', async () => {
        const [event] = await happened(fairway, '?reason=ProxyDisconnected');
        return event?.count === n;
      });
    }
    expect(await happened(fairway, '?kind=Node&name=lb-1')).toMatchObject([
      { object: { kind: 'Node', name: 'lb-1' }, type: 'Warning', reason: 'ProxyDisconnected', count: 3 },
      { type: 'Normal', reason: 'ProxyConnected', message: 'version 1.0.0 of fleet edge connected', count: 3 },
      { type: 'Normal', reason: 'NodeRegistered', message: 'it joined fleet edge', count: 1 },
    ]);
    // That it was let in is for the audit.
    const { body } = await fairway.call('GET', '/v1/audit?kind=Node');
    expect(body.items).toMatchObject([
      { who: { name: 'lb-1', kind: 'proxy' }, from: '127.0.0.1', objects: [{ name: 'lb-1', change: 'created' }] },
    ]);
  });

  it('of what proxies refuse, and of the object that is found to be at fault', async () => {
    const fairway = await fairwayWith();
    const refusing = await proxy(fairway, 'lb-1');
    refusing.refuse(({ name }) => (name === 'default/poison' ? 'no such thing' : undefined));
    await fairway.put(edge, pool('good'), pool('poison'), shop('good'));
    await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
    await fairway.put(shop('poison'));
    await until('the refusal', async () => (await happened(fairway, '?reason=ConfigurationRejected')).length > 0);
    const [event] = await happened(fairway, '?reason=ConfigurationRejected');
    expect(event).toMatchObject({
      object: { kind: 'BackendPool', scope: 'default', name: 'poison' },
      type: 'Warning',
      message: 'lb-1 refused Cluster default/poison: no such thing',
    });
    const convicted = await until('the conviction', async () => {
      const found = await happened(fairway, '?reason=ObjectConvicted');
      return found.length > 0 && found;
    });
    expect(convicted[0]?.object).toMatchObject({ kind: 'BackendPool', name: 'poison' });
    expect(convicted[0]?.message).toContain('no such thing');
  });

  it('the same after a restart, and does not take its own end for that of the proxies', async () => {
    const data = await mkdtemp(join(tmpdir(), 'fairway-events-'));
    cleanUp.push(() => rm(data, { recursive: true, force: true }));
    const first = await startFairway({ data });
    const connected = await startToyProxy({ xdsPort: first.xdsPort, node: 'lb-1', fleet: 'edge' });
    cleanUp.push(() => connected.close());
    await until('it to have come', async () => (await happened(first, '')).length === 2);
    const before = await happened(first, '');
    await first.close();
    const second = await fairwayWith({ data });
    expect(await happened(second, '')).toEqual(before);
    expect(before.map(({ reason }) => reason)).not.toContain('ProxyDisconnected');
  });

  it('at once, to whoever watches', async () => {
    const fairway = await fairwayWith();
    const first = await proxy(fairway, 'lb-1');
    await until('the first to have come', async () => (await happened(fairway, '?reason=ProxyConnected')).length === 1);
    const watching = new AbortController();
    cleanUp.push(() => watching.abort());
    const lines = watch(`${fairway.url}/v1/events?watch=true&reason=ProxyConnected`, watching.signal);
    await until('what is there', () => lines.length === 1);
    await proxy(fairway, 'lb-2');
    await until('what came', () => lines.length === 2, { describe: () => lines });
    first.close();
    await proxy(fairway, 'lb-1');
    await until('what came again', () => lines.length === 3, { describe: () => lines });
    expect(lines.map(({ object, type }) => [type, object.object.name, object.count])).toEqual([
      ['put', 'lb-1', 1],
      ['put', 'lb-2', 1],
      ['put', 'lb-1', 2],
    ]);
  });
});

/** The lines of a watch as they come, without its bookmarks. */
function watch(url: string, signal: AbortSignal): { type: string; object: Told }[] {
  const lines: { type: string; object: Told }[] = [];
  void (async () => {
    const { body } = await fetch(url, { signal });
    let rest = '';
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts.map((line) => JSON.parse(line)).filter(({ type }) => type !== 'bookmark'));
    }
  })().catch(() => undefined);
  return lines;
}

describe('the list', () => {
  let api: TestApi;

  async function told(query: string): Promise<string[]> {
    const { status, body, text } = await api.call('GET', `/v1/events${query}`);
    expect(status, text).toBe(200);
    return body.items.map(({ message }: Told) => message);
  }

  const event = (n: number, more: Partial<EventRecord> = {}): EventRecord => ({
    object: 'Node/lb-1',
    type: 'Normal',
    reason: 'ProxyConnected',
    message: String(n),
    count: 1,
    first: `2029-12-31T23:0${n}:00.000Z`,
    last: `2029-12-31T23:0${n}:00.000Z`,
    controller: 'a',
    ...more,
  });

  it.each([
    ['', ['4', '3', '2', '1']],
    ['?type=Warning', ['3']],
    ['?reason=ProxyStalled', ['3']],
    ['?kind=BackendPool&scope=web', ['4']],
    ['?name=lb-1', ['3', '1']],
    ['?since=2029-12-31T23:03:00Z', ['4', '3']],
    ['?since=57m', ['4', '3']],
    ['?limit=1', ['4']],
    ['?kind=Route', []],
  ])('%s', async (query, want) => {
    api = await createTestApi();
    cleanUp.push(() => api.close());
    api.happen(event(1));
    api.happen(event(2, { object: 'Node/lb-2' }));
    api.happen(event(3, { type: 'Warning', reason: 'ProxyStalled' }));
    api.happen(event(4, { object: 'BackendPool/web/shop' }));
    expect(await told(query)).toEqual(want);
  });

  it.each(['?type=Bad', '?since=then', '?limit=0', '?reasons=x'])('%s is refused', async (query) => {
    api = await createTestApi();
    cleanUp.push(() => api.close());
    expect((await api.call('GET', `/v1/events${query}`)).body).toMatchObject({ status: 400, code: 'InvalidParameter' });
  });
});
