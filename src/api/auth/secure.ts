import { constants } from 'node:crypto';
import type { Server as HttpServer } from 'node:http';
import type { ServerOptions } from 'node:https';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import { paceHandshakes } from '../../lib/paced-handshakes.ts';
import { type LiveTls, type TlsMaterial, tlsPolicy } from '../../lib/tls-files.ts';

/** TLS of the REST API, with files that may change while it listens. One per API. */
export interface Secure {
  readonly options: ServerOptions;
  /** Follows the files for a server that was made with `options`. */
  follow(server: HttpServer): void;
  /** Whether a connection was verified by the CAs that count now. */
  isCurrent(socket: TLSSocket): boolean;
  close(): void;
}

export function createSecure(files: LiveTls): Secure {
  /** Connections and the CAs that they were verified by. */
  const verifiedBy = new WeakMap<TLSSocket, string | undefined>();
  let stop: () => void = () => undefined;
  return {
    options: {
      ...contextOf(files.current),
      // Whoever has none may still send a token; what was shown is judged at the gate.
      requestCert: files.current.ca !== undefined,
      rejectUnauthorized: false,
    },
    follow(server) {
      if (!(server instanceof TlsServer)) return;
      paceHandshakes(server);
      server.on('secureConnection', (socket: TLSSocket) => verifiedBy.set(socket, files.current.ca));
      stop = files.onChange((material) => {
        server.setSecureContext(contextOf(material));
        // They come back over a connection that the new files have verified.
        server.closeIdleConnections();
      });
    },
    isCurrent: (socket) => verifiedBy.has(socket) && verifiedBy.get(socket) === files.current.ca,
    close: () => stop(),
  };
}

function contextOf({ cert, key, ca }: TlsMaterial) {
  return {
    ...tlsPolicy,
    cert,
    key,
    ...(ca === undefined ? {} : { ca }),
    // A session that is taken up again was verified by the CAs of then.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}
