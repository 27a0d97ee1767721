/** How the server speaks TLS: what is never up to those who configure it, and what may change while it runs. */
import { constants } from 'node:crypto';
import type { SecureServerOptions } from 'node:http2';
import { readPem } from '../../lib/pem.ts';

/** PEM texts. */
export interface TlsMaterial {
  /** The server's certificate, with what stands between it and a root of its clients. */
  readonly certificate: string;
  readonly key: string;
  /** Whose signatures on certificates of clients count; several while one takes the place of another. */
  readonly ca: string;
  /** Revocation lists: one of each of these CAs, or of none. */
  readonly crl?: string;
}

/** Material that is replaced while the server runs: new connections use the newest, open ones go on. */
export interface Credentials {
  current(): TlsMaterial;
  /** Calls back when there are others; gives the function that ends it. */
  onChange(listener: () => void): () => void;
}

/** A client that has not finished its handshake by then is holding a place. */
const handshakeTimeoutMs = 10_000;

export const serverTlsOptions = {
  ALPNProtocols: ['h2'],
  requestCert: true,
  rejectUnauthorized: true,
  handshakeTimeout: handshakeTimeoutMs,
} as const satisfies SecureServerOptions;

/** Forward secrecy and authenticated encryption only, in TLS 1.2 as in 1.3. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

function listsIn(crl: string): string[] {
  const blocks = readPem(crl);
  return blocks.ok ? blocks.value.map(({ text }) => text) : [];
}

export function contextOf({ certificate, key, ca, crl }: TlsMaterial) {
  return {
    cert: certificate,
    key,
    ca,
    // Of a text with several lists Node reads the first alone.
    ...(crl === undefined ? {} : { crl: listsIn(crl) }),
    minVersion: 'TLSv1.2',
    ciphers,
    honorCipherOrder: true,
    // A resumed session is not checked again: it would outlive its certificate, and the CA that signed it.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  } as const satisfies SecureServerOptions;
}
