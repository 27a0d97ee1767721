import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestApi, pool, type TestApi, type TestApiOptions, urlOf } from '../support/api.ts';
import { until } from '../support/until.ts';

let api: TestApi;
async function start(options: TestApiOptions = {}): Promise<void> {
  await api?.close();
  api = await createTestApi(options);
}
beforeEach(async () => {
  api = await createTestApi({ limits: { waitMs: 50 } });
});
afterEach(async () => {
  for (const watch of watches.splice(0)) watch.stream.destroy();
  await api.close();
});

interface Event {
  readonly type: 'put' | 'delete' | 'bookmark';
  readonly object: {
    readonly kind: string;
    readonly metadata: { readonly name?: string; readonly revision: string };
    readonly status?: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
  };
}

interface OpenWatch {
  readonly stream: Readable;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** `put web@4`, `bookmark @4`: everything so far. */
  told(): string[];
  events(): Event[];
  text(): string;
  /** Waits for as many events. */
  count(wanted: number): Promise<string[]>;
  readonly ended: Promise<void>;
}

const watches: OpenWatch[] = [];

async function watch(
  query: string,
  headers: Record<string, string> = {},
  path = '/v1/backend-pools',
): Promise<OpenWatch> {
  const answer = await api.app.inject({
    method: 'GET',
    url: `${path}?watch=true&${query}`,
    headers,
    payloadAsStream: true,
  });
  const stream = answer.stream();
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  const ended = new Promise<void>((resolve) => {
    stream
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve());
  });
  const events = (): Event[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const told = () =>
    events().map(({ type, object: { metadata } }) => `${type} ${metadata.name ?? ''}@${metadata.revision}`);
  const opened: OpenWatch = {
    stream,
    headers: answer.headers,
    status: answer.statusCode,
    told,
    events,
    text: () => text,
    ended,
    async count(wanted) {
      await until(`${wanted} events`, () => events().length >= wanted, { describe: told });
      return told();
    },
  };
  watches.push(opened);
  return opened;
}

describe('a watch', () => {
  it('without a revision begins with what there is, then a bookmark, then changes', async () => {
    await api.put(pool('a'));
    await api.put(pool('b'));
    const pools = await watch('');
    expect(pools.status).toBe(200);
    expect(pools.headers['content-type']).toBe('application/x-ndjson');
    expect(await pools.count(3)).toEqual(['put a@3', 'put b@4', 'bookmark @4']);
    await api.put(pool('a', { algorithm: 'random' }));
    await api.call('DELETE', urlOf(pool('b')));
    await api.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
    await api.put(pool('c'));
    expect((await pools.count(6)).slice(3)).toEqual(['put a@5', 'delete b@6', 'put c@8']);
    expect(pools.events()[3]?.object.status?.conditions[0]).toMatchObject({ type: 'Accepted' });
  });

  it('after a revision replays what came since, in order', async () => {
    await api.put(pool('a'));
    await api.put(pool('b'));
    await api.call('DELETE', urlOf(pool('a')));
    expect(await (await watch('after=3')).count(3)).toEqual(['put b@4', 'delete a@5', 'bookmark @5']);
    expect(await (await watch('after=5')).count(1)).toEqual(['bookmark @5']);
  });

  it('after a revision that is still to come waits for it, and gives up in time', async () => {
    const early = api.call('GET', '/v1/backend-pools?watch=true&after=9');
    expect((await early).body).toMatchObject({ status: 504, code: 'RevisionTimeout' });
    const opening = watch('after=3');
    await api.put(pool('a'));
    expect(await (await opening).count(1)).toEqual(['bookmark @3']);
  });

  it('after a revision that is no longer kept is refused with 410', async () => {
    await start({ view: { kept: 2 } });
    for (const name of ['a', 'b', 'c', 'd']) await api.put(pool(name));
    const answer = await api.call('GET', '/v1/backend-pools?watch=true&after=2');
    expect(answer.status).toBe(410);
    expect(answer.body).toMatchObject({ code: 'RevisionCompacted', revision: '6' });
    expect(await (await watch('after=4')).count(3)).toEqual(['put c@5', 'put d@6', 'bookmark @6']);
  });

  it('says from time to time how far it is', async () => {
    await start({ limits: { bookmarkMs: 20 } });
    const pools = await watch('');
    await pools.count(3);
    await api.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
    await until('a bookmark at the new revision', () => pools.told().at(-1) === 'bookmark @3');
    expect(new Set(pools.told())).toEqual(new Set(['bookmark @2', 'bookmark @3']));
  });

  it('of one object tells of it alone', async () => {
    await api.put(pool('a'));
    const one = await watch('', {}, urlOf(pool('a')));
    await api.put(pool('b'));
    await api.call('DELETE', urlOf(pool('a')));
    expect(await one.count(3)).toEqual(['put a@3', 'bookmark @3', 'delete a@5']);
  });

  it('sends many objects in slices, each once', async () => {
    const set = Array.from({ length: 250 }, (_, i) => pool(`p${i}`));
    await api.call('POST', '/v1/apply?atomic=false', set);
    const pools = await watch('');
    const told = await pools.count(251);
    expect(new Set(told).size).toBe(251);
    expect(told.at(-1)).toBe('bookmark @252');
  });

  it('as HEAD has no end to wait for', async () => {
    const answer = await api.call('HEAD', '/v1/backend-pools?watch=true');
    expect(answer).toMatchObject({ status: 200, text: '' });
  });
});

