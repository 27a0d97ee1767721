import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { FairwayError } from './errors.ts';

/** PEM files that a server proves itself with. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  /** CAs whose client certificates are believed; absent: none. */
  readonly ca?: string | undefined;
}

export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

/** The content of the files as it is in force. One per listener. */
export interface TlsFiles {
  readonly current: TlsMaterial;
  /** Calls back when the content has changed and can be used; gives the function that ends it. */
  onChange(listener: (material: TlsMaterial) => void): () => void;
  close(): void;
}

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

/**
 * Reads the files, and reads them again and again: they are small, and watching them misses what is mounted or linked
 * anew. Content that changes is used once certificate and key fit, so that it does not matter which of the two is
 * written first. Throws `Internal` when it cannot be used from the start.
 */
export async function openTlsFiles({ paths, onFault, everyMs = 1000 }: TlsFilesOptions): Promise<TlsFiles> {
  let current = await read(paths);
  check(current);
  const listeners = new Set<(material: TlsMaterial) => void>();
  /** What was told as a fault last, so that it is not told each second. */
  let fault = '';
  let closed = false;
  let timer = setTimeout(look, everyMs);
  timer.unref();

  async function look(): Promise<void> {
    try {
      const next = await read(paths);
      if (!same(next, current)) {
        check(next);
        current = next;
        for (const listener of listeners) listener(next);
      }
      fault = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== fault) onFault(error as Error);
      fault = message;
    }
    if (closed) return;
    timer = setTimeout(look, everyMs);
    timer.unref();
  }

  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

async function read({ cert, key, ca }: TlsPaths): Promise<TlsMaterial> {
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
  };
}

/** OpenSSL's words name what is wrong and hold nothing of the content. */
function check({ cert, key, ca }: TlsMaterial): void {
  try {
    createSecureContext({ ...tlsPolicy, cert, key, ...(ca === undefined ? {} : { ca }) });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : '';
    throw new FairwayError('Internal', `reading the files for TLS: they cannot be used together: ${reason}`, { cause });
  }
}

function same(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}
