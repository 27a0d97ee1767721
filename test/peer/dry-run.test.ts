import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Manifest, pathOf, startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// What a dry run says is what Envoy then does: each change is tried, applied, and held against Envoy's own counters.

let fairway: TestFairway;
let envoy: RunningEnvoy;
let backend: Backend;
let port: number;
let tcpPort: number;

beforeAll(async () => {
  [backend, port, tcpPort] = await Promise.all([startBackend('one'), freePort(), freePort()]);
  fairway = await startFairway();
  // Longer than the test: what drains is still draining when it is counted.
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1', drainSeconds: 600 });
  await fairway.put(
    // What a removed listener used goes when it has drained.
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: { drainTimeout: '1s' } },
    pool(1),
    pool(2, 'spare'),
    web({}),
    tcp({}),
  );
  await fairway.waitFor('VirtualService', 'web', 'Programmed', 'True');
  await fairway.waitFor('VirtualService', 'tcp', 'Programmed', 'True');
});

afterAll(async () => {
  await envoy?.stop();
  await fairway?.close();
  await backend?.close();
});

function pool(seconds: number, name = 'web'): Manifest {
  const members = [{ address: '127.0.0.1', port: backend.port }];
  return { kind: 'BackendPool', metadata: { name }, spec: { connectTimeout: `${seconds}s`, members } };
}

function web(edit: { readonly service?: object; readonly listener?: object }): Manifest {
  const listener = {
    name: 'web',
    port,
    protocol: 'HTTP',
    defaultAction: { forward: [{ pool: 'web' }] },
    ...edit.listener,
  };
  return {
    kind: 'VirtualService',
    metadata: { name: 'web' },
    spec: { fleet: 'edge', listeners: [listener], ...edit.service },
  };
}

function tcp(edit: object): Manifest {
  const listener = { name: 'tcp', port: tcpPort, protocol: 'TCP', defaultAction: { pool: 'web' }, ...edit };
  return { kind: 'VirtualService', metadata: { name: 'tcp' }, spec: { fleet: 'edge', listeners: [listener] } };
}

/** Envoy's counters of what it has drained and taken in, since it started. */
async function counters() {
  const read = (name: string) => envoy.stat(name);
  return {
    listenersDraining: await read('listener_manager.total_listeners_draining'),
    filterChainsDraining: await read('listener_manager.total_filter_chains_draining'),
    added: (await read('cluster_manager.cluster_added')) + (await read('listener_manager.listener_added')),
    modified: (await read('cluster_manager.cluster_modified')) + (await read('listener_manager.listener_modified')),
    removed: (await read('cluster_manager.cluster_removed')) + (await read('listener_manager.listener_removed')),
  };
}

const inStep = async () => {
  await until(
    'Envoy to be in step',
    async () => (await fairway.call('GET', '/v1/proxies/lb-1')).body.state === 'Synced',
  );
};

/** Clusters and listeners among the resources that a dry run lists: what Envoy counts. */
const counted = (names: readonly { type: string }[]) =>
  names.filter(({ type }) => /\.(Cluster|Listener)$/.test(type)).length;

const changes: readonly [string, () => Manifest][] = [
  ['a setting of a pool', () => pool(7)],
  [
    'a new service',
    () => ({
      ...web({}),
      metadata: { name: 'second' },
      spec: {
        ...(web({}).spec as object),
        enabled: true,
        listeners: [{ name: 'web', port: secondPort, protocol: 'HTTP' }],
      },
    }),
  ],
  [
    'a rule of a service',
    () =>
      web({
        listener: {
          routes: [{ hosts: ['a.example'], rules: [{ name: 'all', action: { respond: { status: 204 } } }] }],
        },
      }),
  ],
  ['the idle timeout of an HTTP listener', () => web({ listener: { idleTimeout: '17s' } })],
  ['the idle timeout of a TCP listener', () => tcp({ idleTimeout: '18s' })],
  ['the pool of a TCP listener', () => tcp({ idleTimeout: '18s', defaultAction: { pool: 'spare' } })],
  ['a service that is disabled', () => web({ service: { enabled: false } })],
  ['nothing', () => web({ service: { enabled: false } })],
];

let secondPort: number;
beforeAll(async () => {
  secondPort = await freePort();
});

describe('what it says of', () => {
  test.each(changes)('%s', async (_, manifest) => {
    await inStep();
    const before = await counters();
    const object = manifest();
    const path = pathOf(object.kind, object.metadata.name);
    const asked = { apiVersion: 'fairway/v1', ...object };
    const said = await fairway.call('PUT', `${path}?dryRun=true`, asked);
    expect(said.status).toBe(200);
    await inStep();
    expect(await counters(), 'a dry run changes nothing').toEqual(before);

    await fairway.call('PUT', path, asked);
    await inStep();
    const { drains, resources, proxies } = said.body;
    const removed = before.removed + counted(resources.removed);
    await until('the removals', async () => (await counters()).removed >= removed, { describe: counters });
    const after = await counters();
    expect({
      listeners: after.listenersDraining - before.listenersDraining,
      filterChains: after.filterChainsDraining - before.filterChainsDraining,
    }).toEqual({ listeners: drains.listeners.length, filterChains: drains.filterChains.length });
    expect({
      added: after.added - before.added,
      modified: after.modified - before.modified,
      removed: after.removed - before.removed,
    }).toEqual({
      added: counted(resources.added),
      modified: counted(resources.changed),
      removed: counted(resources.removed),
    });
    const touched = resources.added.length + resources.changed.length + resources.removed.length > 0;
    expect(proxies).toEqual(touched ? ['lb-1'] : []);
  });
});
