import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { historyKey } from '../../src/model/index.ts';
import { createTestApi, pool, service, type TestApi, urlOf } from '../support/api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi();
});
afterEach(async () => {
  await api.close();
});

const url = '/v1/scopes/default/backend-pools/web';

describe('PUT', () => {
  it('creates with 201, and answers with the object as it is stored', async () => {
    const answer = await api.call('PUT', url, pool('web', {}, { labels: { team: 'web' } }));
    expect(answer.status).toBe(201);
    expect(answer.headers['etag']).toBe('"3"');
    expect(answer.headers['fairway-revision']).toBe('3');
    expect(answer.body).toEqual({
      apiVersion: 'fairway/v1',
      kind: 'BackendPool',
      metadata: {
        name: 'web',
        scope: 'default',
        labels: { team: 'web' },
        annotations: {},
        uid: expect.stringMatching(/^id-/),
        generation: 1,
        createdAt: '2030-01-01T00:00:00.000Z',
        revision: '3',
        createdRevision: '3',
      },
      spec: { members: [{ address: '10.0.0.1', port: 8080 }] },
      status: { observedGeneration: 1, conditions: [expect.objectContaining({ type: 'Accepted', status: 'True' })] },
    });
    expect((await api.call('GET', url)).body).toEqual(answer.body);
  });

  it('replaces with 200: a new spec is a new generation, the former one goes to history in the same commit', async () => {
    const created = (await api.put(pool('web'))).body;
    const answer = await api.call('PUT', url, pool('web', { algorithm: 'random' }));
    expect(answer.status).toBe(200);
    expect(answer.body.metadata).toEqual({ ...created.metadata, generation: 2, revision: '4' });
    const former = await api.store.get(historyKey('BackendPool/default/web', 1));
    expect(former).toMatchObject({ modRevision: 4 });
    expect(JSON.parse(former?.value ?? '').spec).toEqual(created.spec);
  });

  it('changes labels and annotations without a new generation and without history', async () => {
    await api.put(pool('web'));
    const answer = await api.put(pool('web', {}, { labels: { team: 'web' } }));
    expect(answer.body.metadata).toMatchObject({ generation: 1, revision: '4', labels: { team: 'web' } });
    expect((await api.store.list('history/')).entries).toEqual([]);
  });

  it('commits nothing when the object is the same', async () => {
    await api.put(pool('web'));
    const before = await api.store.head();
    // Also with its fields in another order, and with what Fairway writes.
    const shown = (await api.call('GET', url)).body;
    const { kind, ...rest } = shown;
    const answer = await api.call('PUT', url, { ...rest, status: { conditions: [] }, kind });
    expect(answer.status).toBe(200);
    expect(answer.body.metadata).toMatchObject({ generation: 1, revision: '3' });
    expect(await api.store.head()).toBe(before);
    expect(api.preview.writes).toEqual([]);
  });

  it('ignores what Fairway writes', async () => {
    const mine = { uid: 'mine', generation: 77, revision: '99', createdAt: 'x', createdRevision: '1', source: 'me' };
    const answer = await api.call('PUT', url, { ...pool('web'), metadata: { name: 'web', ...mine }, status: { a: 1 } });
    expect(answer.status).toBe(201);
    expect(answer.body.metadata).toMatchObject({ generation: 1, revision: '3', uid: expect.stringMatching(/^id-/) });
    expect(answer.body.metadata.source).toBeUndefined();
  });

  it('takes YAML', async () => {
    const yaml =
      'apiVersion: fairway/v1\nkind: BackendPool\nmetadata: {name: web}\nspec:\n  members:\n  - {address: 10.0.0.1, port: 80}\n';
    const answer = await api.call('PUT', url, yaml, { 'content-type': 'application/yaml' });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body.spec.members).toEqual([{ address: '10.0.0.1', port: 80 }]);
  });

  it.each([
    ['name', { kind: 'BackendPool', metadata: { name: 'other' }, spec: {} }, '/metadata/name'],
    ['scope', { kind: 'BackendPool', metadata: { name: 'web', scope: 'system' }, spec: {} }, '/metadata/scope'],
    ['kind', { kind: 'Route', metadata: { name: 'web' }, spec: {} }, '/kind'],
  ])('refuses another %s than in the path', async (_what, body, pointer) => {
    const answer = await api.call('PUT', url, body);
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe('InvalidObject');
    expect(answer.body.errors).toEqual([{ pointer, message: expect.any(String) }]);
    expect((await api.call('GET', url)).status).toBe(404);
  });

  it('into a scope that is not there is refused with how to make it, and works then', async () => {
    const inside = '/v1/scopes/shop/backend-pools/web';
    const refused = await api.call('PUT', inside, pool('web', {}, { scope: 'shop' }));
    expect(refused.status).toBe(404);
    expect(refused.body).toMatchObject({ code: 'NotFound', errors: [{ pointer: '/metadata/scope' }] });
    expect(refused.body.detail).toContain('PUT /v1/scopes/shop');
    await api.put({ kind: 'Scope', metadata: { name: 'shop' }, spec: {} });
    expect((await api.call('PUT', inside, pool('web', {}, { scope: 'shop' }))).status).toBe(201);
  });
});

