import { afterEach, expect, it } from 'vitest';
import { type Resource, typeUrls } from '../../src/xds/index.ts';
import { startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { brokenCluster, clusterOf, endpointsOf, listenerOf, routesTo } from '../support/xds-messages.ts';
import { acked, answer, type HandServer, serveByHand } from '../support/xds-peer.ts';

// What a real Envoy makes of the delta server: resources by hand, no object of Fairway anywhere.

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
  const envoy = await startEnvoy({ node: 'n1', fleet: 'edge', xdsPort: server.xds.port });
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

it('fills an Envoy in order, once, and changes only what changed', async () => {
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
  expect(server.progress.filter(({ kind }) => kind === 'filled')).toHaveLength(1);

  server.frames.length = 0;
  server.commit([endpointsOf('c1', two)]);
  await acked(server, 2);
  expect(await answer(port)).toBe('two');
  expect(server.frames).toEqual(['ClusterLoadAssignment: c1']);

  // A new pool behind the same routes: never a moment without an answer.
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
  await until('the old pool to be gone', () => server.frames.includes('Cluster: -c1'));
  expect([...seen].filter((who) => who !== 'one' && who !== 'two')).toEqual([]);
  expect(server.frames).toEqual(['Cluster: c2', 'ClusterLoadAssignment: c2', 'RouteConfiguration: r1', 'Cluster: -c1']);
  expect(await envoy.stat('listener_manager.total_listeners_draining')).toBe(0);
  expect(await envoy.stat('listener_manager.listener_modified')).toBe(0);
});

it('rule 35: a changed cluster gets its endpoints again and is live at once, without being asked', async () => {
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
  expect(server.frames).toEqual(['Cluster: c1', 'ClusterLoadAssignment: c1']);
  expect(await envoy.stat('cluster_manager.warming_clusters')).toBe(0);
  expect(await envoy.stat('cluster.c1.init_fetch_timeout')).toBe(0);
  expect(await answer(port)).toBe('one');
});

it('rules 31, 33: after a restart of the server Envoy gets nothing it has, and what changed meanwhile', async () => {
  const { one, two } = await backends();
  const port = await freePort();
  const resources = [
    listenerOf('l1', port, 'r1'),
    routesTo('r1', 'c1'),
    ...['c1', 'c2', 'gone'].flatMap((name) => [clusterOf(name), endpointsOf(name, one)]),
  ];
  const first = await serve(resources);
  await envoyAt(first);
  await acked(first, 1);
  await first.xds.close({ graceMs: 200 });
  const second = await serve(resources, first.xds.port);
  await acked(second, 1);
  // The wildcards get an answer that holds nothing.
  expect(second.frames.filter((frame) => !/^(Cluster|Listener):$/.test(frame))).toEqual([]);
  expect(await answer(port)).toBe('one');
  await second.xds.close({ graceMs: 200 });

  const changed = [
    ...resources.filter(({ name }) => name !== 'gone' && name !== 'c1'),
    clusterOf('c1', 2),
    endpointsOf('c1', two),
  ];
  const third = await serve(changed, first.xds.port);
  await acked(third, 1);
  await until('the changed endpoints', async () => (await answer(port)) === 'two');
  expect(third.frames.filter((frame) => frame.includes('c2') || frame.includes('r1') || frame.includes('l1'))).toEqual(
    [],
  );
  expect(third.frames).toContain('Cluster: c1 -gone');
});

it('finds the one bad cluster among many, reports it, and the rest is served', async () => {
  const { one } = await backends();
  const port = await freePort();
  const names = Array.from({ length: 30 }, (_, at) => `c${at}`);
  const server = await serve([
    listenerOf('l1', port, 'r1'),
    routesTo('r1', 'c29'),
    ...names.flatMap((name) => [name === 'c7' ? brokenCluster(name) : clusterOf(name), endpointsOf(name, one)]),
  ]);
  const envoy = await envoyAt(server);
  await acked(server, 1);
  expect(await answer(port)).toBe('one');
  const rejected = server.progress.filter((event) => event.kind === 'rejected');
  expect(rejected).toMatchObject([
    { name: 'c7', scope: 'convicted', nodeId: 'n1', words: expect.stringContaining('c7') },
  ]);
  expect(server.hub.fleet.delivery(typeUrls.cluster, 'c7')).toMatchObject([{ state: 'rejected' }]);
  for (const name of names.filter((one) => one !== 'c7')) {
    expect(server.hub.fleet.delivery(typeUrls.cluster, name)).toMatchObject([{ state: 'acked' }]);
  }
  // A fault that throws away the whole response: every one of the batch has to be sent again.
  server.commit([clusterOf('c8', -1), clusterOf('c9', 2), clusterOf('c10', 2)]);
  await acked(server, 2);
  expect(server.hub.fleet.delivery(typeUrls.cluster, 'c8')).toMatchObject([
    { state: 'rejected', refusal: { words: expect.stringMatching(/duration/i) } },
  ]);
  const dump = await envoy.admin('/config_dump?resource=dynamic_active_clusters&name_regex=^(c8|c9|c10)$');
  const timeouts = [...dump.matchAll(/"name": "(c\d+)"[^}]*?[\s\S]*?"connect_timeout": "(\ds)"/g)].map(
    ([, name, time]) => [name, time],
  );
  expect(Object.fromEntries(timeouts)).toEqual({ c8: '1s', c9: '2s', c10: '2s' });
  // Mended: it is sent, and the refusal is gone.
  server.commit([clusterOf('c8', 3), clusterOf('c7')]);
  await acked(server, 3);
  for (const name of ['c7', 'c8']) {
    expect(server.hub.fleet.delivery(typeUrls.cluster, name)).toMatchObject([{ state: 'acked' }]);
  }
});
