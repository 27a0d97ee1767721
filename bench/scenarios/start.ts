/**
 * How long a server takes from its start to the first 200 of `/readyz`, and what an idle one holds in memory. It is
 * started as people start it. Node keeps compiled code from one start to the next: the first start after an
 * installation has none (cold), all later ones have it (warm).
 */
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, startServerProcess } from '../../test/support/server-process.ts';
import { median } from '../quantile.ts';
import type { Bar, Row } from '../report.ts';
import { createRestClient } from '../rest-client.ts';
import { onStage, type Stage } from '../stage.ts';
import * as world from '../world.ts';

export const title = 'Start of a server to ready, and the memory of an idle one';

const starts = 7;
const idlers = 3;
const idleMs = 5_000;

const startBar: Bar = { of: 'value', kind: 'atMost', limit: 1500 };
/**
 * Of a server whose code was compiled before. From source, the first one also holds what strips types, once for each of
 * its two threads, until it ends; an installed package has no types.
 */
const memoryBar: Bar = { of: 'value', kind: 'atMost', limit: 180 };

/** The large store: each service with a certificate, three Routes and five pools. */
const services = 1000;
const objectsPerService = 10;

interface Folders {
  readonly data: string;
  readonly compileCache: string;
}

interface Way extends Folders {
  readonly name: string;
  readonly isCold: boolean;
}

export async function run(): Promise<Row[]> {
  return onStage(async (stage) => {
    const folder = (name: string): string => join(stage.folder, name);
    const kept: Folders = { data: folder('kept'), compileCache: folder('cache') };
    /** New ones for each start. */
    const fresh: Folders = { data: folder('new'), compileCache: folder('new-cache') };
    const cold: Way = { name: 'new data folder, cold code', isCold: true, ...fresh };
    const warm: Way = { ...cold, name: 'new data folder, warm code', isCold: false, compileCache: kept.compileCache };
    const again: Way = { ...kept, name: 'data folder kept, warm code', isCold: false };
    // Fills what is kept; and the machine reads the files from its disk once.
    await started(stage, kept);
    return [
      ...(await measureStarts(stage, [cold, warm, again], fresh)),
      ...(await measureMemory(stage, [cold, warm], fresh)),
      ...(await measureLarge(stage, { data: folder('large'), compileCache: kept.compileCache })),
    ];
  });
}

/** The ways take turns, so that whatever the machine does beside the bench meets all of them. */
async function measureStarts(stage: Stage, ways: readonly Way[], fresh: Folders): Promise<Row[]> {
  const found = ways.map((): Started[] => []);
  for (let start = 0; start < starts; start += 1) {
    for (const [index, way] of ways.entries()) {
      await forget(fresh);
      found[index]?.push(await started(stage, way));
    }
  }
  return ways.flatMap(({ name }, index) => rowsOf(name, found[index] ?? [], startBar));
}

/** The processor time tells a slow start from a busy machine. */
function rowsOf(name: string, found: readonly Started[], bar?: Bar): Row[] {
  return [
    { metric: `start to ready, ${name}`, unit: 'ms', fairway: median(found.map(({ startMs }) => startMs)), bar },
    { metric: '  processor time of it', unit: 'ms', fairway: median(found.map(({ startCpuMs }) => startCpuMs)) },
  ];
}

async function measureMemory(stage: Stage, ways: readonly Way[], fresh: Folders): Promise<Row[]> {
  const rows: Row[] = [];
  for (const way of ways) {
    const sizes: number[] = [];
    for (let idler = 0; idler < idlers; idler += 1) {
      await forget(fresh);
      sizes.push((await started(stage, way, idleMs)).residentMb);
    }
    const row = { metric: `resident memory, idle, ${way.name}`, unit: 'MB', fairway: median(sizes) };
    rows.push(way.isCold ? row : { ...row, bar: memoryBar });
  }
  return rows;
}

