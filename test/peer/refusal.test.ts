import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from '../../src/gen/envoy/config/cluster/v3/cluster_pb.js';
import type { RouteConfiguration } from '../../src/gen/envoy/config/route/v3/route_pb.js';
import type { RawPatch } from '../../src/translate/index.ts';
import { typeUrls } from '../../src/xds/index.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Manifest, startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// A refusal reaches the object it is about, in Envoy's words; what was good before goes on being served: to proxies that
// have it, to proxies that come later, and after a restart of the server.

/** A value that passes our checks; the patch makes of it what Envoy refuses. */
const poisonedTimeout = '4321ms';

const poison: RawPatch = (type, _name, message) => {
  if (type === typeUrls.cluster) {
    const { connectTimeout } = message as unknown as Cluster;
    if (connectTimeout?.nanos === 321_000_000) connectTimeout.seconds = -1n;
  } else if (type === typeUrls.route) {
    for (const host of (message as unknown as RouteConfiguration).virtualHosts) {
      // Envoy refuses a host twice in one table.
      if (host.domains.includes('poison.example')) host.domains.push('poison.example');
    }
  }
};

let fairway: TestFairway;
let envoy: RunningEnvoy;
let backend: Backend;
let port: number;
let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'fairway-refusal-'));
  [backend, port] = await Promise.all([startBackend('one'), freePort()]);
  fairway = await startFairway({ data, rawPatch: poison });
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool('web', '1s'), pool('other', '1s'), {
    kind: 'VirtualService',
    metadata: { name: 'shop' },
    spec: {
      fleet: 'edge',
      listeners: [
        {
          name: 'web',
          port,
          protocol: 'HTTP',
          routes: [{ hosts: ['other.example'], rules: [{ name: 'all', action: { forward: [{ pool: 'other' }] } }] }],
          defaultAction: { forward: [{ pool: 'web' }] },
        },
      ],
    },
  });
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
});

afterAll(async () => {
  await Promise.all([envoy?.stop(), backend?.close()]);
  await fairway?.close();
  if (data !== undefined) await rm(data, { recursive: true, force: true });
});

function pool(name: string, connectTimeout: string) {
  return {
    kind: 'BackendPool',
    metadata: { name },
    spec: { connectTimeout, members: [{ address: '127.0.0.1', port: backend.port }] },
  };
}

const programmedOf = async (name: string) =>
  (await fairway.get('BackendPool', name)).status.conditions.find(({ type }) => type === 'Programmed');

test('the owner says RejectedByProxy in the words of Envoy, and others are not touched', async () => {
  await fairway.put(pool('web', poisonedTimeout));
  const refused = await until('the pool to be refused', async () => {
    const condition = await programmedOf('web');
    return condition?.reason === 'RejectedByProxy' && condition.message.includes('Generation 1 goes on') && condition;
  });
  expect(refused.message).toContain('Invalid duration');
  expect(refused.message).toContain('proxy lb-1 running envoy 1.40.0 refused generation 2');
  expect(await programmedOf('other')).toMatchObject({ status: 'True' });
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
});

test('another pool goes on being edited', async () => {
  await fairway.put(pool('other', '2s'));
  await until('Envoy to have the edit', async () =>
    (await envoy.admin('/config_dump?resource=dynamic_active_clusters')).includes('"2s"'),
  );
  expect(await programmedOf('other')).toMatchObject({ status: 'True' });
});

test('a proxy that comes later gets the last good form', async () => {
  const later = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-2' });
  try {
    await until('the later proxy to have the pool', async () =>
      (await later.admin('/clusters?format=json')).includes('default/web'),
    );
    await until(
      'the later proxy to be in step',
      async () => (await fairway.call('GET', '/v1/proxies/lb-2')).body.state === 'Synced',
    );
    expect(await later.stat('cluster_manager.cds.update_rejected')).toBe(0);
  } finally {
    await later.stop();
  }
});

test('a restart of the server forgets nothing', async () => {
  const { xdsPort } = fairway;
  await fairway.close();
  fairway = await startFairway({ data, rawPatch: poison, xdsPort });
  await until('Envoy to be back', async () => (await fairway.call('GET', '/v1/proxies/lb-1')).body.state === 'Synced');
  expect(await programmedOf('web')).toMatchObject({ status: 'False', reason: 'RejectedByProxy' });
  expect(await envoy.stat('cluster_manager.cds.update_rejected')).toBe(1);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
});

