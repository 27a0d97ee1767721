import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  certificate,
  createTestApi,
  type Manifest,
  noChanges,
  pem,
  pool,
  service,
  type TestApi,
  urlOf,
} from '../support/api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi({ limits: { waitMs: 1000 } });
});
afterEach(async () => {
  await api.close();
});

const labelled = (object: Manifest, app = 'shop'): Manifest => ({
  ...object,
  metadata: { ...object.metadata, labels: { app } },
});
const outcomes = (body: { objects: { name: string; outcome: string }[] }) =>
  body.objects.map(({ name, outcome }) => `${name} ${outcome}`);

describe('an atomic apply', () => {
  it('writes all in one commit and answers with each object', async () => {
    const answer = await api.call('POST', '/v1/apply', { objects: [service('shop', 'web'), pool('web')] });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      revision: '3',
      counts: { created: 2, updated: 0, unchanged: 0, deleted: 0, failed: 0 },
    });
    expect(outcomes(answer.body)).toEqual(['shop created', 'web created']);
    for (const { object, revision, generation } of answer.body.objects) {
      expect(object.metadata).toMatchObject({ revision: '3', createdRevision: '3', generation: 1 });
      expect([revision, generation]).toEqual(['3', 1]);
    }
    expect(await api.store.head()).toBe(3);
  });

  it('is a no-op the second time', async () => {
    const set = [pool('web'), service('shop', 'web')];
    await api.call('POST', '/v1/apply', set);
    const answer = await api.call('POST', '/v1/apply', set);
    expect(answer.body).toMatchObject({ counts: { unchanged: 2 }, revision: '3' });
    expect(await api.store.head()).toBe(3);
  });

  it('takes a list, one object, and YAML documents of all these forms', async () => {
    const yaml = [
      '# a comment, and an empty document',
      '---',
      JSON.stringify(pool('one')),
      JSON.stringify([pool('two'), pool('three')]),
      JSON.stringify({ objects: [pool('four')] }),
    ].join('\n---\n');
    const answer = await api.call('POST', '/v1/apply', yaml, { 'content-type': 'application/yaml' });
    expect(answer.status, answer.text).toBe(200);
    expect(outcomes(answer.body)).toEqual(['one created', 'two created', 'three created', 'four created']);
    expect((await api.call('POST', '/v1/apply', pool('five'))).body.counts.created).toBe(1);
    expect((await api.call('POST', '/v1/apply', [pool('six')])).body.counts.created).toBe(1);
  });

  it('names every fault of every object, and writes nothing', async () => {
    const bad = pool('bad', { members: [{ address: 'x y', port: 70_000 }] });
    const answer = await api.call('POST', '/v1/apply', { objects: [pool('web'), bad, { kind: 'Pool' }, pool('web')] });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/objects/1/spec/members/0/address',
      '/objects/1/spec/members/0/port',
      '/objects/2/kind',
      '/objects/3/metadata/name',
    ]);
    expect(answer.body.errors[3].message).toContain('/objects/0');
    expect(await api.store.head()).toBe(2);
  });

  it('finds faults that only what is stored shows, with their place', async () => {
    const keyless = { ...certificate('tls'), spec: { chain: pem('p256') } };
    const answer = await api.call('POST', '/v1/apply', [pool('web'), keyless]);
    expect(answer.body).toMatchObject({ status: 422, errors: [{ pointer: '/1/spec/key' }] });
    expect(await api.store.head()).toBe(2);
  });

  it('may make a scope and fill it, and names a scope that is missing', async () => {
    const missing = await api.call('POST', '/v1/apply', { objects: [pool('web'), pool('web', {}, { scope: 'shop' })] });
    expect(missing.body).toMatchObject({ status: 422, errors: [{ pointer: '/objects/1/metadata/scope' }] });
    expect(missing.body.detail).toContain('PUT /v1/scopes/shop');
    const scope = { kind: 'Scope', metadata: { name: 'shop' }, spec: {} };
    const answer = await api.call('POST', '/v1/apply', [
      pool('web', {}, { scope: 'shop' }),
      { apiVersion: 'fairway/v1', ...scope },
    ]);
    expect(answer.body.counts).toMatchObject({ created: 2 });
  });

  it.each([
    ['more than 50 objects', Array.from({ length: 51 }, (_, i) => pool(`p${i}`)), 'applyObjects'],
    [
      'more than 512 KiB',
      Array.from({ length: 40 }, (_, i) => pool(`p${i}`, {}, { annotations: { note: 'x'.repeat(14_000) } })),
      'applyBytes',
    ],
    ['a body of more than 1 MiB', `[${JSON.stringify(pool('a'))}${' '.repeat(1024 * 1024)}]`, 'applyBodyBytes'],
  ])('of %s is refused with the limit', async (_what, body, limit) => {
    const answer = await api.call('POST', '/v1/apply', body);
    expect(answer.status, answer.text).toBe(413);
    expect(answer.body).toMatchObject({ code: 'TooLarge', limit, maximum: expect.any(Number) });
    expect(answer.body.detail).toContain(limit);
    expect(await api.store.head()).toBe(2);
  });

  it('of 50 objects that are replaced stays within the operations of one commit', async () => {
    const set = (seconds: number) =>
      Array.from({ length: 50 }, (_, i) => pool(`p${i}`, { connectTimeout: `${seconds}s` }));
    for (let i = 1; i <= 14; i++) {
      const answer = await api.call('POST', '/v1/apply', set(i));
      expect(answer.status, answer.text).toBe(200);
    }
    const { entries } = await api.store.list('history/');
    // 13 former generations of each, of which at least 19 a commit were taken away once there were more than 10.
    expect(entries.length).toBeLessThanOrEqual(50 * 13 - 3 * 19);
    for (let i = 15; i <= 25; i++) await api.put(pool('p0', { connectTimeout: `${i}s` }));
    expect((await api.store.list('history/BackendPool/default/p0/')).entries).toHaveLength(10);
  });

  it.each([
    ['{}', 422, '/kind'],
    ['{"objects": {}}', 422, '/objects'],
    ['{"objects": [], "prune": true}', 422, '/prune'],
    ['{"objects": []}', 400, undefined],
    ['7', 422, ''],
  ])('of %s is refused', async (body, status, pointer) => {
    const answer = await api.call('POST', '/v1/apply', body);
    expect(answer.status).toBe(status);
    if (pointer !== undefined) expect(answer.body.errors[0].pointer).toBe(pointer);
  });
});

