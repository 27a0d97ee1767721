import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { FairwayError } from '../lib/errors.ts';
import type { Logger } from '../telemetry/log.ts';
import type { LiveCredentials, Material } from './material.ts';
import { createRevocation } from './revocation.ts';

/** Paths of PEM files. */
export interface CredentialFiles {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
  readonly crl?: string | undefined;
}

export interface FileCredentials extends LiveCredentials {
  /** Whether the revocation lists have a certificate now. */
  isRevoked(certificate: X509Certificate): boolean;
}

/**
 * Files are looked at this often, by their content: renewing tools write in place, rename, or turn a symbolic link, and
 * watching sees only some of it.
 */
const lookMs = 2_000;

/**
 * Credentials that others keep in files. What is there at the start must be good; later, what does not fit together (one
 * file was written before the other) leaves the former in use until it does.
 */
export async function openFileCredentials(
  files: CredentialFiles,
  { log, everyMs = lookMs }: { readonly log: Logger; readonly everyMs?: number },
): Promise<FileCredentials> {
  const listeners = new Set<() => void>();
  let material = await read(files);
  let revocation = material.crl === undefined ? undefined : createRevocation(material.crl);
  let faultTold: string | undefined;
  let looking: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    try {
      const next = await read(files);
      faultTold = undefined;
      if (isSame(material, next)) return;
      material = next;
      revocation = next.crl === undefined ? undefined : createRevocation(next.crl);
      log.info({ event: 'credentials_replaced', notAfter: new X509Certificate(next.certificate).validToDate });
      for (const listener of listeners) listener();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      if (faultTold !== words) log.error({ event: 'credentials_not_usable', words });
      faultTold = words;
    }
  }

  const timer = setInterval(() => {
    looking = looking.then(look);
  }, everyMs);
  timer.unref();
  return {
    current: () => material,
    isRevoked: (certificate) => revocation?.(certificate) === true,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}

async function read(files: CredentialFiles): Promise<Material> {
  const [certificate, key, ca, crl] = await Promise.all([
    text('certificate', files.certificate),
    text('key', files.key),
    text('CA', files.ca),
    files.crl === undefined ? undefined : text('revocation list', files.crl),
  ]);
  const material = { certificate, key, ca, ...(crl === undefined ? {} : { crl }) };
  assertUsable(material);
  return material;
}

async function text(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code = 'error' } = cause as NodeJS.ErrnoException;
    throw new FairwayError('InvalidParameter', `reading the file of the ${what}: ${code}`, { cause });
  }
}

function assertUsable({ certificate, key, ca, crl }: Material): void {
  try {
    const fits = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    if (!fits) throw new FairwayError('InvalidParameter', 'reading TLS files: the key is not that of the certificate');
    new X509Certificate(ca);
    if (crl !== undefined) createRevocation(crl);
    createSecureContext({ cert: certificate, key, ca, ...(crl === undefined ? {} : { crl }) });
  } catch (cause) {
    if (cause instanceof FairwayError) throw cause;
    throw new FairwayError('InvalidParameter', 'reading TLS files: one of them is no PEM of its sort', { cause });
  }
}

function isSame(a: Material, b: Material): boolean {
  return a.certificate === b.certificate && a.key === b.key && a.ca === b.ca && a.crl === b.crl;
}
