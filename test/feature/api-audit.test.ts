import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/audit/index.ts';
import { storeKey } from '../../src/model/index.ts';
import { certificate, createTestApi, keyFragments, pool, service, type TestApi, testTime } from '../support/api.ts';
import { until } from '../support/until.ts';

// Who did what: every write and every refusal leaves a record, and what is asked of the records.

let api: TestApi;
let time: number;

/** A second goes by with each look at the clock. Who sends a request says so in a header. */
async function start(refusalWindowMs?: number): Promise<TestApi> {
  time = testTime;
  api = await createTestApi({
    clock: () => {
      time += 1000;
      return time;
    },
    extend(app) {
      app.addHook('onRequest', async (request) => {
        const name = request.headers['x-test-user'];
        if (typeof name === 'string') request.identity = { name, kind: 'token', groups: [] };
      });
    },
    ...(refusalWindowMs !== undefined && { refusalWindowMs }),
  });
  return api;
}

afterEach(() => api.close());

type Item = AuditRecord & { readonly id: string; readonly revision: string };

async function list(query = ''): Promise<Item[]> {
  const { status, body, text } = await api.call('GET', `/v1/audit${query}`);
  expect(status, text).toBe(200);
  return body.items;
}

const ada = { 'x-test-user': 'ada' };
const path = '/v1/scopes/default/backend-pools/web';