describe('prune', () => {
  it('deletes what matches and is not in the set, in the same commit', async () => {
    await api.call('POST', '/v1/apply', [
      labelled(pool('old')),
      labelled(service('old-service', 'old')),
      labelled(pool('kept')),
      labelled(pool('others'), 'other'),
      pool('plain'),
    ]);
    const answer = await api.call('POST', '/v1/apply?prune=app%3Dshop', [labelled(pool('kept'))]);
    expect(answer.status, answer.text).toBe(200);
    expect(outcomes(answer.body)).toEqual(['kept unchanged', 'old-service deleted', 'old deleted']);
    expect(await api.store.head()).toBe(4);
    const left = (await api.call('GET', '/v1/backend-pools')).body.items;
    expect(left.map(({ metadata }: Manifest) => metadata.name)).toEqual(['kept', 'others', 'plain']);
  });

  it('keeps what others outside of the set refer to, unless it is forced', async () => {
    await api.call('POST', '/v1/apply', [labelled(pool('old')), service('shop', 'old')]);
    const url = '/v1/apply?prune=app%3Dshop';
    const refused = await api.call('POST', url, [labelled(pool('new'))]);
    expect(refused.body).toMatchObject({
      status: 409,
      code: 'StillReferenced',
      referrers: ['VirtualService/default/shop'],
    });
    expect(await api.store.head()).toBe(3);
    // The set takes the reference out.
    const moved = await api.call('POST', url, [labelled(pool('new')), service('shop', 'new')]);
    expect(outcomes(moved.body)).toEqual(['new created', 'shop updated', 'old deleted']);
    expect((await api.call('POST', `${url}&force=true`, [labelled(pool('newer'))])).status).toBe(200);
  });

  it('leaves nodes, and objects that another source keeps', async () => {
    const stored = (kind: string, source: string | undefined) => ({
      apiVersion: 'fairway/v1',
      kind,
      metadata: {
        name: 'x',
        ...(kind !== 'Node' && { scope: 'default' }),
        labels: { app: 'shop' },
        annotations: {},
        uid: kind,
        generation: 1,
        createdAt: '',
        source,
      },
      spec: {},
      history: [],
    });
    const puts = [
      { key: 'spec/Node/x', value: JSON.stringify(stored('Node', undefined)) },
      { key: 'spec/BackendPool/default/x', value: JSON.stringify(stored('BackendPool', 'kubernetes')) },
    ];
    await api.store.commit({ id: 'x', checks: [], puts, deletes: [] });
    const answer = await api.call('POST', '/v1/apply?prune=app', [pool('web')]);
    expect(outcomes(answer.body)).toEqual(['web created']);
  });

  it('deletes nothing when the set could not be read, not even one by one', async () => {
    await api.call('POST', '/v1/apply', [labelled(pool('old'))]);
    for (const atomic of [true, false]) {
      const answer = await api.call('POST', `/v1/apply?prune=app&atomic=${atomic}`, [
        pool('new'),
        { kind: 'BackendPool' },
      ]);
      expect(answer.status).toBe(422);
    }
    expect(await api.store.head()).toBe(3);
  });

  it('takes the history of many deleted objects along, over several commits where one has no room', async () => {
    const set = (seconds: number) =>
      Array.from({ length: 30 }, (_, i) => labelled(pool(`p${i}`, { connectTimeout: `${seconds}s` })));
    for (let i = 1; i <= 8; i++) await api.call('POST', '/v1/apply', set(i));
    const answer = await api.call('POST', '/v1/apply?prune=app', [pool('web')]);
    expect(answer.body.counts).toMatchObject({ deleted: 30, created: 1 });
    expect((await api.store.list('history/')).entries).toEqual([]);
  });
});

