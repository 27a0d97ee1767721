import { type AddressInfo, createServer, type Server, type ServerOpts, type Socket } from 'node:net';

/** The name of this machine for itself stands for two addresses (RFC 6761 section 6.3); a server listens at one. */
const loopback = { name: 'localhost', first: '127.0.0.1', second: '::1' } as const;

/** What a server is to listen at itself, for a host that {@link openLoopbackTwin} completes. */
export function ownAddressOf(host: string): string {
  return host === loopback.name ? loopback.first : host;
}

/** Of a server that is known by its name on both addresses. */
export interface LoopbackTwin {
  /** Takes no more connections; resolves when the last of them has ended, which is for the server to see to. */
  close(): Promise<void>;
}

/**
 * Completes a server that listens for the host `localhost`: whoever comes by the other address is handed to it as if it
 * had come by its own, so that there is one server, with one certificate, one pace and one list of connections. Where the
 * machine has no such address there is nothing to open. Rejects when somebody else has the port there: clients that try
 * that address first would talk to them.
 */
export async function openLoopbackTwin(server: Server, host: string): Promise<LoopbackTwin> {
  if (host !== loopback.name) return { close: async () => undefined };
  // As the server makes its own connections: HTTP needs to write after the client has said its last.
  const { allowHalfOpen, noDelay } = server as Server & Pick<ServerOpts, 'allowHalfOpen' | 'noDelay'>;
  const twin = createServer({ allowHalfOpen: allowHalfOpen === true, noDelay: noDelay === true });
  twin.on('connection', (socket: Socket) => server.emit('connection', socket));
  const { port } = server.address() as AddressInfo;
  const opened = await new Promise<boolean>((resolve, reject) => {
    twin.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT') resolve(false);
      else reject(error);
    });
    twin.listen(port, loopback.second, () => resolve(true));
  });
  return {
    close: () => (opened ? new Promise((resolve) => twin.close(() => resolve())) : Promise.resolve()),
  };
}
