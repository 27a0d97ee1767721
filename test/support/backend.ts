import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';

/** An HTTP server behind a pool, which says who it is and what it was asked. */
export interface Backend {
  readonly name: string;
  readonly port: number;
  /** Requests that came in. */
  readonly requests: readonly IncomingMessage[];
  close(): Promise<void>;
}

export async function startBackend(name: string): Promise<Backend> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.setHeader('x-backend', name);
    response.end(`${name} ${request.method} ${request.url} host=${request.headers.host}`);
  });
  return { name, requests, ...(await listen(server)) };
}

/** A TCP server that sends back what it gets. */
export async function startEcho(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  const { port, close } = await listen(server);
  return {
    port,
    close() {
      for (const socket of sockets) socket.destroy();
      return close();
    },
  };
}

async function listen(server: Server | TcpServer): Promise<{ port: number; close(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        if ('closeAllConnections' in server) server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