describe('atomic=false', () => {
  it('writes any number in the order of references, with a result for each', async () => {
    const pools = Array.from({ length: 120 }, (_, i) => pool(`p${i}`));
    const set = [service('shop', 'p0'), { ...pool('bad'), spec: { memebers: [] } }, ...pools];
    const answer = await api.call('POST', '/v1/apply?atomic=false', set);
    expect(answer.status).toBe(207);
    expect(answer.body.counts).toEqual({ created: 121, updated: 0, unchanged: 0, deleted: 0, failed: 1 });
    const [first, second, third] = answer.body.objects;
    expect(first).toMatchObject({ kind: 'VirtualService', scope: 'default', name: 'shop', outcome: 'created' });
    expect(second).toMatchObject({
      pointer: '/1',
      outcome: 'failed',
      problem: { code: 'InvalidObject', errors: [{ pointer: '/spec/memebers' }] },
    });
    // Each in a commit of its own, the referrer last.
    expect(first.revision).toBe('123');
    expect(Number(third.revision)).toBeLessThan(123);
    const again = await api.call('POST', '/v1/apply?atomic=false', set);
    expect(again.body.counts).toMatchObject({ unchanged: 121, failed: 1 });
    expect(await api.store.head()).toBe(123);
  });

  it('says of each object why it failed', async () => {
    await api.put(labelled(pool('used')));
    await api.put(service('shop', 'used'));
    const set = [pool('web', {}, { scope: 'nowhere' }), pool('fine')];
    const answer = await api.call('POST', '/v1/apply?atomic=false&prune=app', set);
    expect(answer.status).toBe(207);
    expect(answer.body.objects).toMatchObject([
      { name: 'web', outcome: 'failed', problem: { code: 'NotFound' } },
      { name: 'fine', outcome: 'created' },
      { name: 'used', outcome: 'failed', problem: { code: 'StillReferenced' } },
    ]);
  });

  it('stops before a mass removal as a whole', async () => {
    api.preview.result = {
      ...noChanges,
      removals: [{ fleet: 'edge', listeners: { removed: 11, of: 30 }, clusters: { removed: 0, of: 30 } }],
    };
    const head = await api.store.head();
    const answer = await api.call('POST', '/v1/apply?atomic=false', [pool('a'), pool('b')]);
    expect(answer.body).toMatchObject({ status: 409, code: 'MassRemoval', removals: 11 });
    expect(await api.store.head()).toBe(head);
    expect((await api.call('POST', '/v1/apply?atomic=false&confirmRemovals=11', [pool('a'), pool('b')])).status).toBe(
      200,
    );
  });
});

