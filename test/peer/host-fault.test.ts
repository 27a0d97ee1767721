import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { startFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// An address in use on one node is a matter of that node: it is told of it, tried again there, and served elsewhere.

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

async function occupy(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '0.0.0.0');
  await once(server, 'listening');
  return server;
}

async function free(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}

test('an address in use on one node only', async () => {
  const port = await freePort();
  const fairway = await startFairway();
  cleanUp.push(() => fairway.close());
  const start = async (node: string): Promise<RunningEnvoy> => {
    const envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node });
    cleanUp.push(() => envoy.stop());
    return envoy;
  };
  const programmed = async () =>
    (await fairway.get('VirtualService', 'shop')).status.conditions.find(({ type }) => type === 'Programmed');
  const stateOf = async (node: string) => (await fairway.call('GET', `/v1/proxies/${node}`)).body.state;

  // Envoy shares its ports with other Envoys, but not with a server that does not.
  const other = await occupy(port);
  const first = await start('lb-1');
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
  await fairway.put({
    kind: 'VirtualService',
    metadata: { name: 'shop' },
    spec: {
      fleet: 'edge',
      listeners: [{ name: 'web', port, protocol: 'HTTP', defaultAction: { respond: { status: 200, body: 'hello' } } }],
    },
  });
  await until('the fault to be told', async () => (await programmed())?.reason === 'RejectedByProxy');
  await free(other);
  const second = await start('lb-2');
  await until('the other node to serve it', async () => (await stateOf('lb-2')) === 'Synced');

  const told = await programmed();
  expect(told).toMatchObject({ status: 'False', reason: 'RejectedByProxy' });
  expect(told?.message).toMatch(/^proxy lb-1 refused it, since .*Address already in use/);
  expect(told?.message).toContain('This is a matter of that host alone');
  expect(await stateOf('lb-1')).toBe('Rejected');
  const { realization } = (await fairway.get('VirtualService', 'shop')).status;
  expect(realization).toMatchObject({ desired: 2, realized: 1, failed: [{ node: 'lb-1' }] });
  expect(await second.stat('listener_manager.lds.update_rejected')).toBe(0);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);

  // Nothing was held back, and the node is tried again by itself.
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  expect(await stateOf('lb-1')).toBe('Synced');
  expect(await first.stat('listener_manager.lds.update_rejected')).toBe(1);
  expect(fairway.logged()).not.toContain('object_convicted');
});