describe('preconditions', () => {
  it('If-Match lets the right revision write and refuses a stale one with the object as it is', async () => {
    await api.put(pool('web'));
    const second = await api.call('PUT', url, pool('web', { algorithm: 'random' }), { 'if-match': '"3"' });
    expect(second.status).toBe(200);
    for (const [method, body] of [
      ['PUT', pool('web')],
      ['PATCH', { spec: { algorithm: 'maglev' } }],
      ['DELETE', undefined],
    ] as const) {
      const stale = await api.call(method, url, body, { 'if-match': '"3"' });
      expect(stale.status).toBe(409);
      expect(stale.body.code).toBe('Conflict');
      expect(stale.body.current.metadata).toMatchObject({ revision: '4', generation: 2 });
    }
    const either = await api.call('PUT', url, pool('web'), { 'if-match': '"3", "4"' });
    expect(either.status).toBe(200);
  });

  it('If-Match of an object that is not there creates nothing', async () => {
    const answer = await api.call('PUT', url, pool('web'), { 'if-match': '"3"' });
    expect(answer.status).toBe(409);
    expect(answer.body.current).toBeUndefined();
    expect((await api.call('PUT', url, pool('web'), { 'if-match': '*' })).status).toBe(409);
    expect((await api.call('GET', url)).status).toBe(404);
  });

  it('If-None-Match: * only creates', async () => {
    expect((await api.call('PUT', url, pool('web'), { 'if-none-match': '*' })).status).toBe(201);
    const again = await api.call('PUT', url, pool('web'), { 'if-none-match': '*' });
    expect(again.status).toBe(409);
    expect(again.body.current.metadata.name).toBe('web');
  });

  it.each([
    [{ 'if-match': '3' }],
    [{ 'if-match': 'W/"3"' }],
    [{ 'if-none-match': '"3"' }],
    [{ 'if-match': '"3"', 'if-none-match': '*' }],
  ])('that are not understood are refused: %j', async (headers) => {
    const answer = await api.call('PUT', url, pool('web'), headers as Record<string, string>);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('InvalidParameter');
  });
});

describe('PATCH', () => {
  it('merges, and takes null out', async () => {
    await api.put(pool('web', { algorithm: 'random' }, { labels: { team: 'web', env: 'prod' } }));
    const patch = { metadata: { labels: { env: null, tier: '1' } }, spec: { algorithm: null, protocol: 'http2' } };
    const answer = await api.call('PATCH', url, patch, { 'content-type': 'application/merge-patch+json' });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.metadata).toMatchObject({ generation: 2, labels: { team: 'web', tier: '1' } });
    expect(answer.body.spec).toEqual({ members: [{ address: '10.0.0.1', port: 8080 }], protocol: 'http2' });
  });

  it('is checked as a whole object', async () => {
    await api.put(pool('web'));
    const answer = await api.call('PATCH', url, { spec: { members: [{ address: '10.0.0.1', port: 0 }] } });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].pointer).toBe('/spec/members/0/port');
  });

  it('cannot rename, and needs an object', async () => {
    await api.put(pool('web'));
    const renamed = await api.call('PATCH', url, { metadata: { name: 'other' } });
    expect(renamed.body).toMatchObject({ status: 422, errors: [{ pointer: '/metadata/name' }] });
    const missing = await api.call('PATCH', `${url}2`, { spec: {} });
    expect(missing.body).toMatchObject({ status: 404, code: 'NotFound' });
  });
});

