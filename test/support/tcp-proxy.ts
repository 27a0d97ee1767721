import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between a client and a server of a test: counts bytes, and can be pointed elsewhere. */
export interface TcpProxy {
  readonly port: number;
  /** Bytes from the server to the client since the last `reset`. */
  readonly received: number;
  readonly connections: number;
  reset(): void;
  /** Where new connections go. */
  target(port: number): void;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let target = targetPort;
  let received = 0;
  let connections = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    connections += 1;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    upstream.on('data', (chunk: Buffer) => {
      received += chunk.byteLength;
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get received() {
      return received;
    },
    get connections() {
      return connections;
    },
    reset() {
      received = 0;
      connections = 0;
    },
    target(port) {
      target = port;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
