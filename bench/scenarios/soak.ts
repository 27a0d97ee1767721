/**
 * Ten minutes of everything that changes, with five real Envoys and five hundred fake proxies, of which one after another
 * loses its connection: whether the server's memory stays where it is, and whether in the end every proxy has what the
 * table says, by Envoy's own dump. FAIRWAY_SOAK_SECONDS makes it shorter.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuthority } from '../../src/demo/certificate.ts';
import { typeUrls } from '../../src/xds/index.ts';
import { type RunningEnvoy, startEnvoy } from '../../test/support/envoy.ts';
import { type Manifest, pathOf } from '../../test/support/fairway.ts';
import { freePort } from '../../test/support/ports.ts';
import { startServerProcess } from '../../test/support/server-process.ts';
import { until } from '../../test/support/until.ts';
import { startFakeProxies, type Versions } from '../fake-proxies.ts';
import { median } from '../quantile.ts';
import type { Row } from '../report.ts';
import { createRestClient, type RestClient } from '../rest-client.ts';
import { onStage, type Stage } from '../stage.ts';

const seconds = Number(process.env['FAIRWAY_SOAK_SECONDS'] ?? 600);

const envoys = 5;
const fakes = 500;

/** Services of the fleet; each has its Routes, pools and certificate. The last fifth of them comes and goes. */
const services = 50;
const stable = 40;
const routesPerService = 4;

const changesPerSecond = 10;

/** Shares of the run: until then memory finds its size, and so long it is looked at, at the beginning and at the end. */
const warmupShare = 0.25;
const windowShare = 0.2;

export const title = `Memory and content after ${seconds} s of mixed changes, with ${envoys} Envoys and ${fakes} fake proxies`;

/** So long the last changes may take to arrive, with what drains after them. */
const endLimitMs = 60_000;

const fleet = 'edge';
const none = { of: 'value', kind: 'atMost', limit: 0 } as const;

export async function run(): Promise<Row[]> {
  return onStage(async (stage) => {
    const server = stage.add(await startServerProcess({ data: join(stage.folder, 'data') }));
    const rest = stage.add(createRestClient(server.address));
    const world = await createObjects(rest);
    await world.fill();
    const real: RunningEnvoy[] = [];
    for (let n = 0; n < envoys; n += 1) {
      real.push(stage.add(await startEnvoy({ node: nodeOf(n), fleet, xdsPort: server.xdsPort })));
    }
    for (let n = 0; n < envoys; n += 1) await synced(rest, nodeOf(n));
    const asked = await wantedOf(rest, nodeOf(0));
    const proxies = await startFakeProxies({
      count: fakes,
      fleets: [fleet],
      address: `127.0.0.1:${server.xdsPort}`,
      names: [typeUrls.route, typeUrls.secret].map((type) => [
        type,
        world.stableNames(type, Object.keys(asked[type] ?? {})),
      ]),
    });
    stage.add(proxies);

    const samples = await churn(stage, world, () => server.residentBytes());
    const changes = samples.length === 0 ? 0 : world.changes;

    const { wanted, differingFakes } = await endState(rest, (versions) => proxies.differing(world.ofFakes(versions)));
    let differing = 0;
    for (const envoy of real) differing += differences(wanted, await dumpOf(envoy));
    const [from, to] = [windowOf(samples, warmupShare), windowOf(samples, 1 - windowShare)];
    return [
      {
        metric: 'memory of the server, end beside warm',
        unit: 'MB',
        fairway: median(to) / 1e6,
        peer: { name: 'after the warm-up', value: median(from) / 1e6 },
        bar: { of: 'ratio', kind: 'atMost', limit: 1.1 },
      },
      { metric: 'resources that differ in the dumps of Envoy', unit: '', fairway: differing, bar: none },
      { metric: 'fake proxies that differ', unit: '', fairway: differingFakes, bar: none },
      { metric: 'changes', unit: '', fairway: changes },
      { metric: 'resources in the end', unit: '', fairway: Object.values(wanted).flatMap(Object.keys).length },
    ];
  });
}

const nodeOf = (n: number): string => `envoy-${n}`;

const windowOf = (samples: readonly number[], from: number): number[] =>
  samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * (from + windowShare)));

/** Changes one thing after another; gives the memory of the server, once a second. */
async function churn(stage: Stage, world: Objects, memory: () => number): Promise<number[]> {
  const samples: number[] = [];
  const started = performance.now();
  for (let change = 0; ; change += 1) {
    stage.proceed();
    const dueMs = (change * 1000) / changesPerSecond;
    if (dueMs >= seconds * 1000) return samples;
    await sleep(Math.max(0, started + dueMs - performance.now()));
    if (change % changesPerSecond === 0) samples.push(memory());
    if (change % (60 * changesPerSecond) === 0)
      console.log(`${Math.round(dueMs / 1000)} s, ${Math.round(memory() / 1e6)} MB`);
    await world.change(change);
  }
}