test('the condition clears when the operator mends it', async () => {
  await fairway.put(pool('web', '3s'));
  const mended = await fairway.waitFor('BackendPool', 'web', 'Programmed', 'True');
  expect(mended.metadata.generation).toBe(3);
  await until('Envoy to have the mended form', async () =>
    (await envoy.admin('/config_dump?resource=dynamic_active_clusters')).includes('"3s"'),
  );
});

const route = (name: string, host: string, path = '/'): Manifest => ({
  kind: 'Route',
  metadata: { name },
  spec: {
    attachTo: [{ virtualService: 'shop', listener: 'web' }],
    hosts: [host],
    rules: [{ name: 'all', match: [{ path: { prefix: path } }], action: { respond: { status: 200, body: name } } }],
  },
});

const answerOf = async (host: string, path = '/'): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
    response
      .setEncoding('utf8')
      .on('data', resolve)
      .on('end', () => resolve(''));
  })
    .on('error', reject)
    .end();
  return promise;
};

test('of a composite it is the object at fault; what changed with it is served, what did not was never touched', async () => {
  await fairway.put(route('a', 'a.example'), route('b', 'b.example'), route('c', 'c.example'));
  for (const name of ['a', 'b', 'c']) await fairway.waitFor('Route', name, 'Programmed', 'True');
  const programmedC = async () =>
    (await fairway.get('Route', 'c')).status.conditions.find(({ type }) => type === 'Programmed');
  const before = await until('the time of the condition to be stored', async () => {
    const [first, second] = [await programmedC(), await programmedC()];
    return first?.lastTransitionTime === second?.lastTransitionTime && first;
  });
  const objects = [route('a', 'poison.example'), route('b', 'b.example', '/b')].map((object) => ({
    apiVersion: 'fairway/v1',
    ...object,
  }));
  expect((await fairway.call('POST', '/v1/apply', { objects })).status).toBe(200);
  const refused = await until('Route a to be refused', async () => {
    const condition = (await fairway.get('Route', 'a')).status.conditions.find(({ type }) => type === 'Programmed');
    return condition?.reason === 'RejectedByProxy' && condition.message.includes('Generation 1 goes on') && condition;
  });
  expect(refused.message).toContain('poison.example');
  await fairway.waitFor('Route', 'b', 'Programmed', 'True');
  expect(await programmedC()).toEqual(before);
  expect(await answerOf('a.example')).toBe('a');
  expect(await answerOf('b.example', '/b')).toBe('b');
});

test('routes of the same table go on being edited', async () => {
  await fairway.put(route('c', 'c.example', '/c'), route('b', 'b.example', '/b2'));
  for (const name of ['b', 'c']) await fairway.waitFor('Route', name, 'Programmed', 'True');
  expect(await answerOf('c.example', '/c')).toBe('c');
  expect(await answerOf('b.example', '/b2')).toBe('b');
  expect(await answerOf('a.example')).toBe('a');
  await fairway.put(route('a', 'a.example', '/a'));
  await fairway.waitFor('Route', 'a', 'Programmed', 'True');
  expect(await answerOf('a.example', '/a')).toBe('a');
});

test('an object that was never good is served nowhere, and deleting it leaves nothing behind', async () => {
  await fairway.put({
    kind: 'BackendPool',
    metadata: { name: 'never' },
    spec: { ...(pool('never', poisonedTimeout).spec as object) },
  });
  await fairway.put({
    ...route('d', 'd.example'),
    spec: {
      ...(route('d', 'd.example').spec as object),
      rules: [{ name: 'all', action: { forward: [{ pool: 'never' }] } }],
    },
  });
  await until('the pool to be refused', async () =>
    (await programmedOf('never'))?.message.includes('Nothing of it is served'),
  );
  expect((await fairway.call('DELETE', '/v1/scopes/default/routes/d')).status).toBe(200);
  expect((await fairway.call('DELETE', '/v1/scopes/default/backend-pools/never')).status).toBe(200);
  await fairway.put(pool('never', '1s'), {
    ...route('d', 'd.example'),
    spec: {
      ...(route('d', 'd.example').spec as object),
      rules: [{ name: 'all', action: { forward: [{ pool: 'never' }] } }],
    },
  });
  await fairway.waitFor('BackendPool', 'never', 'Programmed', 'True');
  expect(await answerOf('d.example')).toContain('one GET /');
});
