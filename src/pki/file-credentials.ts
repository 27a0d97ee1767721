import type { X509Certificate } from 'node:crypto';
import { type LiveTls, openTlsFiles, type TlsPaths } from '../lib/tls-files.ts';
import type { Logger } from '../telemetry/log.ts';
import { createRevocation } from './revocation.ts';

/** Credentials that others keep in files, and take back by lists in a file. */
export interface FileCredentials extends LiveTls {
  /** Whether the revocation lists have a certificate now. */
  isRevoked(certificate: X509Certificate): boolean;
  close(): void;
}

export async function openFileCredentials(
  paths: TlsPaths,
  { log, everyMs }: { readonly log: Logger; readonly everyMs?: number },
): Promise<FileCredentials> {
  const files = await openTlsFiles({
    paths,
    onFault: (error) => log.error({ event: 'tls_files_unusable', err: error }),
    ...(everyMs === undefined ? {} : { everyMs }),
  });
  let revocation = revocationOf(files.current.crl);
  const stop = files.onChange(({ crl }) => {
    revocation = revocationOf(crl);
    log.info({ event: 'tls_files_replaced' });
  });
  return {
    get current() {
      return files.current;
    },
    onChange: (listener) => files.onChange(listener),
    isRevoked: (certificate) => revocation?.(certificate) === true,
    close() {
      stop();
      files.close();
    },
  };
}

function revocationOf(crl: string | undefined): ReturnType<typeof createRevocation> | undefined {
  return crl === undefined ? undefined : createRevocation(crl);
}
