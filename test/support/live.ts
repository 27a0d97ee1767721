/**
 * Everything that may change under a service while it is used, all at once and for as long as it takes: a real Envoy
 * under constant load, and a control plane that is edited without a pause and restarted. The test runs it in short, the
 * bench in full. Nothing that happens here is meant to cost a request.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Authority, createAuthority } from '../../src/demo/certificate.ts';
import { type RunningEnvoy, startEnvoy } from './envoy.ts';
import { type Manifest, pathOf, startFairway, type TestFairway } from './fairway.ts';
import { type Members, startMembers } from './members/index.ts';
import { freePort } from './ports.ts';
import { startTraffic, type Traffic, type TrafficReport } from './traffic/index.ts';
import { until } from './until.ts';

export interface LiveOptions {
  /** Routes that are added one after another, each with a host and a pool of its own. */
  readonly routes: number;
  readonly restarts: number;
  /** Of HTTP/1.1, and as many of HTTP/2. */
  readonly requestsPerSecond: number;
  readonly say?: (line: string) => void;
}

export interface LiveReport {
  readonly traffic: TrafficReport;
  readonly seconds: number;
  readonly changes: Readonly<Record<Change, number>>;
  /** Listeners and filter chains that Envoy drained. */
  readonly draining: { readonly listeners: number; readonly filterChains: number };
  /** All that were sent. */
  readonly requests: number;
}

type Change = 'routes' | 'connectTimeouts' | 'weights' | 'members' | 'certificates' | 'renamed' | 'restarts';

const fleet = 'edge';
const node = 'lb-1';

/** Members of the pool that is never at rest; a fifth of them is replaced each second. */
const churningMembers = 10;
const replacedPerSecond = 2;
/** How long those that leave it drain. Their servers end a second after that. */
const churnDrainMs = 2_000;

/** Every so many of the added pools has active checks, or members that speak HTTP/2. */
const checkedEvery = 5;
const http2Every = 7;

/** After so many added routes one pool is renamed, and weights and timeouts change. */
const editEvery = 5;

const secureHosts = ['one.secure.example', 'two.secure.example'] as const;

interface Bed {
  fairway: TestFairway;
  readonly envoy: RunningEnvoy;
  readonly members: Members;
  readonly traffic: Traffic;
  readonly authority: Authority;
  readonly ports: Ports;
  readonly counts: Record<Change, number>;
  /** Servers that stay. */
  readonly steady: readonly number[];
  readonly http2: readonly number[];
  /** One thing at a time on the REST API, and nothing while the server is away. */
  exclusive<T>(task: () => Promise<T>): Promise<T>;
}

interface Ports {
  readonly http: number;
  readonly https: number;
  readonly tcp: number;
  readonly xds: number;
}