interface Objects {
  readonly changes: number;
  fill(): Promise<void>;
  change(n: number): Promise<void>;
  /** Of the names of a type, those that are there from the first moment to the last. */
  stableNames(type: string, names: readonly string[]): string[];
  /** What the fake proxies should have: they ask by name for what is stable alone. */
  ofFakes(wanted: Versions): Versions;
}

async function createObjects(rest: RestClient): Promise<Objects> {
  const authority = await createAuthority();
  const ports = [await freePort(), await freePort()];
  let serial = 0x1000;
  let changes = 0;

  const put = async (...manifests: readonly Manifest[]): Promise<void> => {
    for (const manifest of manifests) {
      const body = JSON.stringify({ apiVersion: 'fairway/v1', ...manifest });
      await rest.call('PUT', pathOf(manifest.kind, manifest.metadata.name), body);
      changes += 1;
    }
  };
  const remove = async (kind: string, name: string): Promise<void> => {
    await rest.call('DELETE', pathOf(kind, name));
    changes += 1;
  };
  const pool = (name: string, n: number): Manifest => ({
    kind: 'BackendPool',
    metadata: { name },
    spec: {
      // Nobody is asked for anything at these addresses.
      members: [1, 2, 3].map((at) => ({ address: `192.0.2.${at}`, port: at === 1 ? 10_000 + (n % 5000) : 8080 })),
      connectTimeout: `${1 + (n % 60)}s`,
      drainTimeout: '5s',
    },
  });
  const route = (at: number, k: number, n: number): Manifest => ({
    kind: 'Route',
    metadata: { name: `route-${at}-${k}` },
    spec: {
      attachTo: [{ virtualService: `service-${at}`, listener: 'web' }],
      hosts: [`host-${k}.service-${at}.example`],
      rules: [
        {
          name: 'all',
          action: {
            forward: [
              { pool: `pool-${at}-${k}`, weight: n % 101 },
              { pool: `pool-${at}-${(k + 1) % routesPerService}`, weight: 100 - (n % 101) },
            ],
          },
        },
      ],
    },
  });
  const certificate = async (at: number): Promise<Manifest> => {
    serial += 1;
    const { chain, key } = await authority.issue(`service-${at}.example`, serial.toString(16));
    return { kind: 'Certificate', metadata: { name: `tls-${at}` }, spec: { chain, key } };
  };
  const service = (at: number): Manifest => ({
    kind: 'VirtualService',
    metadata: { name: `service-${at}` },
    spec: {
      fleet,
      // Addresses of loopback: the Envoys share their ports (SO_REUSEPORT), and nobody asks them for anything.
      addresses: [{ address: `127.1.${at}.1` }],
      listeners: [
        { name: 'web', port: ports[0], protocol: 'HTTP' },
        {
          name: 'secure',
          port: ports[1],
          protocol: 'HTTPS',
          certificates: [`tls-${at}`],
          defaultAction: { forward: [{ pool: `pool-${at}-0` }] },
        },
      ],
    },
  });

  async function create(at: number): Promise<void> {
    for (let k = 0; k < routesPerService; k += 1) await put(pool(`pool-${at}-${k}`, at));
    await put(await certificate(at), service(at));
    for (let k = 0; k < routesPerService; k += 1) await put(route(at, k, at));
  }

  async function destroy(at: number): Promise<void> {
    for (let k = 0; k < routesPerService; k += 1) await remove('Route', `route-${at}-${k}`);
    await remove('VirtualService', `service-${at}`);
    await remove('Certificate', `tls-${at}`);
    for (let k = 0; k < routesPerService; k += 1) await remove('BackendPool', `pool-${at}-${k}`);
  }

  /** Of the services that come and go, the next one that goes. */
  let going = stable;
  const isStable = (name: string): boolean => Number(/(?:service|tls)-(\d+)/.exec(name)?.[1]) < stable;

  return {
    get changes() {
      return changes;
    },
    async fill() {
      await put({ kind: 'Fleet', metadata: { name: fleet }, spec: { drainTimeout: '2s' } });
      for (let at = 0; at < services; at += 1) await create(at);
    },
    async change(n) {
      const at = (n * 7) % stable;
      const k = n % routesPerService;
      const kind = n % 10;
      if (n % 100 === 99) {
        await destroy(going);
        await create(going);
        going = going + 1 < services ? going + 1 : stable;
      } else if (kind < 5) await put(pool(`pool-${at}-${k}`, n));
      else if (kind < 8) await put(route(at, k, n));
      else if (kind < 9) await put(await certificate(at));
      else await put(pool(`pool-${at}-0`, n), route(at, 0, n));
    },
    stableNames: (_type, names) => names.filter(isStable),
    ofFakes: (wanted) =>
      Object.fromEntries(
        Object.entries(wanted)
          .filter(([type]) => type !== typeUrls.extension)
          .map(([type, versions]) => {
            const named = type === typeUrls.route || type === typeUrls.secret;
            return [type, Object.fromEntries(Object.entries(versions).filter(([name]) => !named || isStable(name)))];
          }),
      ),
  };
}