describe('DELETE', () => {
  it('answers with the object as it was, and takes its history along', async () => {
    await api.put(pool('web'));
    await api.put(pool('web', { algorithm: 'random' }));
    const answer = await api.call('DELETE', url);
    expect(answer.status).toBe(200);
    expect(answer.body.metadata.generation).toBe(2);
    expect(answer.headers['fairway-revision']).toBe('5');
    expect((await api.call('GET', url)).status).toBe(404);
    expect((await api.store.list('history/')).entries).toEqual([]);
    expect((await api.call('DELETE', url)).status).toBe(404);
  });

  it('is refused while others refer to it, naming them, unless force is given', async () => {
    await api.put(pool('web'));
    await api.put(service('shop', 'web'));
    const refused = await api.call('DELETE', url);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ code: 'StillReferenced', referrers: ['VirtualService/default/shop'] });
    expect(refused.body.detail).toContain('VirtualService default/shop');
    expect((await api.call('GET', url)).status).toBe(200);
    expect((await api.call('DELETE', `${url}?force=true`)).status).toBe(200);
  });

  it('refuses a scope with objects in it, with force too, and the scopes that always exist', async () => {
    await api.put({ kind: 'Scope', metadata: { name: 'shop' }, spec: {} });
    await api.put(pool('web', {}, { scope: 'shop' }));
    const refused = await api.call('DELETE', '/v1/scopes/shop?force=true');
    expect(refused.body).toMatchObject({ status: 409, code: 'StillReferenced', referrers: ['BackendPool/shop/web'] });
    await api.call('DELETE', '/v1/scopes/shop/backend-pools/web');
    expect((await api.call('DELETE', '/v1/scopes/shop')).status).toBe(200);
    expect((await api.call('DELETE', '/v1/scopes/default')).body).toMatchObject({ status: 409, code: 'ReadOnly' });
  });

  it('starts anew: an object of the same name has another uid and generation 1', async () => {
    const first = (await api.put(pool('web'))).body.metadata;
    await api.put(pool('web', { algorithm: 'random' }));
    await api.call('DELETE', url);
    const second = (await api.put(pool('web'))).body.metadata;
    expect(second.uid).not.toBe(first.uid);
    expect(second).toMatchObject({ generation: 1, createdRevision: second.revision });
  });
});

describe('objects of others', () => {
  it('with a source refuse every write', async () => {
    await api.put(pool('web'));
    const entry = await api.store.get('spec/BackendPool/default/web');
    const stored = JSON.parse(entry?.value ?? '');
    stored.metadata.source = 'kubernetes/prod';
    const value = JSON.stringify(stored);
    await api.store.commit({
      id: 'import',
      checks: [],
      puts: [{ key: 'spec/BackendPool/default/web', value }],
      deletes: [],
    });
    for (const [method, body] of [
      ['PUT', pool('web', { algorithm: 'random' })],
      ['PATCH', { spec: {} }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await api.call(method, url, body);
      expect(answer.body).toMatchObject({ status: 409, code: 'ReadOnly', source: 'kubernetes/prod' });
    }
  });

  it('Nodes can be changed, not made', async () => {
    const node = { kind: 'Node', metadata: { name: 'edge-1' }, spec: { failureDomain: 'rack-1' } };
    expect((await api.call('PUT', '/v1/nodes/edge-1', node)).body).toMatchObject({ status: 404, code: 'NotFound' });
    const metadata = {
      name: 'edge-1',
      labels: {},
      annotations: {},
      uid: 'u',
      generation: 1,
      createdAt: '',
      source: 'fairway',
    };
    const value = JSON.stringify({ apiVersion: 'fairway/v1', kind: 'Node', metadata, spec: {}, history: [] });
    await api.store.commit({ id: 'join', checks: [], puts: [{ key: 'spec/Node/edge-1', value }], deletes: [] });
    const changed = await api.call('PUT', '/v1/nodes/edge-1', node);
    expect(changed.body).toMatchObject({
      spec: { failureDomain: 'rack-1' },
      metadata: { source: 'fairway', generation: 2 },
    });
  });
});

describe('history', () => {
  it('keeps the last ten generations, and the one that a pin names', async () => {
    for (let i = 1; i <= 3; i++) await api.put(pool('web', { connectTimeout: `${i}s` }));
    api.view.pin('BackendPool/default/web', 2);
    for (let i = 4; i <= 15; i++) await api.put(pool('web', { connectTimeout: `${i}s` }));
    const kept = async () => (await api.store.list('history/')).entries.map(({ key }) => Number(key.split('/').at(-1)));
    expect(await kept()).toEqual([2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    api.view.pin('BackendPool/default/web', undefined);
    await api.put(pool('web', { connectTimeout: '16s' }));
    expect(await kept()).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    expect(urlOf(pool('web'))).toBe(url);
  });
});