describe('a watch with selectors', () => {
  it('tells of an object that leaves the selection as deleted, and of one that was never in it nothing', async () => {
    await api.put(pool('in', {}, { labels: { team: 'web' } }));
    await api.put(pool('out'));
    const web = await watch('after=4&labelSelector=team%3Dweb');
    await api.put(pool('out', { algorithm: 'random' }));
    await api.put(pool('in', {}, { labels: { team: 'api' } }));
    await api.put(pool('in', { algorithm: 'random' }, { labels: { team: 'api' } }));
    await api.put(pool('out', {}, { labels: { team: 'web' } }));
    await api.call('DELETE', urlOf(pool('in')));
    await api.call('DELETE', urlOf(pool('out')));
    expect(await web.count(4)).toEqual(['bookmark @4', 'delete in@6', 'put out@8', 'delete out@10']);
  });

  it('follows conditions', async () => {
    await api.put(pool('a'));
    await api.put(pool('b'));
    const selector = encodeURIComponent('status.conditions.Programmed=False');
    const failing = await watch(`fieldSelector=${selector}`);
    expect(await failing.count(1)).toEqual(['bookmark @4']);
    await api.view.setCondition('BackendPool/default/a', 'Programmed', 'False');
    await api.view.setCondition('BackendPool/default/b', 'Programmed', 'True');
    await api.view.setCondition('BackendPool/default/a', 'Programmed', 'True');
    await api.view.setCondition('BackendPool/default/a', 'Programmed', 'False');
    await api.call('DELETE', urlOf(pool('a')));
    const told = await failing.count(5);
    // Of b nobody knows whether it was selected before: one deletion too many is harmless.
    expect(told.filter((event) => !event.startsWith('delete b'))).toEqual([
      'bookmark @4',
      'put a@3',
      'delete a@3',
      'put a@3',
      'delete a@9',
    ]);
  });

  it('refuses what a list would refuse', async () => {
    expect((await api.call('GET', '/v1/backend-pools?watch=true&labelSelector=a(')).status).toBe(400);
  });
});

describe('server-sent events', () => {
  it('have the type as event, and the revision as id of the last event of a commit', async () => {
    const pools = await watch('after=2', { accept: 'text/event-stream' });
    expect(pools.headers['content-type']).toBe('text/event-stream');
    await api.call('POST', '/v1/apply', [pool('a'), pool('b')]);
    await until('the second put', () => pools.text().includes('"b"'));
    const blocks = pools.text().trim().split('\n\n');
    const lines = blocks.map((block) => block.split('\n').filter((line) => !line.startsWith('data:')));
    expect(lines).toEqual([['event: bookmark', 'id: 2'], ['event: put'], ['event: put', 'id: 3']]);
    const data = blocks.map((block) => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '').object.metadata.name);
    expect(data).toEqual([undefined, 'a', 'b']);
  });

  it('go on after the last id that a browser has seen', async () => {
    await api.put(pool('a'));
    await api.put(pool('b'));
    const headers = { accept: 'text/event-stream', 'last-event-id': '3' };
    const pools = await watch('', headers);
    await until('a bookmark', () => pools.text().includes('bookmark'));
    expect(pools.text()).not.toContain('"a"');
    expect(pools.text()).toContain('"b"');
    expect((await api.call('GET', '/v1/routes?watch=true', undefined, { 'last-event-id': 'x' })).status).toBe(400);
  });
});

describe('the end of a watch', () => {
  it('comes with that of the server, and its client sees a whole answer', async () => {
    const pools = await watch('');
    await pools.count(1);
    await api.app.close();
    await pools.ended;
    expect(pools.told()).toEqual(['bookmark @2']);
  });

  it('comes for a client that reads too slowly, and costs no memory until then', async () => {
    await start({ limits: { bookmarkMs: 20 }, view: { kept: 50 } });
    const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
    const note = 'x'.repeat(15_000);
    const socket = connect(Number(address.port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET /v1/backend-pools?watch=true HTTP/1.1\r\nhost: a\r\n\r\n');
    await new Promise<void>((resolve) => socket.once('readable', resolve));
    // Far more than the buffers of two sockets hold, in far more changes than are kept.
    for (let i = 0; i < 1200; i++) await api.put(pool('web', {}, { annotations: { note: `${note}${i}` } }));
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await until('the end of the watch', () => socket.closed || socket.readableEnded, { describe: () => received });
    expect(received).toBeLessThan(1200 * note.length);
    expect(api.everything()).toContain('watch_behind');
    socket.destroy();
  });

  it('comes when the client goes', async () => {
    const before = api.view.listeners;
    const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(address.port), '127.0.0.1');
    socket.write('GET /v1/backend-pools?watch=true HTTP/1.1\r\nhost: a\r\n\r\n');
    await new Promise<void>((resolve) => socket.once('data', () => resolve()));
    expect(api.view.listeners).toBe(before + 1);
    socket.destroy();
    await until('nobody to listen', () => api.view.listeners === before);
  });
});
