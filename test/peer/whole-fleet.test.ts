/** Three controllers on a real etcd, a proxy with each: whichever is asked answers for all, as far as they answer. */
import { get } from 'node:https';
import { expect, onTestFinished, test } from 'vitest';
import { serverDefaults } from '../../src/config/index.ts';
import { newDataKey } from '../../src/lib/sealer.ts';
import { startServer } from '../../src/server/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { runHere } from '../support/command-line.ts';
import { type Controller, put, useTestCluster } from '../support/controllers.ts';
import { startToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

const controllers: Controller[] = [];
const nodes = ['lb-a', 'lb-b', 'lb-c'];

const shared = useTestCluster(async (cluster) => {
  for (const name of ['a', 'b', 'c']) controllers.push(await cluster.start(name));
});

interface WireProxy {
  readonly node: string;
  readonly replica: string;
  readonly state: string;
}

const pool = (port: number) => ({ members: [{ address: '127.0.0.1', port }] });
const poolPath = 'scopes/default/backend-pools/web';

test('each controller answers for all, and says who does not answer', { timeout: 60_000 }, async () => {
  const [a, b, c] = controllers as [Controller, Controller, Controller];
  await put(a, 'fleets/edge', {});
  await put(a, poolPath, pool(9001));
  await put(a, 'scopes/default/virtual-services/shop', {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 8080, protocol: 'TCP', defaultAction: { pool: 'web' } }],
  });
  for (const [i, node] of nodes.entries()) {
    const toy = await startToyProxy({ xdsPort: (controllers[i] as Controller).xdsPort, node, fleet: 'edge' });
    onTestFinished(() => toy.close());
  }

  for (const controller of controllers) {
    let last: unknown;
    const items = await until(
      `${controller.name} to list all`,
      async () => {
        const { body } = await controller.call('GET', '/v1/proxies');
        last = body;
        const { items } = body as { items: WireProxy[] };
        return items.length === 3 && items.every(({ state }) => state === 'Synced') && items;
      },
      { describe: () => last },
    );
    expect(items.map(({ node, replica }) => [node, replica])).toEqual([
      ['lb-a', 'a'],
      ['lb-b', 'b'],
      ['lb-c', 'c'],
    ]);
    for (const node of nodes) {
      expect((await controller.call('GET', `/v1/proxies/${node}`)).body).toMatchObject({ node, fleet: 'edge' });
      const { body } = await controller.call('GET', `/v1/proxies/${node}/config?type=Cluster&content=true`);
      expect(body.items.find(({ name }: { name: string }) => name === 'default/web')).toMatchObject({
        state: 'acknowledged',
        content: { name: 'default/web' },
      });
      expect((await controller.call('POST', `/v1/proxies/${node}/compare`)).body).toEqual({ proxies: 1 });
    }
    expect((await controller.call('POST', '/v1/compare')).body).toEqual({ proxies: 3 });
    expect((await controller.call('GET', '/v1/proxies?fleet=other')).body.items).toEqual([]);
    expect((await controller.call('GET', '/v1/proxies/nobody')).status).toBe(404);
  }

  const { revision } = (await put(b, poolPath, pool(9002))).metadata;
  for (const controller of controllers) {
    let last: unknown;
    await until(
      `${controller.name} to know that all have the commit`,
      async () => {
        const { status, body } = await controller.call('GET', `/v1/commits/${revision}`);
        last = body;
        return status === 200 && body.proxies.concerned === 3 && body.proxies.acknowledged === 3;
      },
      { describe: () => last },
    );
  }

  // An Envoy that is told of one of them is told of all.
  const made = await runHere(['envoy', '--fleet', 'edge', '--print-bootstrap', '--server', `http://${b.address}`]);
  for (const { xdsPort } of controllers) expect(made.out).toMatch(new RegExp(`port_value: ${xdsPort}\\b`));

  await c.kill();
  for (const controller of [a, b]) {
    const { status, body } = await controller.call('GET', '/v1/proxies');
    expect(status).toBe(200);
    // It may be reached again by its proxy in no other place: the toy has one address.
    expect(body.items.map(({ node }: WireProxy) => node)).toEqual(['lb-a', 'lb-b']);
    expect(body.missing).toEqual([
      { controller: 'c', since: expect.any(String), reason: expect.stringContaining('ECONNREFUSED'), proxies: 1 },
    ]);
    expect(Math.abs(Date.parse(body.missing[0].since) - Date.now())).toBeLessThan(30_000);
    expect((await controller.call('GET', '/v1/proxies/lb-c')).body).toMatchObject({
      code: 'NotReady',
      detail: expect.stringContaining('c has not answered since'),
    });
    expect((await controller.call('GET', '/v1/proxies/lb-b')).status).toBe(200);
    expect((await controller.call('GET', `/v1/commits/${revision}`)).body.missing).toHaveLength(1);
  }

  // One that stands still answers nothing, and holds nobody up.
  b.pause();
  onTestFinished(() => b.resume());
  const { body } = await a.call('GET', '/v1/proxies');
  expect(body.items.map(({ node }: WireProxy) => node)).toEqual(['lb-a']);
  expect(body.missing.map(({ controller }: { controller: string }) => controller).sort()).toEqual(['b', 'c']);
  b.resume();
  await until('it to answer again', async () => {
    const { body } = await a.call('GET', '/v1/proxies');
    return body.items.length === 2;
  });
});

function read(address: string, path: string): Promise<{ readonly items: unknown[]; readonly missing?: unknown }> {
  return new Promise((resolve, reject) => {
    get(`https://${address}${path}`, { rejectUnauthorized: false, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(JSON.parse(text)));
    }).on('error', reject);
  });
}

test('controllers with certificates of their own authority know each other by these', async () => {
  const { etcd } = shared.cluster;
  const dataKeys = newDataKey();
  const addresses: string[] = [];
  for (const name of ['d', 'e']) {
    const server = await startServer({
      config: {
        ...serverDefaults,
        ...{ name, store: 'etcd', etcdEndpoints: etcd.urls.join(','), etcdPrefix: '/tls', authentication: 'none' },
        ...{ listen: '127.0.0.1:0', xdsListen: '127.0.0.1:0', xdsTls: 'own', tlsOwn: true },
      },
      dataKeys,
      log: createLogger({ level: 'silent' }),
    });
    onTestFinished(() => server.close());
    addresses.push(server.address);
  }
  for (const address of addresses) {
    await until('it to know the other', async () => (await read(address, '/v1/controllers')).items.length === 2);
    expect(await read(address, '/v1/proxies')).toEqual({ metadata: { revision: expect.any(String) }, items: [] });
  }
});
