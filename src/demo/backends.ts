import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import type { NeededBackend } from './examples.ts';

/** Header in which a backend says who it is. */
export const backendHeader = 'x-backend';

export interface Backend {
  readonly name: string;
  readonly port: number;
  readonly protocol: NeededBackend['protocol'];
  close(): Promise<void>;
}

/** Where backends listen unless told otherwise: they answer anybody. */
const loopback = '127.0.0.1';

/** An HTTP server that answers every request with its name and what it was asked, or a TCP server that echoes. */
export async function startBackend(
  name: string,
  { port, protocol }: NeededBackend,
  host: string = loopback,
): Promise<Backend> {
  const server = protocol === 'HTTP' ? httpBackend(name) : createTcpServer(echo);
  // Connections of Envoy stay open between requests; to close means to end them.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  return {
    name,
    port,
    protocol,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function httpBackend(name: string) {
  return createHttpServer({ keepAliveTimeout: 0 }, (request, response) => {
    const { method, url, headers } = request;
    response.setHeader(backendHeader, name);
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.end(`${name}: ${method} ${url} for ${headers.host}\n`);
    request.resume();
  });
}

function echo(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.pipe(socket);
}

/** Starts what the examples need. HTTP servers are named `backend-1`, `backend-2`, … in the order of their ports. */
export async function startBackends(needed: readonly NeededBackend[], host?: string): Promise<Backend[]> {
  let count = 0;
  const named = needed.map((one) => ({ one, name: one.protocol === 'HTTP' ? `backend-${++count}` : 'echo' }));
  const started: Backend[] = [];
  try {
    for (const { one, name } of named) started.push(await startBackend(name, one, host));
    return started;
  } catch (error) {
    await Promise.all(started.map((backend) => backend.close()));
    throw error;
  }
}
