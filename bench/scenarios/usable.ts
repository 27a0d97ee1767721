/**
 * From the PUT of a Route, with a pool of its own, on a listener that thousands share, to its first 200 through a real
 * Envoy. Beside it, in turn and with an Envoy of its own, a bare server sends the same bytes at once: without store,
 * without derivation, and without waiting for the cluster to be ready before the route is sent.
 */
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Resource } from '../../src/xds/index.ts';
import { startEnvoy } from '../../test/support/envoy.ts';
import { type Manifest, pathOf } from '../../test/support/fairway.ts';
import { startMembers } from '../../test/support/members/index.ts';
import { freePort } from '../../test/support/ports.ts';
import { startServerProcess } from '../../test/support/server-process.ts';
import { until } from '../../test/support/until.ts';
import { createWorld, objectsOf, type World } from '../../test/support/world.ts';
import { type BareXds, startBareXds } from '../bare-xds.ts';
import { quantile } from '../quantile.ts';
import type { Row } from '../report.ts';
import { createRestClient, type RestClient } from '../rest-client.ts';
import { onStage } from '../stage.ts';

const size = 3000;

export const title = `From PUT of a Route with a new pool to its first 200, on a listener with ${size} Routes`;

/** After as many again that warm both sides up. */
const rounds = 200;
const warmups = 20;

/** Pools and Routes in one request of the set-up. */
const perApply = 500;

/** Between two requests: without a pause the asking itself would take the processor from those who are measured. */
const pollMs = 2;

const fleet = 'edge';

/** Something that a new Route is given to, and an Envoy that gets it. */
interface Side {
  readonly port: number;
  /** Makes the Route known. The host is asked from the moment of the call. */
  add(at: number): Promise<void> | void;
  /** Whatever is not to be timed. */
  ready(at: number): Promise<void>;
}

export async function run(): Promise<Row[]> {
  return onStage(async (stage) => {
    const members = await startMembers();
    stage.add({ stop: () => members.close() });
    const [member = 0] = await members.start('http1', 1);
    const [ownPort, peerPort] = [await freePort(), await freePort()];

    const server = stage.add(await startServerProcess({ data: join(stage.folder, 'data') }));
    const rest = stage.add(createRestClient(server.address));
    await apply(rest, [fleetManifest, service(ownPort)]);
    for (let from = 0; from < size; from += perApply) {
      stage.proceed();
      const ats = Array.from({ length: perApply }, (_, n) => from + n);
      await apply(rest, [...ats.map((at) => pool(at, member)), ...ats.map(route)]);
    }
    stage.add(await startEnvoy({ node: 'own', fleet, xdsPort: server.xdsPort }));

    const world = createWorld();
    world.apply(...drafts([fleetManifest, service(peerPort)]));
    for (let at = 0; at < size; at += 1) world.apply(...drafts([pool(at, member), route(at)]));
    const bare = stage.add(await startBareXds(world.resources()));
    stage.add(await startEnvoy({ node: 'peer', fleet, xdsPort: bare.port }));

    const own = fairwaySide(rest, ownPort, member);
    const peer = bareSide(bare, world, peerPort, member);
    for (const { port } of [own, peer]) {
      await until('the last Route', async () => (await statusOf(port, size - 1)) === 200, { limitMs: 120_000 });
    }

    const times = { own: [] as number[], peer: [] as number[] };
    for (let round = -warmups; round < rounds; round += 1) {
      stage.proceed();
      const at = size + warmups + round;
      const peerMs = await timeOf(peer, at);
      const ownMs = await timeOf(own, at);
      if (round < 0) continue;
      times.own.push(ownMs);
      times.peer.push(peerMs);
    }
    return rowsOf(times);
  });
}

function rowsOf(times: { readonly own: readonly number[]; readonly peer: readonly number[] }): Row[] {
  const at = (share: number) => ({ own: quantile(times.own, share), peer: quantile(times.peer, share) });
  const above = (share: number, limit: number): Row => ({
    metric: `  above the bare server, p${share * 100}`,
    unit: 'ms',
    fairway: at(share).own - at(share).peer,
    bar: { of: 'value', kind: 'atMost', limit },
  });
  const row = (share: number): Row => ({
    metric: `first 200, p${share * 100}`,
    unit: 'ms',
    fairway: at(share).own,
    peer: { name: 'bare server', value: at(share).peer },
  });
  return [
    { ...row(0.5), bar: { of: 'ratio', kind: 'atMost', limit: 1.3 } },
    above(0.5, 20),
    row(0.99),
    above(0.99, 150),
  ];
}

async function timeOf(side: Side, at: number): Promise<number> {
  await side.ready(at);
  const started = performance.now();
  const added = side.add(at);
  while ((await statusOf(side.port, at)) !== 200) {
    if (performance.now() - started > 30_000) throw new Error(`Route ${at} never answered`);
    await sleep(pollMs);
  }
  const tookMs = performance.now() - started;
  await added;
  return tookMs;
}

function fairwaySide(rest: RestClient, port: number, member: number): Side {
  const put = (manifest: Manifest): Promise<unknown> =>
    rest.call('PUT', pathOf(manifest.kind, manifest.metadata.name), JSON.stringify(withVersion(manifest)));
  return {
    port,
    // A pool that nothing names is sent to nobody.
    ready: async (at) => void (await put(pool(at, member))),
    add: async (at) => void (await put(route(at))),
  };
}

function bareSide(bare: BareXds, world: World, port: number, member: number): Side {
  let known = new Map<string, string>();
  const news = (): Resource[] => {
    const all = world.resources();
    const fresh = all.filter(({ type, name, hash }) => known.get(`${type} ${name}`) !== hash);
    known = new Map(all.map(({ type, name, hash }) => [`${type} ${name}`, hash]));
    return fresh;
  };
  news();
  return {
    port,
    async ready(at) {
      world.apply(...drafts([pool(at, member), route(at)]));
      await bare.prepare(news());
    },
    add: () => bare.send(),
  };
}

const agent = new Agent({ keepAlive: true });

function statusOf(port: number, at: number): Promise<number> {
  return new Promise((resolve) => {
    request({ host: '127.0.0.1', port, agent, headers: { host: hostOf(at) } }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', () => resolve(0))
      .end();
  });
}

// Objects

const hostOf = (at: number): string => `host-${at}.example`;

const fleetManifest: Manifest = { kind: 'Fleet', metadata: { name: fleet }, spec: {} };

function service(port: number): Manifest {
  const listeners = [{ name: 'web', port, protocol: 'HTTP' }];
  return { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { fleet, listeners } };
}

function pool(at: number, member: number): Manifest {
  const spec = { members: [{ address: '127.0.0.1', port: member }] };
  return { kind: 'BackendPool', metadata: { name: `pool-${at}` }, spec };
}

function route(at: number): Manifest {
  const rules = [{ name: 'all', action: { forward: [{ pool: `pool-${at}` }] } }];
  const attachTo = [{ virtualService: 'shop', listener: 'web' }];
  return { kind: 'Route', metadata: { name: `route-${at}` }, spec: { attachTo, hosts: [hostOf(at)], rules } };
}

const withVersion = (manifest: Manifest): object => ({ apiVersion: 'fairway/v1', ...manifest });

const drafts = (manifests: readonly Manifest[]) =>
  manifests.flatMap((manifest) => objectsOf(JSON.stringify(withVersion(manifest))));

async function apply(rest: RestClient, manifests: readonly Manifest[]): Promise<void> {
  await rest.call('POST', '/v1/apply?atomic=false', JSON.stringify({ objects: manifests.map(withVersion) }));
}