describe('a write', () => {
  it('leaves who, from where, what, when, before and after, and the request', async () => {
    await start();
    await api.call('PUT', path, pool('web'), ada);
    const written = await api.call('PUT', path, pool('web', { algorithm: 'random' }), ada);
    const [newest] = await list();
    expect(newest).toEqual({
      id: expect.stringMatching(/^2030-01-01T00:0\d:\d\d\.000Z-id-\d+$/),
      revision: written.body.metadata.revision,
      at: newest?.id.slice(0, 24),
      who: { name: 'ada', kind: 'token' },
      from: '127.0.0.1',
      requestId: written.headers['x-request-id'],
      request: 'PUT /v1/scopes/:scope/backend-pools/:name',
      outcome: 'accepted',
      objects: [
        {
          kind: 'BackendPool',
          scope: 'default',
          name: 'web',
          change: 'updated',
          fields: [{ path: '/spec/algorithm', after: 'random' }],
        },
      ],
    });
  });

  it('has its record in the same commit, and none when it changes nothing', async () => {
    await start();
    await api.put(pool('web'));
    const [record] = await list();
    const name = `${record?.id}`;
    expect((await api.store.get(storeKey('auditWrite', name)))?.modRevision).toBe(Number(record?.revision));
    expect((await api.store.get('spec/BackendPool/default/web'))?.modRevision).toBe(Number(record?.revision));
    const head = await api.store.head();
    await api.put(pool('web'));
    expect(await api.store.head()).toBe(head);
    expect(await list('?name=web')).toHaveLength(1);
  });

  it('of a set is one record with all its objects; one by one, a record each', async () => {
    await start();
    const set = [pool('a'), pool('b'), service('shop', 'a')];
    await api.call('POST', '/v1/apply', set, ada);
    expect(await list('?who=ada')).toMatchObject([
      { request: 'POST /v1/apply', objects: [{ name: 'a' }, { name: 'b' }, { name: 'shop' }] },
    ]);
    const { headers } = await api.call('POST', '/v1/apply?atomic=false', [pool('c'), pool('d')], ada);
    const each = await list(`?requestId=${headers['x-request-id']}`);
    expect(each.map(({ objects }) => objects.map(({ name }) => name)).toSorted()).toEqual([['c'], ['d']]);
  });

  it('is a patch or a deletion as well', async () => {
    await start();
    await api.put(pool('web'));
    const patch = { spec: { algorithm: 'random' } };
    await api.call('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
    await api.call('DELETE', path);
    expect((await list('?name=web')).map(({ objects }) => objects[0]?.change)).toEqual([
      'deleted',
      'updated',
      'created',
    ]);
  });

  it('that was only tried leaves nothing', async () => {
    await start(60_000);
    await api.call('PUT', `${path}?dryRun=true`, pool('web'), ada);
    expect(await list('?who=ada')).toEqual([]);
  });
});

it('a key is told as changed, and is in no record, answer or log line', async () => {
  await start();
  await api.put(certificate('tls'));
  await api.put(certificate('tls', 'p384'));
  await api.call('DELETE', '/v1/scopes/default/certificates/tls');
  const fields = (await list('?kind=Certificate')).map(({ objects }) => objects[0]?.fields?.at(-1));
  expect(fields).toEqual([
    { path: '/spec/key', before: '[redacted]' },
    { path: '/spec/key', before: '[redacted]', after: '[redacted]' },
    { path: '/spec/key', after: '[redacted]' },
  ]);
  const { entries } = await api.store.list('audit/');
  const everything = [api.everything(), ...entries.map(({ value }) => value)].join('\n');
  expect(everything).toContain('"event":"audit"');
  const leaks = keyFragments('p256', 'p384').filter((fragment) => everything.includes(fragment));
  expect(leaks).toEqual([]);
});

describe('a refused write', () => {
  it.each<[string, () => Promise<unknown>, object]>([
    [
      'for what it says',
      () => api.call('PUT', path, pool('web', { members: [{ address: 'x y', port: 1 }] }), ada),
      { code: 'InvalidObject', objects: [{ kind: 'BackendPool', scope: 'default', name: 'web' }] },
    ],
    [
      'for what stands there',
      () => api.call('PUT', path, pool('web'), { ...ada, 'if-match': '"999"' }),
      { code: 'Conflict', request: 'PUT /v1/scopes/:scope/backend-pools/:name' },
    ],
    ['for what is not there', () => api.call('DELETE', path, undefined, ada), { code: 'NotFound' }],
    [
      'of a set',
      () => api.call('POST', '/v1/apply', [{ kind: 'Nothing' }], ada),
      { code: 'InvalidObject', request: 'POST /v1/apply', objects: [] },
    ],
    ['of a method that is none', () => api.call('POST', path, {}, ada), { code: 'MethodNotAllowed' }],
    ['at no path', () => api.call('POST', '/v1/nothing', {}, ada), { code: 'NotFound', request: 'POST none' }],
  ])('%s leaves a record with the reason', async (_, write, want) => {
    await start(60_000);
    await write();
    const records = await until('the record', async () => {
      const found = await list('?outcome=refused');
      return found.length > 0 && found;
    });
    expect(records).toMatchObject([
      { who: { name: 'ada' }, from: '127.0.0.1', outcome: 'refused', detail: expect.stringMatching(/./), ...want },
    ]);
    expect(api.everything()).toContain('"outcome":"refused"');
  });

  it('is no reading', async () => {
    await start(60_000);
    await api.call('GET', path);
    await api.call('GET', '/v1/nothing');
    await api.call('DELETE', path);
    await until('the record', async () => (await list('?outcome=refused')).length > 0);
    expect(await list('?outcome=refused')).toHaveLength(1);
  });

  it('repeats no key that was sent in it', async () => {
    await start(60_000);
    const { spec } = certificate('tls');
    const { key } = spec as { readonly key: string };
    const wrong = { ...certificate('tls'), spec: { ...(spec as object), [key]: key } };
    await api.call('PUT', '/v1/scopes/default/certificates/tls', wrong);
    const [record] = await until('the record', async () => {
      const found = await list('?outcome=refused');
      return found.length > 0 && found;
    });
    for (const fragment of keyFragments('p256')) expect(JSON.stringify(record)).not.toContain(fragment);
  });
});

describe('a flood of refusals', () => {
  it('is a few records, which count them, and pushes nothing else out', async () => {
    await start(60_000);
    await api.put(pool('web'));
    const head = await api.store.head();
    const refused = (user: string) =>
      api.call('DELETE', '/v1/scopes/default/backend-pools/none', undefined, { 'x-test-user': user });
    for (let n = 0; n < 200; n += 1) await refused('ada');
    for (let n = 0; n < 100; n += 1) await refused('bob');
    await until('the first of each', async () => (await list('?outcome=refused')).length === 2);
    expect((await api.store.head()) - head).toBeLessThanOrEqual(10);
    await api.app.close();
    const all = await recordsAfter(() => api.close());
    const counts = new Map<string, number>();
    for (const { who, count = 1 } of all) counts.set(who.name, (counts.get(who.name) ?? 0) + count);
    expect(counts).toEqual(
      new Map([
        ['ada', 200],
        ['bob', 100],
      ]),
    );
    expect(all.length).toBeLessThanOrEqual(12);
    await start();
  });

  it('from everywhere is counted together as well', async () => {
    await start(600_000);
    const head = await api.store.head();
    for (let n = 0; n < 400; n += 1) {
      await api.call('DELETE', '/v1/scopes/default/backend-pools/none', undefined, { 'x-test-user': `user-${n}` });
    }
    await until('the records', async () => (await list('?outcome=refused&limit=500')).length >= 201);
    const records = await list('?outcome=refused&limit=500');
    expect(records.filter(({ who }) => who.kind === 'several')).toHaveLength(1);
    expect((await api.store.head()) - head).toBeLessThan(30);
  });
});

/** Records of refusals in the store at the moment before it is closed. */
async function recordsAfter(close: () => Promise<void>): Promise<AuditRecord[]> {
  const { store } = api;
  const found: AuditRecord[] = [];
  const closing = store.close.bind(store);
  store.close = async () => {
    const { entries } = await store.list('audit/refusal/');
    found.push(...entries.map(({ value }) => JSON.parse(value) as AuditRecord));
    await closing();
  };
  await close();
  return found;
}

it('whoever goes away before the answer is refused on record all the same', async () => {
  await start(60_000);
  const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
  const sent = request({ host: address.hostname, port: address.port, path, method: 'DELETE', headers: ada });
  sent.on('error', () => undefined);
  sent.end(() => sent.destroy());
  await until('the record', async () => (await list('?who=ada&outcome=refused')).length > 0);
});

describe('the records', () => {
  async function some(): Promise<void> {
    await start(60_000);
    await api.put(pool('a'));
    await api.call('PUT', '/v1/scopes/default/backend-pools/b', pool('b'), ada);
    await api.put(service('shop', 'a'));
    await api.call('DELETE', '/v1/scopes/default/backend-pools/none', undefined, ada);
    await until('the refusal', async () => (await list('?outcome=refused')).length > 0);
  }

  const namesOf = (items: readonly Item[]) => items.flatMap(({ objects }) => objects.map(({ name }) => name));

  it.each([
    ['?who=ada', ['none', 'b']],
    ['?who=local&kind=BackendPool', ['a']],
    ['?who=nobody', []],
    ['?kind=BackendPool', ['none', 'b', 'a']],
    ['?kind=Scope', ['system', 'default']],
    ['?scope=default&outcome=accepted', ['shop', 'b', 'a']],
    ['?name=shop', ['shop']],
    ['?kind=BackendPool&name=shop', []],
    ['?outcome=refused', ['none']],
    ['?outcome=failed', []],
    ['?since=2031-01-01T00:00:00Z', []],
    ['?until=2029-01-01T00:00:00Z', []],
    ['?since=1h&kind=VirtualService', ['shop']],
  ])('%s', async (query, want) => {
    await some();
    expect(namesOf(await list(query))).toEqual(want);
  });

  it('come in pages without a gap, newest first', async () => {
    await some();
    const all = (await list()).map(({ id }) => id);
    expect(all).toEqual(all.toSorted().toReversed());
    expect(all).toHaveLength(6);
    const paged: string[] = [];
    let token: string | undefined;
    do {
      const query = `?limit=2${token === undefined ? '' : `&continue=${token}`}`;
      const { body } = await api.call('GET', `/v1/audit${query}`);
      expect(body.items.length).toBeLessThanOrEqual(2);
      paged.push(...body.items.map(({ id }: Item) => id));
      token = body.metadata.continue;
      // What comes meanwhile is newer, and not of these pages.
      await api.put(pool(`later-${paged.length}`));
    } while (token !== undefined);
    expect(paged).toEqual(all);
  });

  it.each(['?limit=0', '?limit=501', '?since=yesterday', '?outcome=good', '?continue=xyz', '?whom=ada'])(
    '%s is refused',
    async (query) => {
      await start();
      expect((await api.call('GET', `/v1/audit${query}`)).body).toMatchObject({
        status: 400,
        code: 'InvalidParameter',
      });
    },
  );
});
