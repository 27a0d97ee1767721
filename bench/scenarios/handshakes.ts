/**
 * A thousand clients connect at once with mutual TLS, as when a controller takes over from another: to the xDS door, up
 * to the first response to a stream of each, and to the REST API, up to the answer to one request. How long until the
 * last of them is served, how long the event loop is held meanwhile, and how long somebody who was there before waits for
 * an answer. The peer is a bare `node:http2` and `node:https` server with the same certificates. The clients take as much
 * as the server does: of two processors they have one.
 */
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '../child.ts';
import { type ClientFiles, files, writeFiles } from '../handshake-files.ts';
import { median, quantile } from '../quantile.ts';
import { atMost, type Row } from '../report.ts';
import { onStage, type Stage } from '../stage.ts';

const clients = Number(process.env['FAIRWAY_HANDSHAKES'] ?? 1_000);
const rounds = 3;
const holdBarMs = 10;
const pingEveryMs = 5;

export const title = `${clients} TLS handshakes at once: time to the last, and what is held up meanwhile`;

interface Figures {
  readonly lastMs: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  readonly pingP99Ms: number;
  readonly pingMaxMs: number;
}

export async function run(): Promise<Row[]> {
  return onStage(async (stage) => {
    await writeFiles(stage.folder, clients);
    const crowd = program(stage, 'the clients', 'handshake-clients.ts', [stage.folder]);
    await crowd.next('they were ready', ready);
    const fairway = await measure(stage, crowd, 'fairway');
    const bare = await measure(stage, crowd, 'bare');
    return [...rowsOf('xDS', fairway.stream, bare.stream), ...rowsOf('REST', fairway.request, bare.request)];
  });
}

const ready = (event: { readonly [field: string]: unknown }) => (event['event'] === 'ready' ? event : undefined);

function program(stage: Stage, name: string, file: string, args: readonly string[]): Child {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  const child = startChild({ name, program: process.execPath, args: [path, ...args], lines: 'stdout' });
  stage.add({ stop: () => child.close() });
  return child;
}

async function measure(stage: Stage, crowd: Child, kind: 'fairway' | 'bare'): Promise<Record<Door, Figures>> {
  const server = program(stage, kind, 'handshake-server.ts', [kind, stage.folder]);
  const { address, xdsAddress } = await server.next('it was ready', ready);
  const stream: Figures[] = [];
  const request: Figures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    stage.proceed();
    stream.push(
      await storm(stage, { server, crowd, door: 'stream', address: String(xdsAddress), pinged: String(xdsAddress) }),
    );
    request.push(
      await storm(stage, { server, crowd, door: 'request', address: String(address), pinged: String(xdsAddress) }),
    );
  }
  await server.close();
  return { stream: medianOf(stream), request: medianOf(request) };
}

type Door = 'stream' | 'request';

interface Storm {
  readonly server: Child;
  readonly crowd: Child;
  readonly door: Door;
  readonly address: string;
  /** The xDS door, where somebody is already. */
  readonly pinged: string;
}

async function storm(stage: Stage, { server, crowd, door, address, pinged }: Storm): Promise<Figures> {
  const session = await sessionOf(stage.folder, pinged);
  // What former clients left behind is gone by then.
  await sleep(1_000);
  server.tell({ do: 'reset' });
  const over = new AbortController();
  const pings = pinging(session, over.signal);
  crowd.tell({ door, address });
  const lastMs = await crowd.next('the last client', (event) =>
    event['event'] === 'connected' ? Number(event['ms']) : undefined,
  );
  server.tell({ do: 'report' });
  const delay = await server.next('its report', (event) => (event['event'] === 'delay' ? event : undefined));
  over.abort();
  const times = await pings;
  session.destroy();
  return {
    lastMs,
    delayP99Ms: Number(delay['p99Ms']),
    delayMaxMs: Number(delay['maxMs']),
    pingP99Ms: quantile(times, 0.99),
    pingMaxMs: Math.max(...times),
  };
}

function sessionOf(folder: string, address: string): Promise<ClientHttp2Session> {
  const [client] = JSON.parse(readFileSync(join(folder, files.clients), 'utf8')) as readonly ClientFiles[];
  const ca = readFileSync(join(folder, files.ca));
  const session = connect(`https://${address}`, { ca, cert: client?.cert, key: client?.key });
  return new Promise((resolve, reject) => {
    session.once('connect', () => resolve(session));
    session.once('error', reject);
  });
}

/** One ping after another; how long each took. */
async function pinging(session: ClientHttp2Session, over: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  while (!over.aborted) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    session.ping((error, ms) => (error === null ? resolve(ms) : reject(error)));
    times.push(await promise);
    await sleep(pingEveryMs);
  }
  return times;
}

function medianOf(figures: readonly Figures[]): Figures {
  const of = (field: keyof Figures): number => median(figures.map((one) => one[field]));
  return {
    lastMs: of('lastMs'),
    delayP99Ms: of('delayP99Ms'),
    delayMaxMs: of('delayMaxMs'),
    pingP99Ms: of('pingP99Ms'),
    pingMaxMs: of('pingMaxMs'),
  };
}

function rowsOf(door: string, fairway: Figures, bare: Figures): Row[] {
  const row = (what: string, field: keyof Figures, bar?: Row['bar']): Row => ({
    metric: `${door}: ${what}`,
    unit: 'ms',
    fairway: fairway[field],
    peer: { name: 'bare Node', value: bare[field] },
    bar,
  });
  return [
    row('until the last is served', 'lastMs', atMost(2)),
    // Where the clients leave the server too little of the processors, the loop is late without being held.
    row('delay of the loop, p99', 'delayP99Ms', [atMost(holdBarMs, 'value'), atMost(1)]),
    row('delay of the loop, longest', 'delayMaxMs'),
    row('a ping of somebody else, p99', 'pingP99Ms', atMost(1)),
    row('a ping of somebody else, longest', 'pingMaxMs'),
  ];
}