export async function runLive(options: LiveOptions): Promise<LiveReport> {
  const say = options.say ?? (() => undefined);
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const data = await mkdtemp(join(tmpdir(), 'fairway-live-'));
    closers.push(() => rm(data, { recursive: true, force: true }));
    const bed = await prepare(data, options, closers);
    const started = performance.now();
    const ended = new AbortController();
    const sides = [replaceMembers(bed, ended.signal), rotateCertificates(bed, ended.signal)];
    // Whatever fails first ends the run.
    const everything = async (): Promise<void> => {
      await addRoutes(bed, data, options, say);
      // However soon the Routes are there: when the third rotation is made, two have been in use.
      await until('certificates to be rotated', () => bed.counts.certificates >= 3 * secureHosts.length);
    };
    await Promise.race([everything(), Promise.all(sides).then(() => never)]);
    ended.abort();
    await Promise.all(sides);
    const traffic = await bed.traffic.stop();
    const draining = {
      listeners: await bed.envoy.stat('listener_manager.total_listeners_draining'),
      filterChains: await bed.envoy.stat('listener_manager.total_filter_chains_draining'),
    };
    const requests = traffic.sent.http1 + traffic.sent.http2 + traffic.sent.https;
    return { traffic, seconds: (performance.now() - started) / 1000, changes: bed.counts, draining, requests };
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

const never = new Promise<never>(() => undefined);

async function prepare(data: string, options: LiveOptions, closers: (() => Promise<unknown>)[]): Promise<Bed> {
  const [http, https, tcp, xds] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const ports = { http, https, tcp, xds };
  const members = await startMembers();
  closers.push(() => members.close());
  const [steady, http2, echoes] = [
    await members.start('http1', 4),
    await members.start('http2', 2),
    await members.start('tcp', 2),
  ];
  const authority = await createAuthority();
  let fairway = await startFairway({ data, xdsPort: ports.xds });
  const envoy = await startEnvoy({ xdsPort: ports.xds, fleet, node, drainSeconds: 600 });
  closers.push(() => envoy.stop());
  await fairway.put(
    { kind: 'Fleet', metadata: { name: fleet }, spec: {} },
    pool('steady', steady),
    pool('echo', echoes),
    pool('renamed-0', steady),
    pool('light', steady),
    pool('heavy', http2, { protocol: 'http2' }),
    route('steady', [{ pool: 'steady' }]),
    route('renamed', [{ pool: 'renamed-0' }]),
    route('weights', [{ pool: 'light' }, { pool: 'heavy' }]),
  );
  await fairway.put(...(await certificates(authority, 0)), shop(ports));
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  for (const name of ['steady', 'renamed', 'weights']) await fairway.waitFor('Route', name, 'Programmed', 'True');
  const traffic = await startTraffic({
    http: { port: http, http1PerSecond: options.requestsPerSecond, http2PerSecond: options.requestsPerSecond },
    https: { port: https, hosts: secureHosts, ca: authority.certificate, perSecond: 20 },
    held: {
      webSockets: ['steady', 'steady', 'renamed'].map((name) => ({ port: http, host: hostOf(name) })),
      tcp: [{ port: tcp }, { port: tcp }],
    },
  });
  closers.push(() => traffic.stop());
  await traffic.ask(...['steady', 'renamed', 'weights'].map(hostOf));
  let last: Promise<unknown> = Promise.resolve();
  const bed: Bed = {
    get fairway() {
      return fairway;
    },
    set fairway(next) {
      fairway = next;
    },
    envoy,
    members,
    traffic,
    authority,
    ports,
    steady,
    http2,
    counts: { routes: 0, connectTimeouts: 0, weights: 0, members: 0, certificates: 0, renamed: 0, restarts: 0 },
    exclusive(task) {
      const next = last.then(task);
      last = next.catch(() => undefined);
      return next;
    },
  };
  closers.push(() => fairway.close());
  return bed;
}

// What is written

function pool(name: string, ports: readonly number[], more: object = {}): Manifest {
  const members = ports.map((port) => ({ address: '127.0.0.1', port }));
  return { kind: 'BackendPool', metadata: { name }, spec: { members, ...more } };
}

function route(name: string, forward: readonly { pool: string; weight?: number }[]): Manifest {
  const rules = [{ name: 'all', action: { forward, websocket: true } }];
  const attachTo = [{ virtualService: 'shop', listener: 'web' }];
  return { kind: 'Route', metadata: { name }, spec: { attachTo, hosts: [hostOf(name)], rules } };
}

function shop(ports: Ports): Manifest {
  const secure = {
    name: 'secure',
    port: ports.https,
    protocol: 'HTTPS',
    certificates: secureHosts.map(certificateOf),
    defaultAction: { forward: [{ pool: 'steady' }] },
  };
  const listeners = [
    { name: 'web', port: ports.http, protocol: 'HTTP' },
    secure,
    { name: 'tcp', port: ports.tcp, protocol: 'TCP', defaultAction: { pool: 'echo' } },
  ];
  return { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { fleet, listeners } };
}

const hostOf = (name: string): string => `${name}.example`;
const certificateOf = (host: string): string => host.replaceAll('.', '-');

function certificates(authority: Authority, turn: number): Promise<Manifest[]> {
  return Promise.all(
    secureHosts.map(async (host, at) => {
      const serial = (0x1000 + turn * secureHosts.length + at).toString(16);
      const { chain, key } = await authority.issue(host, serial);
      return { kind: 'Certificate', metadata: { name: certificateOf(host) }, spec: { chain, key } };
    }),
  );
}

// What changes

async function addRoutes(bed: Bed, data: string, options: LiveOptions, say: (line: string) => void): Promise<void> {
  const { traffic, counts } = bed;
  const restartEvery = Math.max(1, Math.floor(options.routes / (options.restarts + 1)));
  for (let n = 1; n <= options.routes; n += 1) {
    const name = `added-${n}`;
    await bed.exclusive(async () => {
      await bed.fairway.put(addedPool(bed, n));
      await bed.fairway.put(route(name, [{ pool: name }]));
    });
    await traffic.ask(hostOf(name));
    await traffic.answered(hostOf(name));
    counts.routes += 1;
    if (n % editEvery === 0) await edit(bed, n);
    if (n % restartEvery === 0 && counts.restarts < options.restarts) await restart(bed, data);
    if (n % 100 === 0) say(`${n} routes, ${(await traffic.report()).failed} failures`);
  }
}

function addedPool(bed: Bed, n: number, connectTimeout = '5s'): Manifest {
  const check = { type: 'HTTP', path: '/', interval: '2s', timeout: '2s' };
  const more = { connectTimeout, ...(n % checkedEvery === 0 ? { healthChecks: [check] } : {}) };
  const isHttp2 = n % http2Every === 0;
  const from = isHttp2 ? bed.http2 : bed.steady;
  // One member each: Envoy keeps connections per pool and member, and a thousand pools are a lot of sockets.
  const members = from.slice(n % from.length).slice(0, 1);
  return pool(`added-${n}`, members, isHttp2 ? { ...more, protocol: 'http2' } : more);
}

/** Settings of pools that are in use, shares of the traffic, and a pool that gets another name. */
async function edit(bed: Bed, n: number): Promise<void> {
  const { counts, steady } = bed;
  const connectTimeout = `${5000 + n}ms`;
  await bed.exclusive(async () => {
    await bed.fairway.put(addedPool(bed, n, connectTimeout), addedPool(bed, n - 1, connectTimeout));
    await bed.fairway.put(pool('steady', steady, { connectTimeout }));
    const echo = await bed.fairway.get('BackendPool', 'echo');
    await bed.fairway.put({ ...echo, spec: { ...(echo.spec as object), connectTimeout } });
    counts.connectTimeouts += 4;
  });
  await bed.exclusive(async () => {
    const weight = (n * 20) % 101;
    await bed.fairway.put(
      route('weights', [
        { pool: 'light', weight },
        { pool: 'heavy', weight: 100 - weight },
      ]),
    );
    counts.weights += 1;
  });
  await bed.exclusive(async () => {
    const [former, next] = [`renamed-${counts.renamed}`, `renamed-${counts.renamed + 1}`];
    await bed.fairway.put(pool(next, steady), route('renamed', [{ pool: next }]));
    const { status } = await bed.fairway.call('DELETE', pathOf('BackendPool', former));
    if (status !== 200) throw new Error(`deleting ${former}: ${status}`);
    counts.renamed += 1;
  });
}

async function restart(bed: Bed, data: string): Promise<void> {
  await bed.exclusive(async () => {
    await bed.fairway.close();
    bed.fairway = await startFairway({ data, xdsPort: bed.ports.xds });
    await until('Envoy to be back', async () => {
      const { body } = await bed.fairway.call('GET', `/v1/proxies/${node}`);
      return body.state === 'Synced';
    });
    bed.counts.restarts += 1;
  });
}

/** A pool whose members are replaced all the time, by servers that did not exist before. */
async function replaceMembers(bed: Bed, signal: AbortSignal): Promise<void> {
  let present = await bed.members.start('http1', churningMembers);
  const write = (): Promise<unknown> =>
    bed.exclusive(() => bed.fairway.put(pool('churning', present, { drainTimeout: `${churnDrainMs}ms` })));
  await write();
  await bed.exclusive(() => bed.fairway.put(route('churning', [{ pool: 'churning' }])));
  await bed.traffic.ask(hostOf('churning'));
  const ending: Promise<void>[] = [];
  for (;;) {
    await pause(1000, signal);
    if (signal.aborted) break;
    const leaving = present.slice(0, replacedPerSecond);
    present = [...present.slice(replacedPerSecond), ...(await bed.members.start('http1', replacedPerSecond))];
    await write();
    bed.counts.members += replacedPerSecond;
    ending.push(pause(churnDrainMs + 1000, signal).then(() => bed.members.stop(...leaving)));
  }
  await bed.traffic.forget(hostOf('churning'));
  await Promise.all(ending);
}

async function rotateCertificates(bed: Bed, signal: AbortSignal): Promise<void> {
  for (let turn = 1; ; turn += 1) {
    await pause(2000, signal);
    if (signal.aborted) return;
    const next = await certificates(bed.authority, turn);
    await bed.exclusive(() => bed.fairway.put(...next));
    bed.counts.certificates += next.length;
  }
}

/** Until the time is over or the run is. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
