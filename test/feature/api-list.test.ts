import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, createTestApi, pool, service, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi({ limits: { waitMs: 50 } });
});
afterEach(async () => {
  await api.close();
});

const pools = '/v1/backend-pools';
const names = (answer: Answer): string[] =>
  answer.body.items.map(
    (item: { metadata: { scope: string; name: string } }) => `${item.metadata.scope}/${item.metadata.name}`,
  );

async function fill(): Promise<void> {
  await api.put({ kind: 'Scope', metadata: { name: 'shop' }, spec: {} });
  await api.put(pool('b', { algorithm: 'random' }, { labels: { team: 'web', env: 'prod' } }));
  await api.put(pool('a', { protocol: 'http2' }, { labels: { team: 'api' } }));
  await api.put(pool('c', { connectTimeout: '9s' }, { scope: 'shop', labels: { env: 'test' } }));
}

describe('lists', () => {
  it('are sorted by scope and name, with status and the revision they are true at', async () => {
    await fill();
    const answer = await api.call('GET', pools);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      apiVersion: 'fairway/v1',
      kind: 'BackendPoolList',
      metadata: { revision: '6' },
    });
    expect(names(answer)).toEqual(['default/a', 'default/b', 'shop/c']);
    expect(answer.body.items[0].status.conditions[0].type).toBe('Accepted');
    expect(answer.headers['fairway-revision']).toBe('6');
    expect(names(await api.call('GET', `${pools}?scope=shop`))).toEqual(['shop/c']);
    expect(names(await api.call('GET', `${pools}?scope=nowhere`))).toEqual([]);
    expect(
      (await api.call('GET', '/v1/scopes')).body.items.map(
        (scope: { metadata: { name: string } }) => scope.metadata.name,
      ),
    ).toEqual(['default', 'shop', 'system']);
  });

  it('follow changes', async () => {
    await fill();
    expect(names(await api.call('GET', pools))).toHaveLength(3);
    await api.call('DELETE', '/v1/scopes/default/backend-pools/a');
    await api.put(pool('z'));
    await api.put(pool('b', { algorithm: 'maglev', hash: { source: 'sourceIp' } }));
    const answer = await api.call('GET', pools);
    expect(names(answer)).toEqual(['default/b', 'default/z', 'shop/c']);
    expect(answer.body.items[0].spec.algorithm).toBe('maglev');
  });

  it.each([
    ['labelSelector', 'team=web', ['default/b']],
    ['labelSelector', 'team', ['default/a', 'default/b']],
    ['labelSelector', '!team', ['shop/c']],
    ['labelSelector', 'team!=web', ['default/a', 'shop/c']],
    ['labelSelector', 'env in (prod, test),team', ['default/b']],
    ['labelSelector', 'team notin (api)', ['default/b', 'shop/c']],
    ['fieldSelector', 'metadata.name=a', ['default/a']],
    ['fieldSelector', 'metadata.scope!=default', ['shop/c']],
    ['fieldSelector', 'spec.algorithm=random', ['default/b']],
    // The default counts where the field is left out.
    ['fieldSelector', 'spec.algorithm=roundRobin,spec.protocol=http1', ['shop/c']],
    ['fieldSelector', 'status.conditions.Programmed=True', ['default/b']],
    ['fieldSelector', 'status.conditions.Programmed=Unknown', ['default/a', 'shop/c']],
  ])('%s %s selects', async (parameter, selector, want) => {
    await fill();
    await api.view.setCondition('BackendPool/default/b', 'Programmed', 'True');
    expect(names(await api.call('GET', `${pools}?${parameter}=${encodeURIComponent(selector)}`))).toEqual(want);
  });

  it.each([
    ['labelSelector=team=(', 'labelSelector'],
    ['labelSelector=a b', 'labelSelector'],
    ['labelSelector=', 'labelSelector'],
    ['fieldSelector=spec.algoritm=random', 'did you mean `spec.algorithm`'],
    ['fieldSelector=spec.members=x', 'no single value'],
    ['fieldSelector=metadata.uid=x', 'metadata.name'],
    ['fieldSelector=status.conditions.Programed=True', 'did you mean `status.conditions.Programmed`'],
    ['fieldSelector=status.conditions.Programmed=Yes', 'True, False or Unknown'],
    ['fieldSelector=name', 'fieldSelector'],
    ['limit=0', 'limit must be a whole number'],
    ['limit=many', 'limit must be a whole number'],
    ['limit=1&limit=2', 'more than once'],
    ['continue=abc', 'continue'],
    ['minRevision=-1', 'minRevision'],
    ['watch=yes', 'watch must be true or false'],
    ['labelSelecto=a', 'did you mean `labelSelector`'],
  ])('refuse ?%s', async (query, words) => {
    const answer = await api.call('GET', `${pools}?${query.replaceAll(' ', '%20')}`);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('InvalidParameter');
    expect(answer.body.detail).toContain(words);
  });

  it('refuse a scope for a kind that has none, and selection by a key', async () => {
    expect((await api.call('GET', '/v1/fleets?scope=default')).body).toMatchObject({ status: 400, parameter: 'scope' });
    const byKey = await api.call('GET', `/v1/certificates?fieldSelector=${encodeURIComponent('spec.key=x')}`);
    expect(byKey.body).toMatchObject({ status: 400, parameter: 'fieldSelector' });
  });
});

