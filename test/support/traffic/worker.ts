/** The thread behind `startTraffic`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { type Held, holdTcp, holdWebSocket } from './held.ts';
import type { Failure, Order, TrafficOptions, TrafficReport } from './index.ts';
import { type Ask, createHttp1, createHttp2, createHttps } from './requests.ts';

const { http, https, held = { webSockets: [], tcp: [] } } = workerData as TrafficOptions;

/** Failures that are told; the rest is counted. */
const maxTold = 50;

/** How often requests that are due are begun. */
const tickMs = 5;

/** Requests of one kind under way at most: where a proxy hangs they fail one after another, by their time limit. */
const maxUnderWay = 256;

/** Requests for a host that has not answered yet; each makes the proxy open a connection, once it has a route. */
const maxAtOnce = 4;

interface Host {
  answered: boolean;
  underWay: number;
}

const hosts = new Map<string, Host>();
const order: string[] = [];
const serials = new Set<string>();
const failures: Failure[] = [];
let failed = 0;
let stopping = false;

function fail(kind: Failure['kind'], host: string, why: string): void {
  failed += 1;
  if (failures.length < maxTold) failures.push({ kind, host, why, at: new Date().toISOString() });
}

/** Requests of one kind at a constant rate, over the hosts in turn. */
function createStream(kind: 'http1' | 'http2', perSecond: number, ask: Ask) {
  const started = performance.now();
  let sent = 0;
  let due = 0;
  let turn = 0;
  let underWay = 0;

  /** Every other request is for a host that has not answered yet, so that its first moments are looked at closely. */
  function next(): string {
    const fresh = sent % 2 === 0 ? order.findLast((name) => hosts.get(name)?.answered === false) : undefined;
    if (fresh !== undefined && (hosts.get(fresh)?.underWay ?? 0) < maxAtOnce) return fresh;
    turn = (turn + 1) % order.length;
    return order[turn] as string;
  }

  async function request(name: string, host: Host): Promise<void> {
    underWay += 1;
    host.underWay += 1;
    sent += 1;
    // Of requests under way when the first one is answered, some were sent before there was a route.
    const { answered } = host;
    try {
      const status = await ask(name);
      if (status === 200) host.answered = true;
      else if (status !== 404 || answered) fail(kind, name, `status ${status}`);
    } catch (error) {
      fail(kind, name, error instanceof Error ? error.message : String(error));
    }
    underWay -= 1;
    host.underWay -= 1;
  }

  return {
    get sent() {
      return sent;
    },
    get underWay() {
      return underWay;
    },
    tick() {
      const now = Math.floor(((performance.now() - started) / 1000) * perSecond);
      for (; due < now; due += 1) {
        if (underWay >= maxUnderWay || order.length === 0) continue;
        const name = next();
        const host = hosts.get(name);
        if (host !== undefined) void request(name, host);
      }
    },
  };
}

const http1 = createHttp1(http.port);
const http2 = createHttp2(http.port);
const streams = [
  createStream('http1', http.http1PerSecond, http1.ask),
  createStream('http2', http.http2PerSecond, http2.ask),
] as const;
const ticking = setInterval(() => {
  for (const stream of streams) stream.tick();
}, tickMs);

let handshakes = 0;
const shaking = https === undefined ? Promise.resolve() : shake(https);

async function shake({ port, hosts: names, ca, perSecond }: NonNullable<TrafficOptions['https']>): Promise<void> {
  const ask = createHttps(port, ca);
  for (; !stopping; handshakes += 1) {
    const host = names[Math.floor(handshakes / 2) % names.length] as string;
    try {
      const { status, serial } = await ask(host, handshakes % 2 === 0 ? 'http/1.1' : 'h2');
      serials.add(serial);
      if (status !== 200) fail('https', host, `status ${status}`);
    } catch (error) {
      fail('https', host, error instanceof Error ? error.message : String(error));
    }
    await sleep(1000 / perSecond);
  }
}

const connections: readonly Held[] = [
  ...held.webSockets.map(({ port, host }) => holdWebSocket(port, host, (why) => fail('webSocket', host, why))),
  ...held.tcp.map(({ port }) => holdTcp(port, (why) => fail('tcp', String(port), why))),
];

function report(): TrafficReport {
  return {
    sent: { http1: streams[0].sent, http2: streams[1].sent, https: handshakes },
    failed,
    failures,
    held: {
      open: connections.filter(({ open }) => open).length,
      leastEchoes: Math.min(...connections.map(({ echoes }) => echoes)),
    },
    serials: [...serials],
  };
}

/** What is to be told; of the end, how it was before the connections were closed. */
async function carryOut(given: Order): Promise<TrafficReport> {
  switch (given.kind) {
    case 'ask':
      for (const name of given.hosts) {
        if (!hosts.has(name)) order.push(name);
        hosts.set(name, { answered: false, underWay: 0 });
      }
      return report();
    case 'forget':
      for (const name of given.hosts) {
        const at = order.indexOf(name);
        if (at >= 0) order.splice(at, 1);
      }
      for (const name of given.hosts) {
        while ((hosts.get(name)?.underWay ?? 0) > 0) await sleep(tickMs);
        hosts.delete(name);
      }
      return report();
    case 'answered':
      while (hosts.get(given.host)?.answered !== true) await sleep(tickMs);
      return report();
    case 'stop': {
      stopping = true;
      clearInterval(ticking);
      while (streams.some(({ underWay }) => underWay > 0)) await sleep(tickMs);
      await shaking;
      const last = report();
      for (const connection of connections) connection.close();
      http1.close();
      http2.close();
      return last;
    }
    case 'report':
      return report();
  }
}

parentPort?.on('message', ({ number, order: given }: { number: number; order: Order }) => {
  void carryOut(given).then((told) => parentPort?.postMessage({ order: number, report: told }));
});
