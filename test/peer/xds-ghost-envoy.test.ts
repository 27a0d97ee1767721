import { afterEach, describe, expect, it } from 'vitest';
import { type Protocol, type Resource, typeUrls } from '../../src/xds/index.ts';
import { startBackend } from '../support/backend.ts';
import { startEnvoy } from '../support/envoy.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { clusterOf, endpointsOf, ghostCluster, listenerOf, routesTo } from '../support/xds-messages.ts';
import { acked, answer, serveByHand } from '../support/xds-peer.ts';

// A real Envoy keeps a cluster whose load balancing it refused as one that warms for ever. Beside another one that
// warms it says nothing of it: no refusal, and no answer for any cluster from then on.

const cleanUp: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

/** Short, so that the test is; longer than an Envoy takes on a busy machine. */
const answerMs = 1_500;

const cases: readonly [name: string, before: (port: number) => Resource[], bad: (port: number) => Resource[]][] = [
  ['alone', () => [], (port) => [ghostCluster('ghost'), endpointsOf('ghost', port)]],
  [
    'beside another one',
    () => [],
    (port) => [clusterOf('c2'), endpointsOf('c2', port), ghostCluster('ghost'), endpointsOf('ghost', port)],
  ],
  [
    'in place of a good one, beside a change',
    (port) => [clusterOf('ghost'), endpointsOf('ghost', port)],
    () => [clusterOf('c1', 2), ghostCluster('ghost')],
  ],
];

const ofProtocol: readonly [Protocol, typeof cases][] = [
  ['delta', cases],
  // A full set without the ghost is one without what is tried beside it, too: that case heals by the next change only.
  ['sotw', cases.filter(([name]) => name !== 'beside another one')],
];

describe.each(ofProtocol)('%s: a ghost', (protocol, some) => {
  it.each(some)('%s is found, taken away, and told', async (_, before, bad) => {
    const [backend, port] = await Promise.all([startBackend('one'), freePort()]);
    cleanUp.push(() => backend.close());
    const good = [listenerOf('l1', port, 'r1'), routesTo('r1', 'c1'), clusterOf('c1'), endpointsOf('c1', backend.port)];
    const server = await serveByHand([...good, ...before(backend.port)], 0, { answerMs });
    cleanUp.push(() => server.close());
    const envoy = await startEnvoy({ node: 'n1', fleet: 'edge', xdsPort: server.xds.port, protocol });
    cleanUp.push(() => envoy.stop());
    await acked(server, 1);

    server.commit(bad(backend.port));
    await until('the refusal', () => server.progress.some(({ kind }) => kind === 'rejected'), {
      describe: () => server.frames,
    });
    expect(server.progress.filter(({ kind }) => kind === 'rejected')).toMatchObject([
      { name: 'ghost', scope: 'convicted', words: expect.stringContaining('minimum_ring_size') },
    ]);
    await acked(server, 2);
    await until('nothing to warm', async () => (await envoy.stat('cluster_manager.warming_clusters')) === 0);

    // The next change of a cluster is answered as if nothing had been.
    server.progress.length = 0;
    server.commit([clusterOf('c3'), endpointsOf('c3', backend.port), routesTo('r1', 'c3')]);
    await acked(server, 3);
    expect(server.hub.fleet.delivery(typeUrls.cluster, 'c3')).toMatchObject([{ state: 'acked' }]);
    expect(server.hub.fleet.delivery(typeUrls.cluster, 'ghost')).toMatchObject([{ state: 'rejected' }]);
    expect(server.progress.filter(({ kind }) => kind === 'stalled')).toEqual([]);
    expect(await answer(port)).toBe('one');
  });
});
