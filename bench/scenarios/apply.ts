/**
 * From the PUT of a member to the endpoints that a real Envoy has acknowledged, through everything that lies between:
 * REST, embedded store with its fsync, View, delta ADS, Envoy and back. The server is a process of its own, as people
 * run it. A put of the same value to an etcd stands between any two changes, so that both meet the same machine and
 * the same disk.
 */
import { join } from 'node:path';
import { typeUrls } from '../../src/xds/index.ts';
import { startEnvoy } from '../../test/support/envoy.ts';
import { type RunningEtcd, startEtcd } from '../../test/support/etcd.ts';
import { pathOf } from '../../test/support/fairway.ts';
import { freePort } from '../../test/support/ports.ts';
import { startServerProcess } from '../../test/support/server-process.ts';
import { until } from '../../test/support/until.ts';
import { quantile } from '../quantile.ts';
import type { Row } from '../report.ts';
import { createRestClient, type RestClient } from '../rest-client.ts';
import { onStage, type Stage } from '../stage.ts';

export const title = 'From PUT of a member to the endpoints that Envoy acknowledged, beside a put to etcd';

/** After as many again that warm up server, proxy and etcd. */
const changes = 300;
const warmups = 100;

/** With one pool in the table, and with so many that whatever grows with the table would show. */
const sizes = [1, 1000] as const;

const membersPerPool = 20;

const limit = { of: 'value', kind: 'atMost', limit: 50 } as const;

const node = 'bench';
const fleet = 'edge';

interface Bed {
  readonly stage: Stage;
  /** One connection for writes, one to look with. */
  readonly writer: RestClient;
  readonly reader: RestClient;
  readonly etcd: RunningEtcd | undefined;
}

interface Times {
  /** Milliseconds, one of each per change. */
  readonly answered: number[];
  readonly acknowledged: number[];
  readonly etcd: number[];
}

export async function run(): Promise<Row[]> {
  return onStage(async (stage) => {
    const etcd = await startEtcd(join(stage.folder, 'etcd'));
    if ('missing' in etcd) console.log(`No peer: ${etcd.missing}.`);
    else {
      stage.add(etcd);
      console.log(`The peer is a put of the same value to etcd ${etcd.version} with its defaults.`);
    }
    const server = stage.add(await startServerProcess({ data: join(stage.folder, 'data') }));
    const [writer, reader] = [server.address, server.address].map((address) => stage.add(createRestClient(address)));
    const bed = { stage, writer, reader, etcd: 'missing' in etcd ? undefined : etcd } as Bed;
    stage.add(await startEnvoy({ node, fleet, xdsPort: server.xdsPort }));
    console.log('What Envoy acknowledged is seen by asking for it over and over: those times are upper bounds.\n');

    const rows: Row[] = [];
    let pools = 0;
    let reference: number | undefined;
    for (const size of sizes) {
      await grow(bed, pools, size);
      pools = size;
      const times = await measure(bed, pools);
      rows.push(...rowsOf(pools, times));
      const half = quantile(times.acknowledged, 0.5);
      reference ??= half;
      if (size === sizes.at(-1)) {
        const metric = `PUT to acknowledged EDS, p50, ${size} pools beside ${sizes[0]}`;
        rows.push({ metric, unit: 'ms', fairway: half, peer: { name: named(sizes[0]), value: reference } });
      }
    }
    return rows;
  });
}

function rowsOf(pools: number, { answered, acknowledged, etcd }: Times): Row[] {
  return [0.5, 0.99].flatMap((share): Row[] => {
    const peer = etcd.length === 0 ? null : { name: 'etcd put', value: quantile(etcd, share) };
    const suffix = `p${share * 100}, ${named(pools)}`;
    return [
      {
        metric: `PUT to acknowledged EDS, ${suffix}`,
        unit: 'ms',
        fairway: quantile(acknowledged, share),
        peer,
        ...(share === 0.5 ? { bar: limit } : {}),
      },
      { metric: `PUT to its answer, ${suffix}`, unit: 'ms', fairway: quantile(answered, share), peer },
    ];
  });
}

const named = (pools: number): string => `${pools} ${pools === 1 ? 'pool' : 'pools'}`;

async function measure(bed: Bed, pools: number): Promise<Times> {
  const times: Times = { answered: [], acknowledged: [], etcd: [] };
  for (let change = -warmups; change < changes; change += 1) {
    bed.stage.proceed();
    const { answeredMs, acknowledgedMs, etcdMs } = await changeMember(bed, pools);
    if (change < 0) continue;
    times.answered.push(answeredMs);
    times.acknowledged.push(acknowledgedMs);
    if (etcdMs !== undefined) times.etcd.push(etcdMs);
  }
  return times;
}

