import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findEnvoy } from '../../lib/envoy-binary.js';
import { adminTokenName, readTokenFile } from '../../lib/local-server.ts';
import { startBackends } from '../backends.ts';
import { createAuthority } from '../certificate.ts';
import type { Child } from '../children.ts';
import { backendsOf, listenerPortsOf, readManifests } from '../examples.ts';
import { freePorts } from '../free-ports.ts';
import { createRest } from '../rest.ts';
import { fleet, nodeName, type Stage, shop, type Walk } from '../stage.ts';
import { until } from '../until.ts';

/** Starts backends, a server and an Envoy, all on free ports of 127.0.0.1. */

/** A first start makes a database and loads all code; on a busy machine that is some seconds. */
const serverLimitMs = 30_000;
const envoyLimitMs = 30_000;

export async function start(walk: Walk): Promise<Stage> {
  const { report } = walk;
  report.heading('Starting, in processes of their own');
  const examples = readManifests();
  const needed = backendsOf(examples);
  const listening = listenerPortsOf(examples);
  const free = await freePorts(needed.length + listening.length + 1);
  const wanted = [...needed.map(({ port }) => port), ...listening];
  const ports = new Map(wanted.map((port, i) => [port, free[i] as number]));
  const adminPort = free.at(-1) as number;

  const backends = await report.step('Backends', async () => {
    const here = needed.map(({ port, protocol }) => ({ port: ports.get(port) as number, protocol }));
    const started = await startBackends(here);
    walk.atEnd(async () => {
      await Promise.all(started.map((backend) => backend.close()));
    });
    return { say: started.map(({ name, port }) => `${name} on ${port}`).join(', '), value: started };
  });
  const { rest, xdsAddress } = await report.step('Server', () => startServer(walk));
  if (findEnvoy() === undefined) await report.step('Envoy binary', () => fetchEnvoy(walk));
  await report.step('Envoy', async () => {
    const version = await startEnvoy(walk, { rest, xdsAddress, adminPort });
    return { say: `version ${version}, joined fleet ${fleet} as ${nodeName}`, value: undefined };
  });
  const port = (ofExample: number): number => {
    const found = ports.get(ofExample);
    if (found === undefined) throw new Error(`no example listens on port ${ofExample}`);
    return found;
  };
  const authority = await createAuthority();
  return {
    rest,
    xdsAddress,
    adminPort,
    backends,
    ports,
    web: port(10080),
    secure: port(10443),
    echo: port(10007),
    authority,
    certificate: await authority.issue(shop.host, '0A'),
  };
}

function whenGone(walk: Walk, name: string): (words: string) => void {
  return (words) => walk.fail(new Error(`${name} is gone: ${words}`));
}

async function startServer(walk: Walk) {
  const data = join(walk.folder, 'data');
  const args = ['--listen', '127.0.0.1:0', '--xds-listen', '127.0.0.1:0', '--data', data];
  const child = walk.children.start('server', ['server', ...args], whenGone(walk, 'the server'));
  const ready = await nextEvent(child, 'server_ready', { limitMs: serverLimitMs, signal: walk.signal });
  const address = String(ready['address']);
  const xdsAddress = String(ready['xdsAddress']);
  const token = readTokenFile(join(data, adminTokenName));
  if (token === undefined) throw new Error('the server has left no admin token');
  const rest = createRest(`http://${address}`, token, walk.signal);
  const say = `REST ${rest.url}, xDS ${xdsAddress}, embedded store in ${walk.folder}`;
  return { say, value: { rest, xdsAddress } };
}

/** The first log line of an event from now on. */
async function nextEvent(child: Child, event: string, options: { limitMs: number; signal: AbortSignal }) {
  let found: Readonly<Record<string, unknown>> | undefined;
  const stop = child.onLine((line) => {
    if (!line.includes(`"event":"${event}"`)) return;
    found ??= JSON.parse(line) as Readonly<Record<string, unknown>>;
  });
  try {
    return await until(() => found, { what: `the ${child.name} to log ${event}`, ...options });
  } finally {
    stop();
  }
}

/** Gives Envoy's version as the server knows it. */
async function startEnvoy(walk: Walk, stage: Pick<Stage, 'rest' | 'xdsAddress' | 'adminPort'>): Promise<string> {
  const { rest, xdsAddress, adminPort } = stage;
  const place = ['--server', rest.url, '--xds', xdsAddress, '--admin', `127.0.0.1:${adminPort}`];
  const args = ['envoy', '--fleet', fleet, '--node', nodeName, ...place, '--', '--log-level', 'warning'];
  walk.children.start('envoy', args, whenGone(walk, 'Envoy'));
  const proxy = await until(async () => (await rest.proxies()).find(({ node }) => node === nodeName), {
    what: 'Envoy to connect',
    limitMs: envoyLimitMs,
    everyMs: 50,
    signal: walk.signal,
  });
  return proxy.version;
}

/** As `npm run setup` does; an installed Fairway comes without Envoy. */
async function fetchEnvoy({ signal }: Walk) {
  const setup = fileURLToPath(new URL('../../bin/setup.js', import.meta.url));
  const child = spawn(process.execPath, [setup, 'envoy'], { stdio: ['ignore', 'ignore', 'pipe'], signal });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(words.trim());
  return { say: 'downloaded', value: undefined };
}
