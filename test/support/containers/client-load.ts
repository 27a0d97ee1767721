/**
 * What the client of a deployment does while things are taken away: asks each Envoy for the shop, and of each controller
 * reads and writes. Every request is accounted for by whom it went to. It runs in the container of the client, from its
 * source alone, so it imports nothing of ours:
 *
 *   node --input-type=module-typescript -e SOURCE OPTIONS
 *
 * and tells how it stands in a file, until another file says that it is enough.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { request as requestSecurely, Agent as SecureAgent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

export interface LoadOptions {
  /** `host:port` of the services' listeners, and the host to ask for. */
  readonly envoys: readonly string[];
  readonly host: string;
  /** `host:port` of REST APIs, and the files with whom to believe and what to show them. */
  readonly controllers: readonly string[];
  readonly caFile: string;
  readonly tokenFile: string;
  readonly reportFile: string;
  readonly stopFile: string;
}

export interface LoadReport {
  /** By `host:port`; reads and writes of controllers apart. */
  readonly envoys: Readonly<Record<string, Tally>>;
  readonly reads: Readonly<Record<string, Tally>>;
  readonly writes: Readonly<Record<string, Tally>>;
  /** Of each controller the number that its last acknowledged write left in the object of its name. */
  readonly acknowledged: Readonly<Record<string, number>>;
}

export interface Tally {
  readonly answered: number;
  readonly failures: readonly { readonly at: number; readonly why: string }[];
}

/** Nobody waits longer for an answer. */
const limitMs = 5_000;

/** Between two requests to the same one: enough to meet every moment of a change, and to leave time to the others. */
const pauseMs = { envoy: 10, read: 50, write: 100 } as const;

/** Nobody stops it when the test was killed. */
const longestRunMs = 300_000;

type Counted = { answered: number; failures: { at: number; why: string }[] };

async function run(options: LoadOptions): Promise<void> {
  const report = {
    envoys: {} as Record<string, Counted>,
    reads: {} as Record<string, Counted>,
    writes: {} as Record<string, Counted>,
    acknowledged: {} as Record<string, number>,
  };
  const end = Date.now() + longestRunMs;
  const isOver = (): boolean => Date.now() > end || existsSync(options.stopFile);
  const tell = (): void => {
    writeFileSync(`${options.reportFile}.new`, JSON.stringify(report));
    renameSync(`${options.reportFile}.new`, options.reportFile);
  };
  const loop = async (group: Record<string, Counted>, to: string, everyMs: number, once: () => Promise<void>) => {
    const tally: Counted = { answered: 0, failures: [] };
    group[to] = tally;
    while (!isOver()) {
      try {
        await once();
        tally.answered += 1;
      } catch (error) {
        tally.failures.push({ at: Date.now(), why: (error as Error).message });
      }
      await sleep(everyMs);
    }
  };
  const telling = setInterval(tell, 200);
  const envoys = options.envoys.map((to) => {
    const agent = new Agent({ keepAlive: true });
    return loop(report.envoys, to, pauseMs.envoy, () => ask(to, agent, { path: '/', headers: { host: options.host } }));
  });
  const ca = readFileSync(options.caFile, 'utf8');
  const headers = {
    authorization: `Bearer ${readFileSync(options.tokenFile, 'utf8').trim()}`,
    'content-type': 'application/json',
  };
  const controllers = options.controllers.flatMap((to) => {
    const agent = new SecureAgent({ keepAlive: true, ca });
    const name = `load-${to.split(':', 1)[0]}`;
    let n = 0;
    const write = async (): Promise<void> => {
      n += 1;
      const metadata = { name, labels: { n: String(n) } };
      const body = JSON.stringify({ apiVersion: 'fairway/v1', kind: 'Scope', metadata, spec: {} });
      await ask(to, agent, { method: 'PUT', path: `/v1/scopes/${name}`, headers, body });
      report.acknowledged[name] = n;
    };
    return [
      loop(report.reads, to, pauseMs.read, () => ask(to, agent, { path: '/v1/fleets/edge', headers })),
      loop(report.writes, to, pauseMs.write, write),
    ];
  });
  await Promise.all([...envoys, ...controllers]);
  clearInterval(telling);
  tell();
}

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Rejects unless a whole answer came in time, and a good one. */
function ask(to: string, agent: Agent, { method = 'GET', path, headers, body }: Asked): Promise<void> {
  const [host, port] = to.split(':');
  const options = { agent, host, port, method, path, timeout: limitMs };
  return new Promise((resolve, reject) => {
    const send = agent instanceof SecureAgent ? requestSecurely : request;
    const asked = send({ ...options, headers: { ...headers } }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        answer += text;
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve();
        else reject(new Error(`${method} ${path}: ${statusCode} ${answer.slice(0, 300)}`));
      });
    });
    asked.on('error', (error) => reject(new Error(`${method} ${path}: ${error.message}`)));
    asked.on('timeout', () => asked.destroy(new Error(`no answer in ${limitMs} ms`)));
    asked.end(body);
  });
}

// Imported for its types it does nothing.
const options = process.argv[1];
if (import.meta.url.endsWith('[eval1]') && options !== undefined) await run(JSON.parse(options));
