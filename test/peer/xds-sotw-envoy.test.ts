import { afterEach, expect, it } from 'vitest';
import { type Resource, typeUrls } from '../../src/xds/index.ts';
import { startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { brokenCluster, clusterOf, endpointsOf, listenerOf, routesTo } from '../support/xds-messages.ts';
import { acked, answer, type HandServer, serveByHand } from '../support/xds-peer.ts';

// What a real Envoy makes of state-of-the-world ADS, by the same hub that serves delta.

const cleanUp: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

async function serve(resources: readonly Resource[], port = 0): Promise<HandServer> {
  const server = await serveByHand(resources, port);
  cleanUp.push(() => server.close());
  return server;
}

async function envoyAt(server: HandServer): Promise<RunningEnvoy> {
  const envoy = await startEnvoy({ node: 'n1', fleet: 'edge', xdsPort: server.xds.port, protocol: 'sotw' });
  cleanUp.push(() => envoy.stop());
  return envoy;
}

async function backends(): Promise<{ one: number; two: number }> {
  const [one, two] = await Promise.all([startBackend('one'), startBackend('two')]);
  cleanUp.push(
    () => one.close(),
    () => two.close(),
  );
  return { one: one.port, two: two.port };
}

it('rules 27, 36, 39: fills an Envoy in order, once, and a new pool takes over without a gap', async () => {
  const { one, two } = await backends();
  const port = await freePort();
  const server = await serve([
    listenerOf('l1', port, 'r1'),
    routesTo('r1', 'c1'),
    endpointsOf('c1', one),
    clusterOf('c1'),
    clusterOf('unused'),
    endpointsOf('unused', one),
  ]);
  const envoy = await envoyAt(server);
  await acked(server, 1);
  await until('an answer', async () => (await answer(port)) === 'one');
  expect(server.frames).toEqual([
    'Cluster: c1 unused',
    'ClusterLoadAssignment: c1 unused',
    'Listener: l1',
    'RouteConfiguration: r1',
  ]);

  server.frames.length = 0;
  server.commit([endpointsOf('c1', two)]);
  await acked(server, 2);
  expect(await answer(port)).toBe('two');
  expect(server.frames).toEqual(['ClusterLoadAssignment: c1']);

  server.frames.length = 0;
  server.commit(
    [routesTo('r1', 'c2'), clusterOf('c2'), endpointsOf('c2', one)],
    [
      [typeUrls.cluster, 'c1'],
      [typeUrls.endpoint, 'c1'],
    ],
  );
  const seen = new Set<string>();
  await until('the new pool', async () => {
    const who = await answer(port);
    seen.add(who);
    return who === 'one';
  });
  await acked(server, 3);
  await until('the old pool to be gone', () => server.frames.includes('Cluster: c2 unused'));
  expect([...seen].filter((who) => who !== 'one' && who !== 'two')).toEqual([]);
  expect(server.frames).toEqual([
    'Cluster: c1 c2 unused',
    'ClusterLoadAssignment: c2',
    'RouteConfiguration: r1',
    'Cluster: c2 unused',
  ]);
  expect(await envoy.stat('listener_manager.total_listeners_draining')).toBe(0);
  await until('the cluster to be removed', async () => (await envoy.stat('cluster_manager.cluster_removed')) === 1);
});

it('rule 35: a changed cluster gets its endpoints again and is live at once', async () => {
  const { one } = await backends();
  const port = await freePort();
  const others = Array.from({ length: 20 }, (_, at) => `other-${at}`);
  const server = await serve([
    listenerOf('l1', port, 'r1'),
    routesTo('r1', 'c1'),
    ...['c1', ...others].flatMap((name) => [clusterOf(name), endpointsOf(name, one)]),
  ]);
  const envoy = await envoyAt(server);
  await acked(server, 1);
  server.frames.length = 0;
  server.commit([clusterOf('c1', 3)]);
  await acked(server, 2);
  expect(server.frames.filter((frame) => frame.startsWith('ClusterLoadAssignment'))).toEqual([
    'ClusterLoadAssignment: c1',
  ]);
  expect(await envoy.stat('cluster_manager.warming_clusters')).toBe(0);
  expect(await envoy.stat('cluster.c1.init_fetch_timeout')).toBe(0);
  expect(await answer(port)).toBe('one');
});

it('rules 4, 27: after a restart of the server, what is gone is removed and nothing else is touched', async () => {
  const { one, two } = await backends();
  const port = await freePort();
  const resources = [
    listenerOf('l1', port, 'r1'),
    routesTo('r1', 'c1'),
    ...['c1', 'c2', 'gone'].flatMap((name) => [clusterOf(name), endpointsOf(name, one)]),
  ];
  const first = await serve(resources);
  const envoy = await envoyAt(first);
  await acked(first, 1);
  await until('an answer', async () => (await answer(port)) === 'one');
  await first.close();
  const second = await serve(
    [...resources.filter(({ name }) => name !== 'gone' && name !== 'c1'), clusterOf('c1', 2), endpointsOf('c1', two)],
    first.xds.port,
  );
  await acked(second, 1);
  await until('the changed endpoints', async () => (await answer(port)) === 'two');
  await until('the removal', async () => (await envoy.stat('cluster_manager.cluster_removed')) === 1);
  expect(await envoy.stat('cluster_manager.cluster_modified')).toBe(1);
  expect(await envoy.stat('listener_manager.listener_modified')).toBe(0);
  expect(await envoy.stat('listener_manager.total_listeners_draining')).toBe(0);
});

it('rules 11, 13: finds the bad cluster of a full set, and keeps its last good form in the sets after that', async () => {
  const { one } = await backends();
  const port = await freePort();
  const names = Array.from({ length: 6 }, (_, at) => `c${at}`);
  const server = await serve([
    listenerOf('l1', port, 'r1'),
    routesTo('r1', 'c5'),
    ...names.flatMap((name) => [name === 'c3' ? brokenCluster(name) : clusterOf(name), endpointsOf(name, one)]),
  ]);
  const envoy = await envoyAt(server);
  await acked(server, 1);
  await until('an answer', async () => (await answer(port)) === 'one');
  expect(server.progress.filter(({ kind }) => kind === 'rejected')).toMatchObject([
    { name: 'c3', scope: 'convicted', words: expect.stringContaining('c3') },
  ]);
  // A fault for which Envoy throws the whole response away.
  server.commit([clusterOf('c1', -1), clusterOf('c2', 2)]);
  await acked(server, 2);
  expect(server.hub.fleet.delivery(typeUrls.cluster, 'c1')).toMatchObject([{ state: 'rejected' }]);
  expect(server.hub.fleet.delivery(typeUrls.cluster, 'c2')).toMatchObject([{ state: 'acked' }]);
  server.frames.length = 0;
  server.commit([clusterOf('c4', 2)]);
  await acked(server, 3);
  expect(server.frames[0]).toBe('Cluster: c0 c1 c2 c4 c5');
  const dump = await envoy.admin('/config_dump?resource=dynamic_active_clusters');
  const timeouts = [...dump.matchAll(/"name": "(c\d)"[\s\S]*?"connect_timeout": "(\ds)"/g)].map(
    ([, name, time]) => `${name} ${time}`,
  );
  expect(timeouts.sort()).toEqual(['c0 1s', 'c1 1s', 'c2 2s', 'c4 2s', 'c5 1s']);
  server.commit([clusterOf('c1', 3), clusterOf('c3')]);
  await acked(server, 4);
  for (const name of ['c1', 'c3']) {
    expect(server.hub.fleet.delivery(typeUrls.cluster, name)).toMatchObject([{ state: 'acked' }]);
  }
});