/** Counts all changes of the run: none repeats an earlier one of its pool. */
let step = 0;

/** Shares no divisor with any size: comes by all pools. */
const stride = 7919;

async function changeMember({ writer, reader, etcd }: Bed, pools: number) {
  step += 1;
  const pool = poolManifest((step * stride) % pools, 10_000 + step);
  const body = JSON.stringify(pool);
  const started = performance.now();
  const stored = await writer.call<Stored>('PUT', pathOf('BackendPool', pool.metadata.name), body);
  const answered = performance.now();
  await acknowledged(reader, Number(stored.metadata.revision));
  const seen = performance.now();
  const times = { answeredMs: answered - started, acknowledgedMs: seen - started };
  if (etcd === undefined) return { ...times, etcdMs: undefined };
  const putStarted = performance.now();
  await etcd.client.put(`/bench/${pool.metadata.name}`).value(body);
  return { ...times, etcdMs: performance.now() - putStarted };
}

interface Stored {
  readonly metadata: { readonly revision: string };
}

interface Proxy {
  readonly state: string;
  readonly types: readonly { readonly type: string; readonly acked: number }[];
}

/** Resolves when Envoy's acknowledged endpoints are those of the revision or later ones. */
async function acknowledged(reader: RestClient, revision: number): Promise<void> {
  const limitMs = 20_000;
  const end = performance.now() + limitMs;
  for (;;) {
    const { types } = await reader.call<Proxy>('GET', `/v1/proxies/${node}`);
    if (types.some(({ type, acked }) => type === typeUrls.endpoint && acked >= revision)) return;
    if (performance.now() > end) throw new Error(`Envoy did not acknowledge revision ${revision} in ${limitMs} ms`);
  }
}

/** Puts the pools from `before` to `size` behind the service, each with a host of its own, and waits for Envoy. */
async function grow({ stage, writer, reader }: Bed, before: number, size: number): Promise<void> {
  if (before === 0) await apply(writer, [{ kind: 'Fleet', metadata: { name: fleet }, spec: {} }, await service()]);
  // An apply holds up to 50 objects.
  const poolsPerApply = 25;
  for (let from = before; from < size; from += poolsPerApply) {
    stage.proceed();
    const batch = Array.from({ length: Math.min(poolsPerApply, size - from) }, (_, n) => from + n);
    await apply(writer, [...batch.map((at) => poolManifest(at, 8080)), ...batch.map(routeManifest)]);
  }
  const last = `pool-${size - 1}`;
  const inUse = async (): Promise<boolean> => {
    const { status } = await reader.call<Observed>('GET', pathOf('BackendPool', last));
    const { state } = await reader.call<Proxy>('GET', `/v1/proxies/${node}`);
    const programmed = status.conditions.find(({ type }) => type === 'Programmed');
    return programmed?.status === 'True' && state === 'Synced';
  };
  await until(`Envoy to have ${named(size)}`, inUse, { limitMs: 60_000, everyMs: 50 });
}

interface Observed {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

async function apply(writer: RestClient, objects: readonly object[]): Promise<void> {
  await writer.call('POST', '/v1/apply', JSON.stringify({ objects: objects.map(withVersion) }));
}

function withVersion<T extends object>(manifest: T): T & { readonly apiVersion: string } {
  return { apiVersion: 'fairway/v1', ...manifest };
}

async function service(): Promise<object> {
  return {
    kind: 'VirtualService',
    metadata: { name: 'bench', scope: 'default' },
    spec: {
      fleet,
      listeners: [
        {
          name: 'web',
          port: await freePort(),
          protocol: 'HTTP',
          defaultAction: { respond: { status: 404 } },
        },
      ],
    },
  };
}

function routeManifest(at: number): object {
  return {
    kind: 'Route',
    metadata: { name: `route-${at}`, scope: 'default' },
    spec: {
      attachTo: [{ virtualService: 'bench', listener: 'web' }],
      hosts: [`host-${at}.example`],
      rules: [{ name: 'all', action: { forward: [{ pool: `pool-${at}` }] } }],
    },
  };
}

/** `port` is that of its first member: what the changes change. Nobody is asked for anything at these addresses. */
function poolManifest(at: number, port: number) {
  return withVersion({
    kind: 'BackendPool',
    metadata: { name: `pool-${at}`, scope: 'default' },
    spec: {
      members: Array.from({ length: membersPerPool }, (_, n) => ({
        address: `192.0.2.${n + 1}`,
        port: n === 0 ? port : 8080,
      })),
    },
  });
}
