import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Protocol, type Resource, typeUrls } from '../../src/xds/index.ts';
import { startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { checkedCluster, clusterOf, endpointsOf, listenerOf, policyOf, routesTo } from '../support/xds-messages.ts';
import { acked, answer, type HandServer, serveByHand } from '../support/xds-peer.ts';

// What a real Envoy waits for, and what it does not: clusters that warm, filters without content, pools without members.

const cleanUp: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

async function serve(resources: readonly Resource[], port = 0): Promise<HandServer> {
  const server = await serveByHand(resources, port);
  cleanUp.push(() => server.close());
  return server;
}

async function envoyAt(server: HandServer, protocol: Protocol): Promise<RunningEnvoy> {
  const envoy = await startEnvoy({ node: 'n1', fleet: 'edge', xdsPort: server.xds.port, protocol });
  cleanUp.push(() => envoy.stop());
  return envoy;
}

async function backend(name: string): Promise<number> {
  const started = await startBackend(name);
  cleanUp.push(() => started.close());
  return started.port;
}

/** Takes connections and never says a word: a health check ends with its timeout. */
async function silent(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(
    () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  );
  return (server.address() as AddressInfo).port;
}

const warming = (envoy: RunningEnvoy, count: number) =>
  until(`${count} clusters to warm`, async () => (await envoy.stat('cluster_manager.warming_clusters')) === count);

const stateOf = ({ hub }: HandServer, type: string, name: string) => hub.fleet.delivery(type, name)[0]?.state;

describe.each<Protocol>(['delta', 'sotw'])('%s', (protocol) => {
  it('rules 14, 15: while a cluster warms there is no answer for clusters, and everything else goes on', async () => {
    const [one, two, port, nobody] = await Promise.all([backend('one'), backend('two'), freePort(), silent()]);
    const server = await serve([
      listenerOf('l1', port, 'r1'),
      routesTo('r1', 'c1'),
      clusterOf('c1'),
      endpointsOf('c1', one),
    ]);
    const envoy = await envoyAt(server, protocol);
    await acked(server, 1);
    server.commit([checkedCluster('slow', 3), endpointsOf('slow', nobody)]);
    await warming(envoy, 1);
    await until('the endpoints to be acknowledged', () => stateOf(server, typeUrls.endpoint, 'slow') === 'acked');
    expect(stateOf(server, typeUrls.cluster, 'slow')).toBe('pending');
    // Another cluster, with its endpoints and the routes to it, while the first answer is out.
    server.commit([clusterOf('c2'), endpointsOf('c2', two), routesTo('r1', 'c2')]);
    await until('the new pool', async () => (await answer(port)) === 'two');
    expect(await envoy.stat('cluster_manager.warming_clusters')).toBe(1);
    expect(stateOf(server, typeUrls.cluster, 'c2')).toBe('pending');
    await acked(server, 3);
    expect(server.progress.filter(({ kind }) => kind === 'stalled')).toEqual([]);
  });

  it('rules 25, 37: a listener does not wait for a filter without content, and loses none that it has', async () => {
    const [one, port] = await Promise.all([backend('one'), freePort()]);
    const server = await serve([
      listenerOf('l1', port, 'r1', 'p1'),
      routesTo('r1', 'c1'),
      clusterOf('c1'),
      endpointsOf('c1', one),
    ]);
    const envoy = await envoyAt(server, protocol);
    // The default: nobody may.
    await until('the listener', async () => (await answer(port)) === '403');
    server.commit([policyOf('p1', true)]);
    await until('the policy', async () => (await answer(port)) === 'one');
    await acked(server, 2);
    server.commit([], [[typeUrls.extension, 'p1']]);
    // A change that follows is there when the removal would have been.
    server.commit([clusterOf('c2'), endpointsOf('c2', one)]);
    await acked(server, 4);
    expect(await answer(port)).toBe('one');
    expect(server.frames.filter((frame) => frame.startsWith('TypedExtensionConfig'))).toEqual([
      'TypedExtensionConfig: p1',
    ]);
    expect(await envoy.stat('listener_manager.total_listeners_draining')).toBe(0);
  });

  it('rule 26: a pool without members answers 503 at once, and its members later', async () => {
    const [one, port] = await Promise.all([backend('one'), freePort()]);
    const server = await serve([listenerOf('l1', port, 'r1'), routesTo('r1', 'c1'), clusterOf('c1')]);
    const envoy = await envoyAt(server, protocol);
    await acked(server, 1);
    expect(await answer(port)).toBe('503');
    expect(await envoy.stat('cluster.c1.init_fetch_timeout')).toBe(0);
    server.commit([endpointsOf('c1', one)]);
    await until('the member', async () => (await answer(port)) === 'one');
  });

  it('rule 33: cut off while a cluster warms, it asks for no clusters, and gets its endpoints all the same', async () => {
    const [one, two, port, nobody] = await Promise.all([backend('one'), backend('two'), freePort(), silent()]);
    const resources = [
      listenerOf('l1', port, 'r1'),
      routesTo('r1', 'c1'),
      ...[clusterOf('c1'), endpointsOf('c1', one), endpointsOf('slow', nobody)],
    ];
    const first = await serve([...resources, clusterOf('slow')]);
    const envoy = await envoyAt(first, protocol);
    await acked(first, 1);
    const changed = [...resources, checkedCluster('slow', 8)];
    first.commit(changed);
    await warming(envoy, 1);
    await first.close();
    const second = await serve(
      [...changed.filter(({ name, type }) => type !== typeUrls.endpoint || name !== 'c1'), endpointsOf('c1', two)],
      first.xds.port,
    );
    await until('the changed endpoints', async () => (await answer(port)) === 'two');
    await until('all endpoints', () => second.frames.join().includes('slow'), { describe: () => second.frames });
    expect(second.frames.filter((frame) => frame.startsWith('Cluster:'))).toEqual([]);
    expect(await envoy.stat('cluster_manager.warming_clusters')).toBe(1);
    await acked(second, 1);
    await warming(envoy, 0);
  });
});
