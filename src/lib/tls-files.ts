import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { FairwayError } from './errors.ts';
import { type Followed, followFiles } from './followed.ts';
import { readPem } from './pem.ts';

/** PEM files that a server proves itself with. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  /** CAs whose client certificates are believed; absent: none. */
  readonly ca?: string | undefined;
  /** Their revocation lists. */
  readonly crl?: string | undefined;
}

/** PEM texts. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
  /** One list of each of these CAs, or none at all. */
  readonly crl?: string | undefined;
}

/** What a listener proves itself with, while it may change. */
export interface LiveTls {
  readonly current: TlsMaterial;
  /** Calls back when it has changed; gives the function that ends it. */
  onChange(listener: (material: TlsMaterial) => void): () => void;
}

/** The content of files as it is in force. One per listener. */
export type TlsFiles = Followed<TlsMaterial>;

export interface TlsFilesOptions {
  readonly paths: TlsPaths;
  /** Told of content that cannot be used, once: what was in force stays so. */
  readonly onFault: (error: Error) => void;
  readonly everyMs?: number;
}

/**
 * What every listener with TLS keeps to: TLS 1.2 with forward secrecy and authenticated encryption, or 1.3 (RFC 9325
 * sections 3.1.1 and 4.2).
 */
export const tlsPolicy = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
} as const satisfies SecureContextOptions;

/** Follows the files; certificate and key must fit. Throws `Internal` when they cannot be used from the start. */
export function openTlsFiles({ paths, onFault, everyMs }: TlsFilesOptions): Promise<TlsFiles> {
  return followFiles({ read: () => read(paths), isSame: same, check, onFault, everyMs });
}

/** The lists in a text, of which Node would read the first alone. */
export function listsIn(crl: string): string[] {
  const blocks = readPem(crl);
  if (!blocks.ok) throw new FairwayError('Internal', `reading revocation lists: ${blocks.error}`);
  return blocks.value.map(({ text }) => text);
}

async function read({ cert, key, ca, crl }: TlsPaths): Promise<TlsMaterial> {
  const text = async (path: string, what: string): Promise<string> => {
    try {
      return await readFile(path, 'utf8');
    } catch (cause) {
      const { code = 'unknown' } = cause as NodeJS.ErrnoException;
      throw new FairwayError('Internal', `reading the ${what} for TLS: it cannot be read (${code})`, { cause });
    }
  };
  return {
    cert: await text(cert, 'certificate'),
    key: await text(key, 'private key'),
    ca: ca === undefined ? undefined : await text(ca, 'CAs of clients'),
    crl: crl === undefined ? undefined : await text(crl, 'revocation lists'),
  };
}

/** OpenSSL's words name what is wrong and hold nothing of the content. */
function check({ cert, key, ca, crl }: TlsMaterial): void {
  try {
    // OpenSSL passes over what is no certificate.
    if (ca !== undefined) new X509Certificate(ca);
    createSecureContext({
      ...tlsPolicy,
      cert,
      key,
      ...(ca === undefined ? {} : { ca }),
      ...(crl === undefined ? {} : { crl: listsIn(crl) }),
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : '';
    throw new FairwayError('Internal', `reading the files for TLS: they cannot be used together: ${reason}`, { cause });
  }
}

function same(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca && a.crl === b.crl;
}
