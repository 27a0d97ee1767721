/** Several controllers on a real etcd: who leads, what each knows of the others, and what each serves. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { typeUrls } from '../../src/xds/index.ts';
import { type Controller, put, useTestCluster } from '../support/controllers.ts';
import { startToyProxy, type ToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

const controllers: Controller[] = [];
const [a, b, c] = [0, 1, 2].map((i) => () => controllers[i] as Controller) as [
  () => Controller,
  () => Controller,
  () => Controller,
];

const shared = useTestCluster(async (cluster) => {
  for (const name of ['a', 'b', 'c']) controllers.push(await cluster.start(name));
  for (const [path, spec] of Object.entries(objects)) await put(a(), path, spec);
});

const objects = {
  'fleets/edge': {},
  'scopes/default/backend-pools/web': { members: [{ address: '127.0.0.1', port: 9001 }] },
  'scopes/default/virtual-services/shop': {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 8080, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } }],
  },
};
const pool = (port: number) => ({ members: [{ address: '127.0.0.1', port }] });
const poolPath = 'scopes/default/backend-pools/web';

async function condition(controller: Controller, path: string, type: string) {
  const { body } = await controller.call('GET', `/v1/${path}`);
  const found = body.status.conditions.find((one: { type: string }) => one.type === type);
  return found as { status: string; reason: string; message: string; lastTransitionTime: string };
}

async function proxy(at: Controller, node: string): Promise<ToyProxy> {
  const toy = await startToyProxy({ xdsPort: at.xdsPort, node, fleet: 'edge' });
  onTestFinished(() => toy.close());
  return toy;
}

describe('the controllers', () => {
  test('know each other, and agree on who leads', async () => {
    const told = await until('all to know all', async () => {
      const lists = await Promise.all(controllers.map((controller) => controller.controllers()));
      const complete = lists.every((list) => list.length === 3 && list.some(({ leader }) => leader));
      return complete && lists;
    });
    for (const list of told) {
      expect(list.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      expect(list.filter(({ leader }) => leader)).toHaveLength(1);
      expect(list.find(({ leader }) => leader)?.id).toBe(told[0]?.find(({ leader }) => leader)?.id);
    }
    for (const [i, controller] of controllers.entries()) {
      expect(told[0]?.[i]).toMatchObject({
        state: 'Ready',
        address: controller.address,
        xdsAddress: `127.0.0.1:${controller.xdsPort}`,
        roles: ['api', 'xds', 'control'],
        version: expect.stringMatching(/^\d/),
        lag: expect.any(Number),
      });
      expect(told[0]?.[i]?.memoryBytes).toBeGreaterThan(50_000_000);
      expect(Number(told[0]?.[i]?.revision)).toBeGreaterThan(0);
    }
  });

  test('each take writes, and serve what any of them was told', async () => {
    for (const [i, controller] of controllers.entries()) {
      const written = await put(controller, poolPath, pool(9100 + i));
      for (const other of controllers) {
        await until('it to be read', async () => {
          const { body } = await other.call('GET', `/v1/${poolPath}`);
          return body.metadata.revision === written.metadata.revision;
        });
      }
    }
  });
});

describe('a proxy', () => {
  test('counts in what every controller says of an object', async () => {
    const [here, there] = [await proxy(b(), 'lb-b'), await proxy(c(), 'lb-c')];
    const counts = async (controller: Controller) =>
      (await controller.call('GET', '/v1/scopes/default/virtual-services/shop')).body.status.realization;
    for (const controller of controllers) {
      await until(
        `${controller.name} to say that both have it`,
        async () => (await counts(controller)).realized === 2,
        {
          describe: () => counts(controller),
        },
      );
      expect(await condition(controller, 'scopes/default/virtual-services/shop', 'Programmed')).toMatchObject({
        status: 'True',
      });
      for (const node of ['lb-b', 'lb-c']) {
        expect(await condition(controller, `nodes/${node}`, 'Connected')).toMatchObject({ status: 'True' });
      }
    }
    const version = here.version(typeUrls.endpoint, 'default/web');
    expect(version).toBeDefined();
    expect(there.version(typeUrls.endpoint, 'default/web')).toBe(version);

    await put(a(), poolPath, pool(9200));
    for (const controller of controllers) {
      await until(`${controller.name} to say that it is programmed`, async () => {
        return (await condition(controller, poolPath, 'Programmed')).status === 'True';
      });
    }

    // One moves: nobody takes it for gone, or for two, and nothing is less in force meanwhile.
    const since = new Map<string, string>();
    const programmed = (controller: Controller) =>
      condition(controller, 'scopes/default/virtual-services/shop', 'Programmed');
    for (const controller of controllers) {
      // One that nobody has stored yet is true since now.
      const stored = await until('the leader to have stored since when', async () => {
        const [first, second] = [await programmed(controller), await programmed(controller)];
        return first.lastTransitionTime === second.lastTransitionTime && first.lastTransitionTime;
      });
      since.set(controller.name, stored);
    }
    here.close();
    await until('its controller to say that it is gone', async () => {
      return (await condition(c(), 'nodes/lb-b', 'Connected')).status !== 'True';
    });
    for (const controller of controllers) {
      expect(await counts(controller), controller.name).toMatchObject({
        desired: 2,
        realized: 2,
        unreachable: ['lb-b'],
      });
      expect(await programmed(controller), controller.name).toMatchObject({ status: 'True' });
    }
    await proxy(a(), 'lb-b');
    for (const controller of controllers) {
      await until(`${controller.name} to know where it is`, async () => {
        const { realized, desired } = await counts(controller);
        return realized === 2 && desired === 2 && (await counts(controller)).unreachable.length === 0;
      });
      expect((await programmed(controller)).lastTransitionTime).toBe(since.get(controller.name));
    }
  });
});

test('the parts of a controller run apart, and each goes on without the others', async () => {
  const parts = ['api', 'xds', 'control'] as const;
  const start = (role: string) =>
    shared.cluster.start(`only-${role}`, { flags: ['--roles', role, '--etcd-prefix', '/apart'] });
  const [api, xds, control] = (await Promise.all(parts.map(start))) as [Controller, Controller, Controller];
  for (const [path, spec] of Object.entries(objects)) await put(api, path, spec);
  const told = await until('all to be known', async () => {
    const list = await api.controllers();
    return list.length === 3 && list.some(({ leader }) => leader) && list;
  });
  expect(told.map(({ id, roles, leader }) => [id, roles, leader])).toEqual([
    ['only-api', ['api'], false],
    ['only-control', ['control'], true],
    ['only-xds', ['xds'], false],
  ]);
  expect(told.map(({ xdsAddress }) => xdsAddress !== '')).toEqual([false, false, true]);
  for (const other of [xds, control]) {
    expect((await other.call('GET', '/v1/backend-pools')).status).toBe(404);
    expect((await other.call('GET', '/healthz')).status).toBe(200);
  }

  const first = await proxy(xds, 'lb-1');
  await until('the proxy to be filled', () => first.version(typeUrls.endpoint, 'default/web'));
  await until('the API to know that it has all', async () => {
    return (await condition(api, poolPath, 'Programmed')).status === 'True';
  });

  await control.stop();
  const before = first.version(typeUrls.endpoint, 'default/web');
  await put(api, poolPath, pool(9300));
  await until('a write to reach the proxy without a leader', () => {
    return first.version(typeUrls.endpoint, 'default/web') !== before;
  });
  await api.stop();
  const second = await proxy(xds, 'lb-2');
  await until('a proxy to be filled without an API', () => second.version(typeUrls.endpoint, 'default/web'));
  const again = await start('api');
  expect((await again.call('GET', `/v1/${poolPath}`)).body.spec.members[0].port).toBe(9300);
});
