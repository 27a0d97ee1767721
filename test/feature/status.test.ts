import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { typeUrls } from '../../src/xds/index.ts';
import { type StoredObject, startFairway, type TestFairway } from '../support/fairway.ts';
import { startToyProxy, type ToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// What proxies make of their configuration comes back as conditions: the whole server in this process, over real gRPC.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

async function fairwayWith(options: Parameters<typeof startFairway>[0] = {}): Promise<TestFairway> {
  const fairway = await startFairway(options);
  cleanUp.push(() => fairway.close());
  return fairway;
}

async function proxy({ xdsPort }: TestFairway, node: string, fleet = 'edge'): Promise<ToyProxy> {
  const started = await startToyProxy({ xdsPort, node, fleet });
  cleanUp.push(() => started.close());
  return started;
}

const edge = { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} };
const pool = (name: string, spec: object = {}) => ({
  kind: 'BackendPool',
  metadata: { name },
  spec: { members: [{ address: '10.0.0.1', port: 80 }], ...spec },
});
const shop = {
  kind: 'VirtualService',
  metadata: { name: 'shop' },
  spec: {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } }],
  },
};

function condition(object: StoredObject, type: string) {
  return object.status.conditions.find((candidate) => candidate.type === type);
}

/** Since when an object is Programmed, once that is stored: a time that nobody has recorded is always now. */
function storedTime(fairway: TestFairway, kind: string, name: string): Promise<string> {
  const look = async () => condition(await fairway.get(kind, name), 'Programmed')?.lastTransitionTime;
  return until('the time to be stored', async () => {
    const one = await look();
    await new Promise((resolve) => setTimeout(resolve, 5));
    return one === (await look()) && one;
  });
}

describe('Programmed', () => {
  test('is unknown without a proxy, true when each has acknowledged all of it, and counts them', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge, pool('web'), shop);
    const unknown = await fairway.get('VirtualService', 'shop');
    expect(condition(unknown, 'Programmed')).toMatchObject({ status: 'Unknown', reason: 'NoProxies' });
    await proxy(fairway, 'lb-1');
    await proxy(fairway, 'lb-2');
    await until('both proxies', async () => {
      const { status } = await fairway.get('VirtualService', 'shop');
      const realization = status['realization'] as { desired: number; realized: number };
      return realization.desired === 2 && realization.realized === 2;
    });
    for (const [kind, name] of [
      ['VirtualService', 'shop'],
      ['BackendPool', 'web'],
      ['Fleet', 'edge'],
    ] as const) {
      await fairway.waitFor(kind, name, 'Programmed', 'True');
    }
    // Another fleet's proxy is not asked.
    await fairway.put({ kind: 'Fleet', metadata: { name: 'core' }, spec: {} });
    await proxy(fairway, 'other', 'core');
    await fairway.waitFor('Node', 'other', 'Programmed', 'True');
    const { status } = await fairway.get('VirtualService', 'shop');
    expect(status['realization']).toMatchObject({ desired: 2 });
  });

  test('waits for a proxy that holds an edit back, names it, and not for one that comes while it is green', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge, pool('web'), shop);
    const first = await proxy(fairway, 'lb-1');
    await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
    const since = await storedTime(fairway, 'BackendPool', 'web');
    for (const name of ['lb-2', 'lb-3', 'lb-4']) await proxy(fairway, name);
    await until('all to be filled', async () => (await fairway.get('Fleet', 'edge')).status['realization'], {});
    for (const name of ['lb-2', 'lb-3', 'lb-4']) await fairway.waitFor('Node', name, 'Programmed', 'True');
    // It never was anything but green in between.
    const after = condition(await fairway.get('BackendPool', 'web'), 'Programmed');
    expect(after).toMatchObject({ status: 'True', lastTransitionTime: since });
    expect(first.names(typeUrls.endpoint)).toEqual(['default/web']);
  });

  test('does not forget at once a proxy that breaks off: it is unreachable, and an edit waits for it', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge, pool('web'), shop);
    await proxy(fairway, 'lb-1');
    const leaving = await proxy(fairway, 'lb-2');
    await fairway.waitFor('Node', 'lb-2', 'Programmed', 'True');
    leaving.close();
    await fairway.waitFor('Node', 'lb-2', 'Connected', 'False');
    expect(condition(await fairway.get('BackendPool', 'web'), 'Programmed')).toMatchObject({ status: 'True' });
    await fairway.put(pool('web', { members: [] }));
    const waiting = await fairway.waitFor('BackendPool', 'web', 'Programmed', 'False');
    expect(condition(waiting, 'Programmed')).toMatchObject({ reason: 'Pending' });
    await until('lb-1 to have it', async () =>
      condition(await fairway.get('BackendPool', 'web'), 'Programmed')?.message.includes(
        '1 of 2 proxies have it; waiting for lb-2, 1 of them unreachable',
      ),
    );
  });
});