describe('mass removal', () => {
  const removals = (listeners: [number, number], clusters: [number, number]) => [
    {
      fleet: 'edge',
      listeners: { removed: listeners[0], of: listeners[1] },
      clusters: { removed: clusters[0], of: clusters[1] },
    },
  ];

  it.each([
    ['10 of 10', removals([10, 10], [0, 0]), undefined],
    ['30 % of 40', removals([12, 40], [0, 0]), undefined],
    ['13 of 40', removals([13, 40], [3, 40]), 13],
    ['clusters', removals([0, 0], [11, 12]), 11],
    ['both', removals([11, 12], [11, 12]), 22],
  ])('%s', async (_what, found, number) => {
    const made = service('web', 'one');
    await api.put(made);
    api.preview.result = { ...noChanges, removals: found };
    const url = urlOf(made);
    const refused = await api.call('PUT', url, service('web', 'two'));
    expect(refused.status).toBe(number === undefined ? 200 : 409);
    if (number === undefined) return;
    expect(refused.body).toMatchObject({ code: 'MassRemoval', removals: number, fleets: [{ fleet: 'edge' }] });
    expect((await api.call('DELETE', `${url}?confirmRemovals=${number + 1}`)).status).toBe(409);
    expect((await api.call('GET', url)).body.metadata.generation).toBe(1);
    // What cannot remove anything is not stopped.
    expect((await api.call('PUT', url, service('web', 'one', { labels: { a: 'b' } }))).status).toBe(200);
    expect((await api.call('DELETE', `${url}?confirmRemovals=${number}`)).status).toBe(200);
  });

  it('is not looked for where it cannot be: in what is new, and in a few pools', async () => {
    await api.put(pool('web'));
    await api.call('PUT', urlOf(pool('web')), pool('web', { algorithm: 'random' }));
    expect(api.preview.writes).toEqual([]);
    const many = Array.from({ length: 6 }, (_, n) => pool(`p-${n}`));
    await api.call('POST', '/v1/apply', many);
    expect(api.preview.writes).toEqual([]);
    await api.call(
      'POST',
      '/v1/apply',
      many.map(({ metadata }) => pool(metadata.name, { algorithm: 'random' })),
    );
    expect(api.preview.writes).toHaveLength(1);
  });
});

