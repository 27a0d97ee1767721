import { afterEach, describe, expect, test } from 'vitest';
import { typeUrls } from '../../src/xds/index.ts';
import { type Manifest, startFairway, type TestFairway } from '../support/fairway.ts';
import { startToyProxy, type ToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// A proxy is sent what changed for it, and nothing else.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

const edge: Manifest = { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} };
const core: Manifest = { kind: 'Fleet', metadata: { name: 'core' }, spec: {} };

function pool(name: string, address = '10.0.0.1', rest: object = {}): Manifest {
  return { kind: 'BackendPool', metadata: { name }, spec: { members: [{ address, port: 80 }], ...rest } };
}

function service(name: string, fleet: string, port: number, target = 'web'): Manifest {
  const listener = { name: 'web', port, protocol: 'HTTP', defaultAction: { forward: [{ pool: target }] } };
  return { kind: 'VirtualService', metadata: { name }, spec: { fleet, listeners: [listener] } };
}

function route(name: string, status: number): Manifest {
  return {
    kind: 'Route',
    metadata: { name },
    spec: {
      attachTo: [{ virtualService: 'shop', listener: 'web' }],
      hosts: [`${name}.example`],
      rules: [{ name: 'all', action: { respond: { status } } }],
    },
  };
}

function labelled(manifest: Manifest, labels: Record<string, string>): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, labels } };
}

interface Served {
  readonly fairway: TestFairway;
  readonly toy: ToyProxy;
  /** What the proxy is sent for the writes: waits for a later change, which is left out. */
  framesFor(...manifests: readonly Manifest[]): Promise<string[]>;
}

async function served(...manifests: readonly Manifest[]): Promise<Served> {
  const fairway = await startFairway();
  cleanUp.push(() => fairway.close());
  await fairway.put(edge, core, pool('marker'), pool('web'), service('marker', 'edge', 9, 'marker'));
  await fairway.put(service('shop', 'edge', 80), ...manifests);
  const toy = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-1', fleet: 'edge' });
  cleanUp.push(() => toy.close());
  await fairway.waitFor('Node', 'lb-1', 'Programmed', 'True');
  toy.takeFrames();
  let marks = 1;
  return {
    fairway,
    toy,
    async framesFor(...writes) {
      await fairway.put(...writes);
      const before = toy.version(typeUrls.endpoint, 'default/marker');
      marks += 1;
      await fairway.put(pool('marker', `10.9.0.${marks}`));
      await until('the marker', () => toy.version(typeUrls.endpoint, 'default/marker') !== before);
      await fairway.waitFor('Node', 'lb-1', 'Programmed', 'True');
      const frames = toy.takeFrames();
      const at = frames.indexOf('endpoint +default/marker');
      expect(at, `a frame for the marker alone in ${JSON.stringify(frames)}`).toBeGreaterThanOrEqual(0);
      return frames.toSpliced(at, 1);
    },
  };
}

describe('nothing is sent for', () => {
  test('a hundred edits of labels, of all kinds', async () => {
    const { framesFor } = await served(route('r', 204));
    const writes: Manifest[] = [];
    for (let n = 0; n < 25; n += 1) {
      const labels = { turn: String(n) };
      for (const manifest of [edge, pool('web'), service('shop', 'edge', 80), route('r', 204)]) {
        writes.push(labelled(manifest, labels));
      }
    }
    expect(await framesFor(...writes)).toEqual([]);
  });

  test('the same object again, which stays in its generation and revision', async () => {
    const { fairway, framesFor } = await served(route('r', 204));
    const objects = [edge, pool('web'), service('shop', 'edge', 80), route('r', 204)];
    const look = () =>
      Promise.all(objects.map(async ({ kind, metadata }) => (await fairway.get(kind, metadata.name)).metadata));
    const before = await look();
    expect(await framesFor(...objects, ...objects)).toEqual([]);
    expect(await look()).toEqual(before);
  });

  test('a pool that no service uses, and its edits', async () => {
    const { framesFor } = await served();
    expect(
      await framesFor(pool('idle'), pool('idle', '10.0.0.2'), pool('idle', '10.0.0.2', { connectTimeout: '9s' })),
    ).toEqual([]);
  });

  test('what another fleet has', async () => {
    const { framesFor } = await served();
    expect(
      await framesFor(pool('theirs'), service('theirs', 'core', 81, 'theirs'), pool('theirs', '10.0.0.2')),
    ).toEqual([]);
  });

  test('a second fleet that begins to use the same pool', async () => {
    const { fairway, framesFor } = await served();
    const other = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-2', fleet: 'core' });
    cleanUp.push(() => other.close());
    expect(await framesFor(service('second', 'core', 82))).toEqual([]);
    await until('the pool in the other fleet', () => other.version(typeUrls.endpoint, 'default/web'));
  });

  test('a service that is not served: disabled, in conflict, or of a fleet that is missing', async () => {
    const { framesFor } = await served();
    const disabled = service('off', 'edge', 83);
    expect(
      await framesFor(
        { ...disabled, spec: { ...(disabled.spec as object), enabled: false } },
        service('late', 'edge', 80),
        service('lost', 'absent', 84),
      ),
    ).toEqual([]);
  });

  test('an edit of the fleet', async () => {
    const { framesFor } = await served();
    expect(await framesFor({ ...edge, spec: { drainTimeout: '5s' } })).toEqual([]);
  });
});

describe('just what changed is sent for', () => {
  test('a member', async () => {
    const { framesFor } = await served();
    expect(await framesFor(pool('web', '10.0.0.2'))).toEqual(['endpoint +default/web']);
  });

  test('a rule of a Route', async () => {
    const { framesFor } = await served(route('r', 204), route('s', 204));
    expect(await framesFor(route('r', 205))).toEqual(['route +default/shop:80']);
  });

  test('a setting of a pool: its cluster, and with that its members', async () => {
    const { framesFor } = await served();
    const frames = await framesFor(pool('web', '10.0.0.1', { connectTimeout: '9s' }));
    expect(frames).toEqual(['cluster +default/web', 'endpoint +default/web']);
  });
});