describe('a refusal', () => {
  test('is laid at its object; the last good form, of the generation that last was good, goes on', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge, pool('web'), pool('other'), shop);
    const toy = await proxy(fairway, 'lb-1');
    await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
    // The second generation differs in its members alone: the cluster that proxies accepted is that of the first.
    const two = [
      { address: '10.0.0.1', port: 80 },
      { address: '10.0.0.2', port: 80 },
    ];
    await fairway.put(pool('web', { members: two }));
    await until('the members', async () => {
      const object = await fairway.get('BackendPool', 'web');
      return object.metadata.generation === 2 && condition(object, 'Programmed')?.status === 'True';
    });
    const good = {
      cluster: toy.version(typeUrls.cluster, 'default/web'),
      endpoints: toy.version(typeUrls.endpoint, 'default/web'),
    };
    toy.refuse(({ typeUrl, name, version }) =>
      typeUrl === typeUrls.cluster && name === 'default/web' && version !== good.cluster
        ? 'I do not like it'
        : undefined,
    );
    await fairway.put(pool('web', { members: [], connectTimeout: '7s' }));
    const refused = await until('the pin', async () => {
      const object = await fairway.get('BackendPool', 'web');
      return condition(object, 'Programmed')?.message.includes('goes on being served') && object;
    });
    expect(condition(refused, 'Programmed')).toMatchObject({ status: 'False', reason: 'RejectedByProxy' });
    expect(condition(refused, 'Programmed')?.message).toContain('proxy lb-1 running toy 1.0.0 refused generation 3');
    expect(condition(refused, 'Programmed')?.message).toContain('I do not like it');
    expect(condition(refused, 'Programmed')?.message).toContain('Generation 2 goes on being served');
    await until('the good members', () => toy.version(typeUrls.endpoint, 'default/web') === good.endpoints);
    const later = await proxy(fairway, 'lb-2');
    await until(
      'the good form at a later proxy',
      () => later.version(typeUrls.endpoint, 'default/web') === good.endpoints,
    );
    expect(later.version(typeUrls.cluster, 'default/web')).toBe(good.cluster);

    toy.refuse(() => undefined);
    await fairway.put(pool('web', { members: [], connectTimeout: '8s' }));
    const mended = await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
    expect(mended.metadata.generation).toBe(4);
  });

  test('of one Route in a table does not make the others say so', async () => {
    const fairway = await fairwayWith();
    const route = (name: string, status: number) => ({
      kind: 'Route',
      metadata: { name },
      spec: {
        attachTo: [{ virtualService: 'shop', listener: 'web' }],
        hosts: [`${name}.example`],
        rules: [{ name: 'all', action: { respond: { status } } }],
      },
    });
    await fairway.put(edge, pool('web'), shop, route('good', 204), route('bad', 204));
    const toy = await proxy(fairway, 'lb-1');
    await fairway.waitFor('Route', 'good', 'Programmed', 'True');
    const version = toy.version(typeUrls.route, 'default/shop:80');
    toy.refuse((resource) => (resource.typeUrl === typeUrls.route && resource.version !== version ? 'no' : undefined));
    await fairway.put(route('bad', 418));
    const refused = await fairway.waitFor('Route', 'bad', 'Programmed', 'False');
    await until(
      'the refusal',
      async () => condition(await fairway.get('Route', 'bad'), 'Programmed')?.reason === 'RejectedByProxy',
    );
    expect(refused.metadata.generation).toBe(2);
    await fairway.waitFor('Route', 'good', 'Programmed', 'True');
    await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  });

  test('is forgotten with its object: one of the same name starts clean', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge, shop);
    const toy = await proxy(fairway, 'lb-1');
    toy.refuse(({ name }) => (name === 'default/web' ? 'no' : undefined));
    await fairway.put(pool('web'));
    await until(
      'the refusal',
      async () => condition(await fairway.get('BackendPool', 'web'), 'Programmed')?.reason === 'RejectedByProxy',
    );
    toy.refuse(() => undefined);
    await fairway.call('DELETE', '/v1/scopes/default/backend-pools/web?force=true');
    await fairway.put(pool('web', { connectTimeout: '2s' }));
    const fresh = await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
    expect(fresh.metadata.generation).toBe(1);
  });
});