describe('dryRun', () => {
  const found = {
    ...noChanges,
    conditions: [
      {
        key: 'VirtualService/default/shop',
        before: [],
        after: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }],
      },
    ],
    resources: { added: [{ type: 'cluster', name: 'default/web' }], changed: [], removed: [] },
    proxies: ['edge-1'],
    drains: { listeners: ['default/shop:80'], filterChains: [] },
  };

  it('answers for one object and for a set in one form, and changes nothing', async () => {
    await api.put(pool('web'));
    api.preview.result = found;
    const head = await api.store.head();
    const url = urlOf(pool('web'));
    const { removals: _removals, ...told } = found;
    const put = await api.call('PUT', `${url}?dryRun=true`, pool('web', { algorithm: 'random' }));
    expect(put.status).toBe(200);
    expect(put.body).toMatchObject({ dryRun: true, revision: '3', ...told });
    expect(put.body.objects).toMatchObject([
      {
        kind: 'BackendPool',
        scope: 'default',
        name: 'web',
        outcome: 'updated',
        before: { metadata: { revision: '3' } },
        after: { spec: { algorithm: 'random' } },
      },
    ]);
    expect(put.body.objects[0].after.metadata).toMatchObject({ generation: 2, createdRevision: '3' });
    expect(put.body.objects[0].after.metadata.revision).toBeUndefined();
    const patch = await api.call('PATCH', `${url}?dryRun=true`, { spec: { algorithm: 'random' } });
    expect(patch.body.objects).toEqual(put.body.objects);
    const gone = await api.call('DELETE', `${url}?dryRun=true`);
    expect(gone.body.objects).toMatchObject([{ outcome: 'deleted', before: { metadata: { name: 'web' } } }]);
    const set = await api.call('POST', '/v1/apply?dryRun=true&prune=app', [pool('web'), pool('new')]);
    expect(outcomes(set.body)).toEqual(['web unchanged', 'new created']);
    expect(await api.store.head()).toBe(head);
  });

  it('tries the objects as they would be stored', async () => {
    await api.put(pool('web'));
    api.preview.writes.length = 0;
    await api.call('PUT', `${urlOf(pool('web'))}?dryRun=true`, pool('web', { algorithm: 'random' }));
    await api.call('PUT', `${urlOf(pool('new'))}?dryRun=true`, pool('new'));
    expect(api.preview.writes).toMatchObject([
      [
        {
          key: 'BackendPool/default/web',
          object: { metadata: { generation: 2, revision: '4', createdRevision: '3' } },
        },
      ],
      [
        {
          key: 'BackendPool/default/new',
          object: { metadata: { generation: 1, revision: '4', createdRevision: '4' } },
        },
      ],
    ]);
  });

  it('is refused for what would be refused', async () => {
    const missingScope = await api.call(
      'PUT',
      '/v1/scopes/nowhere/backend-pools/web?dryRun=true',
      pool('web', {}, { scope: 'nowhere' }),
    );
    expect(missingScope.status).toBe(404);
    const inSet = await api.call('POST', '/v1/apply?dryRun=true', [pool('web', {}, { scope: 'nowhere' })]);
    expect(inSet.body).toMatchObject({ status: 422, errors: [{ pointer: '/0/metadata/scope' }] });
    expect((await api.call('PUT', `${urlOf(pool('web'))}?dryRun=true`, pool('web', { port: 1 }))).status).toBe(422);
    await api.put(pool('web'));
    await api.put(service('shop', 'web'));
    expect((await api.call('DELETE', `${urlOf(pool('web'))}?dryRun=true`)).status).toBe(409);
    expect((await api.call('PUT', `${urlOf(pool('web'))}?dryrun=true`, pool('web'))).body.detail).toContain('`dryRun`');
  });

  it('tells of a mass removal instead of stopping', async () => {
    await api.put(pool('web'));
    api.preview.result = {
      ...noChanges,
      removals: [{ fleet: 'edge', listeners: { removed: 20, of: 20 }, clusters: { removed: 0, of: 0 } }],
    };
    const answer = await api.call('DELETE', `${urlOf(pool('web'))}?dryRun=true`);
    expect(answer.body).toMatchObject({ dryRun: true, massRemoval: { removals: 20 } });
  });

  it('has no limit of objects', async () => {
    const answer = await api.call(
      'POST',
      '/v1/apply?dryRun=true',
      Array.from({ length: 60 }, (_, i) => pool(`p${i}`)),
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.objects).toHaveLength(60);
  });
});
