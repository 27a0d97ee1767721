/** Mutual TLS of the server: what is never up to those who configure it. */
import { constants } from 'node:crypto';
import type { SecureServerOptions } from 'node:http2';
import { listsIn, type TlsMaterial, tlsPolicy } from '../../lib/tls-files.ts';

/** A client that has not finished its handshake by then is holding a place. */
const handshakeTimeoutMs = 10_000;

export const serverTlsOptions = {
  ALPNProtocols: ['h2'],
  requestCert: true,
  rejectUnauthorized: true,
  handshakeTimeout: handshakeTimeoutMs,
} as const satisfies SecureServerOptions;

export function contextOf({ cert, key, ca, crl }: TlsMaterial) {
  return {
    ...tlsPolicy,
    cert,
    key,
    // Without any, those that the machine trusts would count.
    ca: ca ?? [],
    ...(crl === undefined ? {} : { crl: listsIn(crl) }),
    honorCipherOrder: true,
    // A resumed session is not checked again: it would outlive its certificate, and the CA that signed it.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  } as const satisfies SecureServerOptions;
}