async function measureLarge(stage: Stage, folders: Folders): Promise<Row[]> {
  await fill(stage, folders);
  const found: Started[] = [];
  for (let start = 0; start < idlers; start += 1) found.push(await started(stage, folders, idleMs));
  const large = `${services} services, ${services * objectsPerService} objects`;
  return [
    ...rowsOf(large, found),
    { metric: `resident memory, idle, ${large}`, unit: 'MB', fairway: median(found.map((one) => one.residentMb)) },
  ];
}

interface Started {
  readonly startMs: number;
  readonly startCpuMs: number;
  /** After the time that it was left alone. */
  readonly residentMb: number;
}

/** Starts a server, leaves it alone for some time, stops it. */
async function started(stage: Stage, folders: Folders, aloneMs = 0): Promise<Started> {
  stage.proceed();
  const server = await startServerProcess(folders);
  const startCpuMs = server.cpuMs();
  let residentMb: number;
  let ended: Ended;
  try {
    await sleep(aloneMs);
    residentMb = server.residentBytes() / 1e6;
  } finally {
    ended = await server.stop();
  }
  // Node writes its cache of compiled code at an orderly end only.
  if (ended.code !== 0) throw new Error(`the server ended with ${ended.code ?? ended.signal}: ${server.output()}`);
  return { startMs: server.startMs, startCpuMs, residentMb };
}

async function forget({ data, compileCache }: Folders): Promise<void> {
  for (const path of [data, compileCache]) await rm(path, { recursive: true, force: true });
}

/** Through the REST API, as operators do it. */
async function fill(stage: Stage, folders: Folders): Promise<void> {
  const server = await startServerProcess(folders);
  const rest = createRestClient(server.address);
  try {
    await apply([{ kind: 'Fleet', metadata: { name: world.fleet }, spec: {} }]);
    // An apply holds up to 50 objects.
    const servicesPerApply = 50 / objectsPerService;
    for (let from = 0; from < services; from += servicesPerApply) {
      stage.proceed();
      await apply(Array.from({ length: servicesPerApply }, (_, n) => manifestsOf(from + n)).flat());
    }
  } finally {
    await rest.stop();
    await server.stop();
  }

  function apply(objects: readonly object[]): Promise<unknown> {
    const body = { objects: objects.map((object) => ({ apiVersion: 'fairway/v1', ...object })) };
    return rest.call('POST', '/v1/apply', JSON.stringify(body));
  }
}

const certificateFile = (name: string): string =>
  readFileSync(new URL(`../../test/support/certificates/${name}`, import.meta.url), 'utf8');

/** A pair that passes the checks of a write. */
const certificate = { chain: certificateFile('p256.pem'), key: certificateFile('p256.key.pem') };

function manifestsOf(at: number): object[] {
  const [service, route, pool] = [world.service(at), world.route(at), world.pool(at)];
  const name = `service-${at}`;
  const named = (suffix: string) => ({ name: `${name}${suffix}`, scope: 'default' });
  return [
    { kind: 'VirtualService', metadata: named(''), spec: service.spec },
    { kind: 'Certificate', metadata: named(''), spec: certificate },
    { kind: 'Route', metadata: named(''), spec: route.spec },
    ...['-a', '-b'].map((suffix) => ({
      kind: 'Route',
      metadata: named(suffix),
      spec: {
        attachTo: [{ virtualService: name, listener: 'web' }],
        hosts: [`${name}.example.com`],
        rules: [
          {
            name: 'one',
            match: [{ path: { prefix: `/${suffix.slice(1)}` } }],
            action: { forward: [1, 2].map((pool) => ({ pool: `${name}${suffix}-${pool}` })) },
          },
        ],
      },
    })),
    { kind: 'BackendPool', metadata: named(''), spec: pool.spec },
    ...['-a-1', '-a-2', '-b-1', '-b-2'].map((suffix) => ({
      kind: 'BackendPool',
      metadata: named(suffix),
      spec: pool.spec,
    })),
  ];
}
