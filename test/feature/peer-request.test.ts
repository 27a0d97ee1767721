import type { X509Certificate } from 'node:crypto';
import { createServer, type Server as TcpServer } from 'node:net';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serverDefaults } from '../../src/config/index.ts';
import { type Server, startServer } from '../../src/server/index.ts';
import { postToPeer } from '../../src/server/peer-request.ts';
import { createLogger } from '../../src/telemetry/log.ts';

// How one controller reaches another: over TLS to the very certificate that the other has told of, in plain text to none.

let server: Server;
let shown: string;
let dead: TcpServer;
let deadPort: number;

beforeAll(async () => {
  const any = '127.0.0.1:0';
  server = await startServer({
    config: { ...serverDefaults, store: 'memory', listen: any, xdsListen: any, xdsTls: 'own', tlsOwn: true },
    log: createLogger({ level: 'silent' }),
  });
  shown = await certificateAt(server.address);
  dead = createServer(() => undefined);
  await new Promise<void>((resolve) => dead.listen(0, '127.0.0.1', resolve));
  deadPort = (dead.address() as { port: number }).port;
});
afterAll(async () => {
  await server?.close();
  dead?.close();
});

function certificateAt(address: string): Promise<string> {
  const [host = '', port] = address.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve((socket.getPeerX509Certificate() as X509Certificate).fingerprint256);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

const post = { path: '/v1/peer', authorization: 'Controller AAAA', body: Buffer.from('{}') };
const soon = () => AbortSignal.timeout(5_000);

it('reaches the controller that shows what it has told of', async () => {
  const reply = await postToPeer({ address: server.address, certificate: shown }, post, soon());
  // Nobody is answered who is not a controller of its cluster.
  expect(reply.status).toBe(401);
  expect(JSON.parse(Buffer.concat(reply.chunks).toString())).toMatchObject({ code: 'Unauthenticated' });
});

it('tells nothing to one that shows another certificate, or none', async () => {
  const other = shown.replace(/^../, shown.startsWith('00') ? '01' : '00');
  await expect(postToPeer({ address: server.address, certificate: other }, post, soon())).rejects.toThrow(
    'it shows another certificate',
  );
  await expect(postToPeer({ address: server.address, certificate: undefined }, post, soon())).rejects.toThrow();
});

it.each([
  ['in a handshake', () => shown],
  ['in plain text', () => undefined],
])('does not wait for one that is silent %s', async (_where, certificate) => {
  const peer = { address: `127.0.0.1:${deadPort}`, certificate: certificate() };
  await expect(postToPeer(peer, post, AbortSignal.timeout(50))).rejects.toMatchObject({
    name: expect.stringMatching(/^(TimeoutError|AbortError)$/),
  });
});