describe('pages', () => {
  async function page(query: string): Promise<{ names: string[]; next: string | undefined; revision: string }> {
    const answer = await api.call('GET', `${pools}?${query}`);
    expect(answer.status, answer.text).toBe(200);
    return { names: names(answer), next: answer.body.metadata.continue, revision: answer.body.metadata.revision };
  }

  it('go on after the last object, whatever came or went', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await api.put(pool(name));
    const first = await page('limit=2');
    expect(first.names).toEqual(['default/a', 'default/b']);
    await api.call('DELETE', '/v1/scopes/default/backend-pools/b');
    await api.put(pool('aa'));
    await api.put(pool('cc'));
    const second = await page(`limit=2&continue=${first.next}`);
    expect(second.names).toEqual(['default/c', 'default/cc']);
    expect(Number(second.revision)).toBeGreaterThan(Number(first.revision));
    const last = await page(`limit=2&continue=${second.next}`);
    expect(last).toMatchObject({ names: ['default/d', 'default/e'], next: undefined });
  });

  it('have no next one when the last object is the last that is selected', async () => {
    for (const name of ['a', 'b', 'c'])
      await api.put(pool(name, {}, { labels: { page: name === 'c' ? 'no' : 'yes' } }));
    expect(await page('limit=2&labelSelector=page=yes')).toMatchObject({
      names: ['default/a', 'default/b'],
      next: undefined,
    });
  });

  it('belong to one selection', async () => {
    for (const name of ['a', 'b', 'c']) await api.put(pool(name));
    const { next } = await page('limit=1');
    for (const query of ['limit=1&labelSelector=a', 'scope=default']) {
      const answer = await api.call('GET', `${pools}?${query}&continue=${next}`);
      expect(answer.body).toMatchObject({ status: 400, parameter: 'continue' });
    }
    expect((await api.call('GET', `/v1/routes?continue=${next}`)).status).toBe(400);
  });

  it('are not answered from an older world than the first one', async () => {
    for (const name of ['a', 'b']) await api.put(pool(name));
    const token = Buffer.from(JSON.stringify([99, 'default', 'a', JSON.stringify(['BackendPool', '', '', ''])]));
    const answer = await api.call('GET', `${pools}?continue=${token.toString('base64url')}`);
    expect(answer.body).toMatchObject({ status: 504, code: 'RevisionTimeout' });
  });

  it('may be left out: a long list comes whole', async () => {
    for (let i = 0; i < 250; i++) await api.put(pool(`p${String(i).padStart(3, '0')}`));
    const answer = await api.call('GET', pools);
    expect(names(answer)).toEqual(Array.from({ length: 250 }, (_, i) => `default/p${String(i).padStart(3, '0')}`));
    expect(answer.body.metadata).toEqual({ revision: '252' });
  });
});

describe('minRevision', () => {
  it('waits for the revision, and gives up in time', async () => {
    await api.put(pool('web'));
    const late = await api.call('GET', `${pools}?minRevision=4`);
    expect(late.body).toMatchObject({ status: 504, code: 'RevisionTimeout', revision: '3' });
    expect(late.headers['retry-after']).toBe('1');
    const waiting = api.call('GET', '/v1/scopes/default/backend-pools/late?minRevision=4');
    await api.put(pool('late'));
    expect((await waiting).status).toBe(200);
  });
});

describe('one object', () => {
  it('has its revision as entity tag', async () => {
    await api.put(pool('web'));
    const answer = await api.call('GET', '/v1/scopes/default/backend-pools/web');
    expect(answer.headers['etag']).toBe('"3"');
    const head = await api.call('HEAD', '/v1/scopes/default/backend-pools/web');
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['etag']).toBe('"3"');
  });

  it('that is not there is a problem', async () => {
    const answer = await api.call('GET', '/v1/scopes/default/backend-pools/web');
    expect(answer.body).toMatchObject({ status: 404, code: 'NotFound', title: 'There is no such object' });
    expect(answer.headers['content-type']).toContain('application/problem+json');
  });

  it('is answered once the View has it: one reads what one wrote', async () => {
    api.view.pause();
    const writing = api.call('PUT', '/v1/scopes/default/backend-pools/web', pool('web'));
    const state = await Promise.race([writing.then(() => 'answered'), api.store.head().then(() => 'waiting')]);
    expect(state).toBe('waiting');
    api.view.resume();
    expect((await writing).status).toBe(201);
    expect((await api.call('GET', '/v1/scopes/default/backend-pools/web')).status).toBe(200);
  });

  it('is committed although the View does not come to it in time, and the answer says so', async () => {
    api.view.pause();
    const answer = await api.call('PUT', '/v1/scopes/default/backend-pools/web', pool('web'));
    expect(answer.body).toMatchObject({ status: 504, code: 'RevisionTimeout', revision: '3' });
    expect(answer.body.detail).toContain('committed as revision 3');
    api.view.resume();
    await api.put(service('shop', 'web'));
  });
});