// What is there in the end

interface ProxyConfig {
  readonly items: readonly {
    readonly type: string;
    readonly name: string;
    readonly state: string;
    readonly wanted?: string;
    readonly acknowledged?: string;
  }[];
}

async function wantedOf(rest: RestClient, node: string): Promise<Versions> {
  const { items } = await rest.call<ProxyConfig>('GET', `/v1/proxies/${node}/config`);
  const versions: Record<string, Record<string, string>> = {};
  for (const { type, name, wanted } of items) {
    if (wanted === undefined) continue;
    versions[type] ??= {};
    (versions[type] as Record<string, string>)[name] = wanted;
  }
  return versions;
}

async function synced(rest: RestClient, node: string): Promise<void> {
  const isSynced = async () => (await rest.call<{ state: string }>('GET', `/v1/proxies/${node}`)).state === 'Synced';
  await until(`${node} to be in step`, isSynced, { limitMs: 60_000, everyMs: 100 });
}

/** What the Envoys should have when all of them have acknowledged it, what drains included. */
async function settled(rest: RestClient): Promise<Versions> {
  for (let n = 0; n < envoys; n += 1) {
    const quiet = async () => {
      const { items } = await rest.call<ProxyConfig>('GET', `/v1/proxies/${nodeOf(n)}/config`);
      return items.every(({ state }) => state === 'acknowledged');
    };
    await until(`${nodeOf(n)} to have everything`, quiet, { limitMs: 60_000, everyMs: 200 });
  }
  return wantedOf(rest, nodeOf(0));
}

/** What the table says in the end, and how many fake proxies have something else; what drains may take its time. */
async function endState(rest: RestClient, differing: (wanted: Versions) => Promise<number>) {
  const end = performance.now() + endLimitMs;
  for (;;) {
    const wanted = await settled(rest);
    const differingFakes = await differing(wanted);
    if (differingFakes === 0 || performance.now() > end) return { wanted, differingFakes };
    await sleep(500);
  }
}

interface Dump {
  readonly configs: readonly Readonly<Record<string, readonly Readonly<Record<string, unknown>>[] | undefined>>[];
}

/** Versions that Envoy says it serves. Of endpoints it does not say the version. */
async function dumpOf(envoy: RunningEnvoy): Promise<Versions> {
  const dump = JSON.parse(await envoy.admin('/config_dump')) as Dump;
  const versions: Record<string, Record<string, string>> = {};
  const add = (
    list: string,
    type: string,
    read: (item: never) => readonly [name: string, version: string] | undefined,
  ) => {
    for (const config of dump.configs) {
      for (const item of config[list] ?? []) {
        const found = read(item as never);
        if (found === undefined) continue;
        versions[type] ??= {};
        (versions[type] as Record<string, string>)[found[0]] = found[1];
      }
    }
  };
  type Named = { readonly name: string };
  type Of<K extends string> = { readonly version_info: string } & { readonly [key in K]: Named };
  add('dynamic_active_clusters', typeUrls.cluster, ({ cluster, version_info }: Of<'cluster'>) => [
    cluster.name,
    version_info,
  ]);
  add('dynamic_listeners', typeUrls.listener, (item: Named & { active_state?: { version_info: string } }) =>
    item.active_state === undefined ? undefined : [item.name, item.active_state.version_info],
  );
  add('dynamic_route_configs', typeUrls.route, ({ route_config, version_info }: Of<'route_config'>) => [
    route_config.name,
    version_info,
  ]);
  add('dynamic_active_secrets', typeUrls.secret, ({ name, version_info }: Named & { version_info: string }) => [
    name,
    version_info,
  ]);
  return versions;
}

/** Names whose version is another, or that only one side has. */
function differences(wanted: Versions, dumped: Versions): number {
  let count = 0;
  for (const type of [typeUrls.cluster, typeUrls.listener, typeUrls.route, typeUrls.secret]) {
    const [mine, theirs] = [wanted[type] ?? {}, dumped[type] ?? {}];
    for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
      if (mine[name] === theirs[name]) continue;
      count += 1;
      console.log(`${type.slice(type.lastIndexOf('.') + 1)} ${name}: wanted ${mine[name]}, dumped ${theirs[name]}`);
    }
  }
  return count;
}
