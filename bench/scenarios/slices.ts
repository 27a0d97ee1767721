/**
 * How long the server's own work holds the event loop at a stretch, with 10,000 services and 1,000 proxies: while these
 * come at once, while they are asked about, and while services are edited. Turns are told by processor time of the
 * loop's thread without garbage collection; the delay of the loop is what the clock says, whatever else the machine does.
 * FAIRWAY_SLICES_SECONDS, FAIRWAY_SLICES_SERVICES and FAIRWAY_SLICES_PROXIES make it shorter.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, credentials, status } from '@grpc/grpc-js';
import { heapFlags } from '../../src/bin/setup/heap.js';
import type { FairwayObject } from '../../src/model/index.ts';
import { pathOf } from '../../test/support/fairway.ts';
import { until } from '../../test/support/until.ts';
import { type Child, startChild } from '../child.ts';
import { startFakeProxies } from '../fake-proxies.ts';
import { atMost, type Row } from '../report.ts';
import { createRestClient, type RestClient } from '../rest-client.ts';
import { onStage } from '../stage.ts';
import { edits, fleet, object } from '../world.ts';

const services = Number(process.env['FAIRWAY_SLICES_SERVICES'] ?? 10_000);
const proxies = Number(process.env['FAIRWAY_SLICES_PROXIES'] ?? 1_000);
const seconds = Number(process.env['FAIRWAY_SLICES_SECONDS'] ?? 30);
const changesPerSecond = 20;
/** So that the proxies together can be held in one process: each has a hundredth of the services. */
const fleets = 100;
const barMs = 10;
const startLimitMs = 300_000;

export const title = `The longest that work holds the event loop, at ${services} services and ${proxies} proxies`;

interface Slices {
  readonly longestMs: Readonly<Record<string, number>>;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** What is reported apart: it is one step by design. */
const apart = 'large adoption';

export async function run(): Promise<Row[]> {
  return onStage(async (stage) => {
    const child = startChild({
      name: 'the server',
      program: process.execPath,
      args: [
        ...heapFlags,
        fileURLToPath(new URL('../sliced-server.ts', import.meta.url)),
        String(services),
        String(fleets),
      ],
      lines: 'stdout',
    });
    stage.add({ stop: () => child.close() });
    const { address, xdsAddress } = await child.next('it was ready', (event) =>
      event['event'] === 'ready'
        ? { address: String(event['address']), xdsAddress: String(event['xdsAddress']) }
        : undefined,
    );
    const rest = stage.add(createRestClient(address));
    const built = await slicesOf(child);

    const fake = await startFakeProxies({
      count: proxies,
      fleets: Array.from({ length: fleets }, (_, at) => `${fleet}-${at}`),
      address: xdsAddress,
      names: [],
    });
    stage.add(fake);
    await until('all proxies to be filled', () => areFilled(rest), { limitMs: startLimitMs, everyMs: 5_000 });
    const filled = await slicesOf(child);

    await rest.call('GET', '/v1/proxies/fake-0/config?content=true');
    await askForAll(xdsAddress);
    const asked = await slicesOf(child);

    const started = performance.now();
    for (let change = 0; change < seconds * changesPerSecond; change += 1) {
      stage.proceed();
      await sleep(Math.max(0, started + (change * 1_000) / changesPerSecond - performance.now()));
      await put(rest, changeOf(change));
    }
    const changed = await slicesOf(child);
    return [
      { metric: 'first build, adoption', unit: 'ms', fairway: built.longestMs[apart] ?? Number.NaN },
      ...rowsOf('first build', { ...built, delayP99Ms: Number.NaN }),
      ...rowsOf('proxies come', filled),
      ...rowsOf('questions', asked),
      ...rowsOf('edits', changed),
    ];
  });
}

function rowsOf(phase: string, { longestMs, delayP99Ms, delayMaxMs }: Slices): Row[] {
  const works = Object.keys(longestMs).filter((work) => work !== apart);
  const rows: Row[] = works.toSorted().map((work) => ({
    metric: `${phase}: ${work}, longest`,
    unit: 'ms',
    fairway: longestMs[work] ?? Number.NaN,
    bar: atMost(barMs, 'value'),
  }));
  // The first build is adopted in one step, before anybody waits for an answer.
  if (Number.isNaN(delayP99Ms)) return rows;
  return [
    ...rows,
    { metric: `${phase}: delay of the loop, p99`, unit: 'ms', fairway: delayP99Ms, bar: atMost(barMs, 'value') },
    { metric: `${phase}: delay of the loop, longest`, unit: 'ms', fairway: delayMaxMs },
  ];
}

/** Asks for the status of all proxies at once, and throws the answer away; that it is too large is an answer as well. */
async function askForAll(address: string): Promise<void> {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.max_receive_message_length': -1 });
  const path = '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus';
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const same = (bytes: Buffer): Buffer => bytes;
  client.makeUnaryRequest(path, same, same, Buffer.alloc(0), (error) => {
    if (error === null || error.code === status.RESOURCE_EXHAUSTED) resolve();
    else reject(error);
  });
  await promise.finally(() => client.close());
}

async function slicesOf(child: Child): Promise<Slices> {
  child.tell({ do: 'report' });
  return child.next('its report', (event) => (event['event'] === 'slices' ? (event as unknown as Slices) : undefined));
}

interface Proxy {
  readonly types: readonly { readonly resources: number; readonly pending: number }[];
}

/** By what each has, not by its state: one after another loses its connection, and is pending for a while when it is back. */
async function areFilled(rest: RestClient): Promise<boolean> {
  const { items } = await rest.call<{ items: Proxy[] }>('GET', '/v1/proxies');
  const filled = items.filter(({ types }) => types.length > 0 && types.every(({ pending }) => pending === 0));
  return filled.length >= 0.9 * proxies;
}

/** The certificates of these worlds are none: the API would not take them. */
const edited = edits.filter(({ name }) => name !== 'one certificate');

/** All sorts of edits, of one service after another; now and then one that concerns all of a fleet. */
function changeOf(change: number): FairwayObject {
  const generation = 2 + Math.floor(change / services);
  const kind = edited[change % edited.length];
  if (kind === undefined || change % 100 === 99) {
    return object('Fleet', `${fleet}-${change % fleets}`, 2 + change, {
      ha: 'everyNode',
      drainTimeout: `${change % 60}s`,
    });
  }
  return kind.edited(change % services, generation);
}

async function put(rest: RestClient, { apiVersion, kind, metadata, spec }: FairwayObject): Promise<void> {
  const { name, scope } = metadata;
  await rest.call(
    'PUT',
    pathOf(kind, name, scope),
    JSON.stringify({ apiVersion, kind, metadata: { name, scope }, spec }),
  );
}
