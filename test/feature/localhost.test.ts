import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverDefaults } from '../../src/config/index.ts';
import { type Server, startServer } from '../../src/server/index.ts';
import { createMemoryStore } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createTestAuthority, type TestAuthority } from '../support/test-authority.ts';
import { until } from '../support/until.ts';

// Doors at the name of this machine: both of its addresses lead to one server, whatever changes while it runs.

const addresses = ['127.0.0.1', '::1'] as const;
const hasBoth = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

let folder: string;
let authority: TestAuthority;
let clients: TestAuthority;
let server: Server;

const path = (name: string) => join(folder, name);
const portOf = (address: string) => Number(address.split(':').at(-1));
const config = (listen: string) => ({
  ...serverDefaults,
  store: 'memory' as const,
  listen,
  xdsListen: 'localhost:0',
  xdsTls: 'files' as const,
  authentication: 'required' as const,
  xdsCert: path('server.pem'),
  xdsKey: path('server.key'),
  xdsCa: path('clients.pem'),
  tlsCert: path('server.pem'),
  tlsKey: path('server.key'),
  tlsClientCa: path('clients.pem'),
});
const start = (listen: string) =>
  startServer({ config: config(listen), store: createMemoryStore(), log: createLogger({ level: 'silent' }) });

async function renew(subject: string): Promise<void> {
  const { cert, key } = await authority.issue(subject);
  writeFileSync(path('server.key'), key);
  writeFileSync(path('server.pem'), cert);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-localhost-'));
  [authority, clients] = [await createTestAuthority('servers'), await createTestAuthority('clients')];
  writeFileSync(path('clients.pem'), clients.ca);
  await renew('CN=first');
  server = await start('localhost:0');
});
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Common name of what is shown at an address. */
async function shown(host: string, port: number): Promise<string> {
  const own = await clients.issue('CN=ada');
  const socket = await new Promise<TLSSocket>((resolve, reject) => {
    const options = { host, port, ca: authority.ca, ...own, ALPNProtocols: ['h2', 'http/1.1'] };
    const connecting = connect({ ...options, checkServerIdentity: () => undefined }, () => resolve(connecting));
    connecting.once('error', reject);
  });
  const certificate = socket.getPeerX509Certificate();
  socket.destroy();
  return new X509Certificate(certificate?.raw ?? '').subject;
}

async function whoami(host: string): Promise<{ status: number; text: string }> {
  const own = await clients.issue('CN=ada');
  return new Promise((resolve, reject) => {
    const options = { host, port: portOf(server.address), path: '/v1/whoami', ca: authority.ca, ...own, agent: false };
    const sent = request({ ...options, checkServerIdentity: () => undefined }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe.skipIf(!hasBoth)('localhost', () => {
  it('shows a certificate that was changed by either address, at both doors', async () => {
    const ports = [portOf(server.address), portOf(server.xdsAddress)];
    for (const [i, name] of ['first', 'second', 'third'].entries()) {
      if (i > 0) await renew(`CN=${name}`);
      for (const port of ports) {
        for (const host of addresses) {
          await until(`${name} at ${host}:${port}`, async () => (await shown(host, port)) === `CN=${name}`);
        }
      }
    }
  });

  it('knows a client by its certificate, whichever way it comes', async () => {
    for (const host of addresses) {
      expect(await whoami(host)).toMatchObject({ status: 200, text: expect.stringContaining('"ada"') });
    }
  });

  it('takes no port that somebody else has at one of them', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '::1', () => resolve((other.address() as { port: number }).port));
    });
    try {
      await expect(start(`localhost:${port}`)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    } finally {
      other.close();
    }
  });

  it('closes both', async () => {
    const ports = [portOf(server.address), portOf(server.xdsAddress)];
    await server.close();
    for (const port of ports) {
      for (const host of addresses) await expect(shown(host, port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
  });
});
