import { afterEach, describe, expect, it } from 'vitest';
import { FairwayError } from '../../src/lib/errors.ts';
import type { Store, Transaction } from '../../src/store/index.ts';
import { createTestApi, pool, type TestApi, urlOf } from '../support/api.ts';

let api: TestApi;
afterEach(async () => {
  await api.close();
});

const url = urlOf(pool('web'));

/** A store in which `intrude` comes between what a write has read and its commit. */
async function start(intrude: (store: Store, transaction: Transaction) => Promise<void>): Promise<void> {
  api = await createTestApi({
    limits: { commitAttempts: 4 },
    store: (store) => ({
      commit: async (transaction) => {
        await intrude(store, transaction);
        return store.commit(transaction);
      },
      get: (key) => store.get(key),
      list: (prefix) => store.list(prefix),
      head: () => store.head(),
      watch: (after, signal) => store.watch(after, signal),
      close: () => store.close(),
    }),
  });
}

/** Another controller changes the pool, `times` times in all. */
function intruder(
  times: number,
  change: (stored: { metadata: { labels: object }; spec: object }, turn: number) => void,
) {
  let turn = 0;
  return async (store: Store, { puts, deletes }: Transaction) => {
    const key = 'spec/BackendPool/default/web';
    if (!puts.some((put) => put.key === key) && !deletes.includes(key)) return;
    const entry = await store.get(key);
    if (entry === undefined || turn >= times) return;
    const stored = JSON.parse(entry.value);
    change(stored, ++turn);
    await store.commit({
      id: `other-${turn}`,
      checks: [],
      puts: [{ key, value: JSON.stringify(stored) }],
      deletes: [],
    });
  };
}

const relabel = (stored: { metadata: { labels: object } }, turn: number) => {
  stored.metadata.labels = { by: `other-${turn}` };
};

describe('a write that loses a race', () => {
  it('is made again: PATCH on what the other one left', async () => {
    await start(intruder(2, relabel));
    await api.put(pool('web'));
    const answer = await api.call('PATCH', url, { spec: { algorithm: 'random' } });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      metadata: { labels: { by: 'other-2' }, revision: '6' },
      spec: { algorithm: 'random' },
    });
  });

  it('is made again: PUT wins, and keeps the generation that the other one counted', async () => {
    await start(
      intruder(1, (stored) => {
        Object.assign(stored.metadata, { generation: 2 });
        stored.spec = { members: [] };
      }),
    );
    await api.put(pool('web'));
    const answer = await api.call('PUT', url, pool('web', { algorithm: 'random' }));
    expect(answer.body).toMatchObject({
      metadata: { generation: 3, createdRevision: '3' },
      spec: { algorithm: 'random' },
    });
  });

  it('with If-Match is refused with what the other one left', async () => {
    await start(intruder(1, relabel));
    await api.put(pool('web'));
    const answer = await api.call('PUT', url, pool('web', { algorithm: 'random' }), { 'if-match': '"3"' });
    expect(answer.body).toMatchObject({
      status: 409,
      code: 'Conflict',
      current: { metadata: { labels: { by: 'other-1' } } },
    });
  });

  it('is given up after some attempts', async () => {
    await start(intruder(100, relabel));
    await api.put(pool('web'));
    const answer = await api.call('PATCH', url, { spec: { algorithm: 'random' } });
    expect(answer.body).toMatchObject({
      status: 409,
      code: 'Conflict',
      current: { metadata: { labels: { by: 'other-4' } } },
    });
    expect((await api.call('GET', url)).body.metadata.generation).toBe(1);
  });

  it('to the deletion of its scope is refused', async () => {
    await start(async (store, { puts }) => {
      if (!puts.some(({ key }) => key === 'spec/BackendPool/shop/web')) return;
      await store.commit({ id: 'other', checks: [], puts: [], deletes: ['spec/Scope/shop'] });
    });
    await api.put({ kind: 'Scope', metadata: { name: 'shop' }, spec: {} });
    const answer = await api.call('PUT', '/v1/scopes/shop/backend-pools/web', pool('web', {}, { scope: 'shop' }));
    expect(answer.body).toMatchObject({ status: 404, code: 'NotFound' });
    expect(await api.store.get('spec/BackendPool/shop/web')).toBeUndefined();
  });

  it('of 50 that come at once loses nothing', async () => {
    await start(async () => undefined);
    await api.put(pool('web'));
    const patches = Array.from({ length: 50 }, (_, i) =>
      api.call('PATCH', urlOf(pool('web')), { metadata: { labels: { [`l${i % 4}`]: `${i}` } } }),
    );
    const done = (await Promise.all(patches)).filter(({ status }) => status === 200);
    const { labels, revision } = (await api.call('GET', url)).body.metadata;
    expect(Number(revision)).toBe(3 + done.length);
    expect(Object.keys(labels).length).toBeGreaterThan(0);
  });
});

describe('a store that fails', () => {
  it('gives 503, and the request may be made again', async () => {
    let isFull = false;
    await start(async () => {
      if (isFull) throw new FairwayError('StoreUnavailable', 'committing a transaction: the disk is full');
    });
    isFull = true;
    const answer = await api.call('PUT', url, pool('web'));
    expect(answer.body).toMatchObject({ status: 503, code: 'StoreUnavailable' });
    expect(answer.headers['retry-after']).toBe('1');
    isFull = false;
    expect((await api.call('PUT', url, pool('web'))).status).toBe(201);
  });

  it('with a bug gives 500 without its words, which are in the log', async () => {
    let isBroken = false;
    await start(async () => {
      if (isBroken) throw new TypeError('cannot read /etc/secret');
    });
    isBroken = true;
    const answer = await api.call('PUT', url, pool('web'), { 'x-request-id': 'broken-1' });
    expect(answer.body).toMatchObject({ status: 500, code: 'Internal', requestId: 'broken-1' });
    expect(answer.text).not.toContain('secret');
    const logged = api
      .everything()
      .split('\n')
      .filter((line) => line.includes('request_failed'));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('"requestId":"broken-1"');
    expect(logged[0]).toContain('cannot read /etc/secret');
  });

  it('while the history of deleted objects is swept does not undo the deletion', async () => {
    let sweeps = 0;
    await start(async (_store, { puts, deletes }) => {
      if (puts.length > 0 || deletes.some((key) => key.startsWith('spec/'))) return;
      sweeps++;
      throw new FairwayError('StoreUnavailable', 'committing a transaction: the disk is full');
    });
    const set = (seconds: number) =>
      Array.from({ length: 30 }, (_, i) =>
        pool(`p${i}`, { connectTimeout: `${seconds}s` }, { labels: { app: 'shop' } }),
      );
    for (let i = 1; i <= 8; i++) await api.call('POST', '/v1/apply', set(i));
    const answer = await api.call('POST', '/v1/apply?prune=app', [pool('web')]);
    expect(answer.body.counts).toMatchObject({ deleted: 30 });
    expect(sweeps).toBe(1);
    expect(api.everything()).toContain('history_left');
  });
});
