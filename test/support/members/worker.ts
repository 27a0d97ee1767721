/** The thread behind `startMembers`. */
import { createServer as createHttp1, type Server as HttpServer } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { parentPort } from 'node:worker_threads';
import type { MemberKind, MemberOrder } from './index.ts';

const servers = new Map<number, Server>();

function echo(socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  socket.pipe(socket);
}

function create(kind: MemberKind): Server {
  if (kind === 'tcp') return createTcp(echo);
  if (kind === 'http2') {
    return createHttp2((_request, response) => {
      response.end('here');
    }) as unknown as Server;
  }
  const server = createHttp1({ keepAliveTimeout: 0 }, (_request, response) => {
    response.end('here');
  });
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    echo(socket);
  });
  return server;
}

async function start(kind: MemberKind): Promise<number> {
  const server = create(kind);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  servers.set(port, server);
  return port;
}

function stop(port: number): void {
  const server = servers.get(port);
  servers.delete(port);
  server?.close();
  (server as HttpServer | undefined)?.closeIdleConnections?.();
}

async function carryOut(order: MemberOrder): Promise<readonly number[]> {
  if ('start' in order) return Promise.all(Array.from({ length: order.count }, () => start(order.start)));
  for (const port of order.stop) stop(port);
  return [];
}

let last: Promise<unknown> = Promise.resolve();
parentPort?.on('message', (order: MemberOrder) => {
  last = last.then(async () => parentPort?.postMessage(await carryOut(order)));
});