describe('a Node', () => {
  test('appears when its proxy connects, with a condition while its Fleet is missing', async () => {
    const fairway = await fairwayWith();
    const toy = await proxy(fairway, 'lb-1');
    await until('the Node', async () => (await fairway.call('GET', '/v1/nodes/lb-1')).status === 200);
    const lonely = await fairway.waitFor('Node', 'lb-1', 'Accepted', 'False');
    expect(condition(lonely, 'Accepted')).toMatchObject({ reason: 'FleetMissing' });
    expect(lonely.status).toMatchObject({
      phase: 'Connected',
      fleet: 'edge',
      nodeId: 'lb-1',
      envoy: { version: '1.0.0' },
    });
    await fairway.put(edge, pool('web'), shop);
    await fairway.waitFor('Node', 'lb-1', 'Accepted', 'True');
    await until('its configuration', () => toy.names(typeUrls.endpoint).length === 1);
    const { status } = await fairway.waitFor('Node', 'lb-1', 'Programmed', 'True');
    const types = (status['envoy'] as { types: { type: string; resources: number }[] }).types;
    expect(types.find(({ type }) => type === typeUrls.listener)).toMatchObject({ resources: 1, nack: 0 });
  });

  test('that is deleted while its proxy is connected is registered again', async () => {
    const fairway = await fairwayWith();
    await fairway.put(edge);
    await proxy(fairway, 'lb-1');
    const { metadata } = await until('the Node', async () => {
      const answer = await fairway.call('GET', '/v1/nodes/lb-1');
      return answer.status === 200 && (answer.body as StoredObject);
    });
    expect((await fairway.call('DELETE', '/v1/nodes/lb-1')).status).toBe(200);
    const again = await until('the Node again', async () => {
      const answer = await fairway.call('GET', '/v1/nodes/lb-1');
      return answer.status === 200 && answer.body.metadata.uid !== metadata.uid && (answer.body as StoredObject);
    });
    expect(condition(again, 'Connected')).toMatchObject({ status: 'True' });
  });
});

describe('after a restart', () => {
  test('conditions have the times that they had, and proxies are sent nothing', async () => {
    const data = await mkdtemp(join(tmpdir(), 'fairway-status-'));
    cleanUp.push(() => rm(data, { recursive: true, force: true }));
    let fairway = await startFairway({ data });
    cleanUp.push(() => fairway.close());
    await fairway.put(edge, pool('web'), pool('unused'), shop);
    const toys = [await proxy(fairway, 'lb-1'), await proxy(fairway, 'lb-2')];
    const objects = [
      ['Fleet', 'edge'],
      ['Node', 'lb-1'],
      ['Node', 'lb-2'],
      ['BackendPool', 'web'],
      ['BackendPool', 'unused'],
      ['VirtualService', 'shop'],
    ] as const;
    for (const [kind, name] of objects) if (name !== 'unused') await fairway.waitFor(kind, name, 'Programmed', 'True');

    const timesOf = async () =>
      Object.fromEntries(
        await Promise.all(
          objects.map(async ([kind, name]) => {
            const { status } = await fairway.get(kind, name);
            return [
              `${kind} ${name}`,
              status.conditions.map(({ type, status: is, lastTransitionTime }) => [type, is, lastTransitionTime]),
            ];
          }),
        ),
      );
    // Stored once two looks say the same: a time that nobody has recorded is always now.
    const before = await until('all times to be stored', async () => {
      const one = await timesOf();
      const two = await timesOf();
      return JSON.stringify(one) === JSON.stringify(two) && one;
    });
    const connectedSince = (await fairway.get('Node', 'lb-1')).status['envoy'];
    for (const toy of toys) toy.takeFrames();

    for (let restart = 0; restart < 2; restart += 1) {
      const { xdsPort } = fairway;
      await fairway.close();
      fairway = await startFairway({ data, xdsPort });
      await until('both proxies to be back', async () => {
        const { body } = await fairway.call('GET', '/v1/proxies');
        return body.items.length === 2 && body.items.every(({ state }: { state: string }) => state === 'Synced');
      });
      expect(await timesOf()).toEqual(before);
    }
    expect((await fairway.get('Node', 'lb-1')).status['envoy']).toMatchObject({
      since: (connectedSince as { since: string }).since,
    });
    // An edit still reaches them, and only that.
    await fairway.put(pool('web', { members: [] }));
    await until('the edit', async () => (await fairway.get('BackendPool', 'web')).metadata.generation === 2);
    await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
    // The first answer on a new stream is owed, and empty.
    const named = (toy: ToyProxy) => toy.takeFrames().filter((frame) => frame.includes(' '));
    for (const toy of toys) expect(named(toy)).toEqual(['endpoint +default/web']);
  });
});

test('what was lost on its way to a proxy is sent again by a comparison', { timeout: 60_000 }, async () => {
  const fairway = await fairwayWith();
  await fairway.put(edge, pool('web'), shop);
  const lb = await proxy(fairway, 'lb-1');
  await until('the proxy to have its endpoints', () => lb.version(typeUrls.endpoint, 'default/web') !== undefined);
  await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
  const before = lb.version(typeUrls.endpoint, 'default/web');
  lb.lose(typeUrls.endpoint);
  await fairway.put(pool('web', { members: [{ address: '10.0.0.2', port: 80 }] }));
  const stateOf = async () => (await fairway.call('GET', '/v1/proxies/lb-1')).body.state;
  // An answer has 15 s: until then it may only be late.
  await until('the answer to be overdue', async () => (await stateOf()) === 'Stalled', { limitMs: 30_000 });
  expect(lb.version(typeUrls.endpoint, 'default/web')).toBe(before);
  expect(await fairway.call('POST', '/v1/proxies/lb-1/compare')).toMatchObject({ status: 202, body: { proxies: 1 } });
  await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
  expect(lb.version(typeUrls.endpoint, 'default/web')).not.toBe(before);
  expect((await fairway.call('POST', '/v1/proxies/nobody/compare')).status).toBe(404);
});
