import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Identity } from '../../src/cli/membership/identity.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { executable, runHere } from '../support/command-line.ts';
import { type CaPaths, createCompanyRoot, writeCa } from '../support/company-ca.ts';
import { envoyBinary, type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { type Load, startLoad } from '../support/load.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// A node from its token to its end, with a real Envoy under load all the time: nothing of it may be seen in the traffic.

/** So short that certificates are renewed, and expire, while the test waits for other things. */
const lifeMs = 12_000;

let fairway: TestFairway;
let backend: Backend;
let load: Load;
let child: ChildProcess | undefined;
let folder: string;
let ports: { http: number; rest: number; xds: number; admin: number };
let output = '';
/** Of a CA from outside, once there is one. */
let ca: Partial<CaPaths> = {};

const identityFolder = () => join(folder, 'node');
const identity = (): Identity => JSON.parse(readFileSync(join(identityFolder(), 'identity.json'), 'utf8'));
const serial = () => new X509Certificate(identity().certificate).serialNumber;
const admin = async (path: string) => (await fetch(`http://127.0.0.1:${ports.admin}${path}`)).text();
const stat = async (name: string) => Number(/: (\d+)/.exec(await admin(`/stats?filter=^${name}$`))?.[1] ?? 0);
const cli = (...argv: string[]) => runHere(argv, { env: { FAIRWAY_SERVER: fairway.url } });
const proxy = () => fairway.call('GET', '/v1/proxies/lb-1');
const connectedSince = async () => (await proxy()).body.connectedSince;

function start(): Promise<TestFairway> {
  return startFairway({
    data: join(folder, 'data'),
    xdsPort: ports.xds,
    rotationFollowMs: 500,
    config: { listen: `127.0.0.1:${ports.rest}`, xdsTls: 'own', certificateLife: `${lifeMs}ms`, ...ca },
  });
}

/** Envoy comes back with the certificate that it has by then. Not while it needs a controller for the next one. */
async function restart(): Promise<void> {
  const leftMs = () => Date.parse(identity().notAfter) - Date.now();
  await until('a certificate that is good for long enough', () => leftMs() > (lifeMs * 2) / 3);
  await fairway.close();
  fairway = await start();
  await until('Envoy to come back', async () => (await proxy()).body.state === 'Synced', { describe: () => output });
}

beforeAll(async () => {
  if (envoyBinary === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'fairway-member-'));
  const [http, rest, xds, adminPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  ports = { http, rest, xds, admin: adminPort };
  backend = await startBackend('one');
  fairway = await start();
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    {
      kind: 'BackendPool',
      metadata: { name: 'web' },
      spec: { members: [{ address: '127.0.0.1', port: backend.port }] },
    },
    {
      kind: 'VirtualService',
      metadata: { name: 'shop' },
      spec: {
        fleet: 'edge',
        listeners: [{ name: 'web', port: http, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } }],
      },
    },
  );
});
afterAll(async () => {
  child?.kill('SIGTERM');
  await until('the end of Envoy', () => child === undefined || child.exitCode !== null || child.signalCode !== null);
  await load?.stop();
  await backend?.close();
  await fairway?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(envoyBinary === undefined)('a node', () => {
  it('joins by its token, and serves', async () => {
    const made = await cli('token', 'create', '--node', 'lb-1', '--fleet', 'edge', '--ttl', '1m');
    expect(made).toMatchObject({ code: 0, err: expect.stringMatching(/^For the node lb-1 of the fleet edge, once/) });
    child = spawn(
      process.execPath,
      [
        ...[executable, 'envoy', '--identity', identityFolder(), '--admin', `127.0.0.1:${ports.admin}`],
        ...['--xds', `127.0.0.1:${ports.xds}`, '--', '--concurrency', '1', '--log-level', 'warning'],
      ],
      {
        env: {
          ...process.env,
          FAIRWAY_SERVER: fairway.url,
          FAIRWAY_JOIN_TOKEN: made.out,
          XDG_CONFIG_HOME: '/nonexistent',
          TMPDIR: folder,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
    await until('the proxy', async () => (await proxy()).body.state === 'Synced', { describe: () => output });
    await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
    load = startLoad({ port: ports.http, hosts: ['shop.example'], concurrency: 2 });
    expect(identity()).toMatchObject({ node: 'lb-1', fleet: 'edge' });
    const modes = readdirSync(identityFolder()).map((name) => statSync(join(identityFolder(), name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    // The key of the authority is sealed at rest.
    const data = readdirSync(join(folder, 'data')).map((name) => readFileSync(join(folder, 'data', name), 'latin1'));
    expect(data.filter((text) => text.includes('secret/authority/'))).not.toEqual([]);
    expect(data.filter((text) => text.includes('PRIVATE KEY'))).toEqual([]);
  });

  it('renews by itself, and its stream outlives its first certificate', async () => {
    const since = await connectedSince();
    const first = new X509Certificate(identity().certificate);
    await until(
      'two renewals',
      async () =>
        (await stat('cluster.fairway-controllers.ssl.handshake')) === 1 && (await stat('sds.node.update_success')) >= 3,
    );
    await until('the end of the first certificate', () => Date.now() > first.validToDate.getTime() + 5_500);
    expect(await connectedSince()).toBe(since);
    // What Envoy would show now is what is in the files.
    await until('Envoy to have the newest', async () => (await admin('/certs')).toUpperCase().includes(serial()));
    expect(load.failures).toEqual([]);
  });

  it('comes back with a renewed certificate', async () => {
    await restart();
    expect(load.failures).toEqual([]);
  });

  it('goes over to a new root without being noticed', async () => {
    const [old] = [(await cli('ca', 'show')).out];
    const since = await connectedSince();
    expect(await cli('ca', 'rotate')).toMatchObject({ code: 0, out: expect.stringMatching(/^Both roots are trusted/) });
    expect(await cli('ca', 'rotate')).toMatchObject({ code: 1, err: expect.stringContaining('under way') });
    const both = (await cli('ca', 'show')).out;
    expect(both.startsWith(old)).toBe(true);
    await until('the wait for the node', async () => (await cli('ca', 'rotation')).out.includes('lb-1'));
    await until('the end of the rotation', async () => (await cli('ca', 'rotation')).out.includes('There is one root'));
    const rest = (await cli('ca', 'show')).out;
    expect(both).toBe(old + rest);
    expect(new X509Certificate(identity().certificate).verify(new X509Certificate(rest).publicKey)).toBe(true);
    expect(await connectedSince()).toBe(since);
    expect(load.failures).toEqual([]);
    // New connections go by the new root on both sides.
    await restart();
    await until('trust in the new root alone', () => identity().ca === rest);
    await restart();
    expect(load.failures).toEqual([]);
  });

  it('goes over to a CA of the company, and on to one below another root, without being noticed', async () => {
    const [first, second] = [await createCompanyRoot('Root 1'), await createCompanyRoot('Root 2')];
    const over = async (root: { readonly cert: string }) => {
      const isLast = async () => (await cli('ca', 'show')).out.trim() === root.cert.trim();
      await until('the end of the rotation', isLast, { limitMs: 60_000 });
      await until('trust in that root alone', () => identity().ca.trim() === root.cert.trim());
    };
    ca = writeCa(folder, await first.sign('CA 1'), first);
    await restart();
    await over(first);
    const since = await connectedSince();
    writeCa(folder, await second.sign('CA 2'), second);
    await over(second);
    expect(await connectedSince()).toBe(since);
    expect(identity().certificate.match(/BEGIN/g)).toHaveLength(2);
    // New connections go by the chains on both sides.
    await restart();
    expect(load.failures).toEqual([]);
  });

  it('rule 41: cannot be another node, whatever it calls itself', async () => {
    let other: RunningEnvoy | undefined;
    try {
      other = await startEnvoy({ node: 'lb-2', fleet: 'edge', xdsPort: ports.xds, secrets: identityFolder() });
      const refused = () =>
        fairway
          .logged()
          .split('\n')
          .filter((line) => line.includes('wrong-identity'));
      const lines = await until('the refusal', () => refused().length > 1 && refused());
      expect(JSON.parse(String(lines[0]))).toMatchObject({
        event: 'stream_refused',
        words: expect.stringContaining('lb-1'),
      });
      expect((await fairway.call('GET', '/v1/proxies/lb-2')).status).toBe(404);
      expect((await fairway.call('GET', '/v1/nodes/lb-2')).status).toBe(404);
    } finally {
      await other?.stop();
    }
  });

  it('is shut out within five seconds when its Node is deleted, and serves on', async () => {
    expect((await proxy()).status).toBe(200);
    expect((await cli('delete', 'node', 'lb-1')).code).toBe(0);
    await until('the end of its stream', async () => (await proxy()).status === 404, { limitMs: 5_000 });
    const attempts = () =>
      fairway
        .logged()
        .split('\n')
        .filter((line) => line.includes('"peer_refused"')).length;
    const before = attempts();
    await until('further attempts', () => attempts() > before + 1);
    await until('the word about it', () => output.includes('not renewed any more: renewing: the node lb-1'));
    expect((await proxy()).status).toBe(404);
    expect((await fairway.call('GET', '/v1/nodes/lb-1')).status).toBe(404);
    const sent = load.sent;
    await until('further requests', () => load.sent > sent + 10);
    expect(load.failures).toEqual([]);
  });
});
