import { type ChildProcess, spawn } from 'node:child_process';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey, createRoot, issueToController, issueToNode, type Root } from '../../src/pki/certificates.ts';
import { executable } from '../support/command-line.ts';
import { envoyBinary } from '../support/envoy.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// A real Envoy and a server with certificates that others keep in files.

const trustDomain = 'corp.example';
let folder: string;
let root: Root;
let fairway: TestFairway;
let admin: number;
const children: ChildProcess[] = [];
const path = (name: string) => join(folder, name);

/** As renewing tools do it: aside, then into its place. */
function put(name: string, text: string): void {
  writeFileSync(path(`.${name}`), text);
  renameSync(path(`.${name}`), path(name));
}

async function writeNode(node: string): Promise<string> {
  const key = createKey();
  const publicKey = createPublicKey(createPrivateKey(key));
  const validity = { now: Date.now(), lifeMs: 3_600_000 };
  const { certificate } = await issueToNode(root, publicKey, { trustDomain, fleet: 'edge', node, uid: node }, validity);
  put(`${node}.key`, key);
  put(`${node}.pem`, certificate);
  return new X509Certificate(certificate).serialNumber;
}

async function writeServer(): Promise<void> {
  const key = createKey();
  const hosts = [{ type: 'ip', value: '127.0.0.1' }] as const;
  const validity = { now: Date.now(), lifeMs: 3_600_000 };
  const { certificate } = await issueToController(
    root,
    createPublicKey(createPrivateKey(key)),
    { trustDomain, hosts },
    validity,
  );
  put('server.key', key);
  put('server.pem', certificate);
}

function startNode(node: string, ...args: readonly string[]): () => string {
  const child = spawn(
    process.execPath,
    [
      ...[executable, 'envoy', '--fleet', 'edge', '--node', node, '--identity', path(`identity-${node}`)],
      ...['--cert', path(`${node}.pem`), '--key', path(`${node}.key`), '--ca', path('ca.pem')],
      ...['--xds', `127.0.0.1:${fairway.xdsPort}`, ...args, '--', '--concurrency', '1', '--log-level', 'warning'],
    ],
    { env: { ...process.env, FAIRWAY_SERVER: fairway.url, TMPDIR: folder }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  return () => output;
}

const since = async (node: string) => (await fairway.call('GET', `/v1/proxies/${node}`)).body.connectedSince;

beforeAll(async () => {
  if (envoyBinary === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'fairway-files-'));
  root = await createRoot(trustDomain, Date.now());
  admin = await freePort();
  put('ca.pem', root.certificate);
  await writeServer();
  const files = { xdsCert: path('server.pem'), xdsKey: path('server.key'), xdsCa: path('ca.pem') };
  fairway = await startFairway({ config: { xdsTls: 'files', ...files } });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
});
afterAll(async () => {
  for (const child of children) child.kill('SIGTERM');
  await until('the end of all', () =>
    children.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null),
  );
  await fairway?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(envoyBinary === undefined)('certificates from elsewhere', () => {
  it('are followed by Envoy and by the server, and nothing is dropped', async () => {
    await writeNode('ext-1');
    const output = startNode('ext-1', '--admin', `127.0.0.1:${admin}`);
    const first = await until('the proxy', () => since('ext-1'), { describe: output });
    const serial = await writeNode('ext-1');
    const certs = async () => (await (await fetch(`http://127.0.0.1:${admin}/certs`)).text()).toUpperCase();
    await until('Envoy to have the next one', async () => (await certs()).includes(serial));
    await writeServer();
    await until('the server to have the next one', () => fairway.logged().includes('"tls_files_replaced"'));
    expect(await since('ext-1')).toBe(first);
    await writeNode('ext-2');
    await until('another one to come by it', () => since('ext-2').then(Boolean), {
      describe: startNode('ext-2', '--admin', '127.0.0.1:0'),
    });
  });

  it('of a controller must be for the name that it is reached by', async () => {
    await writeNode('ext-3');
    const failed = () => fairway.logged().split('"handshake_failed"').length;
    const before = failed();
    const output = startNode('ext-3', '--admin', '127.0.0.1:0', '--controller-name', 'c1.example');
    await until('a handshake to fail', () => failed() > before + 1, { describe: output });
    expect(await since('ext-3')).toBeUndefined();
  });
});
