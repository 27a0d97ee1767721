import { readFile, stat } from 'node:fs/promises';
import { FairwayError } from '../lib/errors.ts';
import { followFiles } from '../lib/followed.ts';
import type { Logger } from '../telemetry/log.ts';
import { type ExternalSigner, readSigner, type SignerTexts } from './signer.ts';

/** Paths of PEM files, by the fields of the configuration that name them. */
export interface SignerPaths {
  readonly caCert: string;
  readonly caKey: string;
  /** Empty: `caCert` ends with its root. */
  readonly caRoot: string;
}

/** The CA in the files, as it is in force. Its key is in the memory of this process, and nowhere else. */
export interface SignerFiles {
  readonly current: ExternalSigner;
  onChange(listener: () => void): () => void;
  close(): void;
}

export interface SignerFilesOptions {
  readonly paths: SignerPaths;
  readonly now: () => number;
  readonly log: Logger;
  readonly everyMs?: number;
}

/** Throws `Internal` with the fields and what is wrong with them, when there is no CA to begin with. */
export async function openSignerFiles({ paths, now, log, everyMs }: SignerFilesOptions): Promise<SignerFiles> {
  let signer: ExternalSigner | undefined;
  const files = await followFiles({
    read: () => readTexts(paths),
    isSame: (a, b) => a.cert === b.cert && a.key === b.key && a.root === b.root,
    check(texts) {
      const read = readSigner(texts, now());
      if (!read.ok) {
        throw fault(read.error.map(({ pointer, message }) => `${pointer}: ${message}`).join('; '));
      }
      signer = read.value;
    },
    onFault: (error) => log.error({ event: 'ca_files_unusable', err: error }),
    everyMs,
  });
  return {
    get current() {
      // The first check has set it.
      return signer as ExternalSigner;
    },
    onChange: (listener) =>
      files.onChange(() => {
        log.info({ event: 'ca_files_replaced' });
        listener();
      }),
    close: () => files.close(),
  };
}

async function readTexts({ caCert, caKey, caRoot }: SignerPaths): Promise<SignerTexts> {
  const text = async (path: string, field: keyof SignerPaths): Promise<string> => {
    try {
      return await readFile(path, 'utf8');
    } catch (cause) {
      throw unreadable(field, cause);
    }
  };
  const { mode } = await stat(caKey).catch((cause: unknown) => {
    throw unreadable('caKey', cause);
  });
  if ((mode & 0o077) !== 0) {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    throw fault(`caKey: others may read the file (its mode is ${octal}): chmod 600`);
  }
  return {
    cert: await text(caCert, 'caCert'),
    key: await text(caKey, 'caKey'),
    root: caRoot === '' ? undefined : await text(caRoot, 'caRoot'),
  };
}

function unreadable(field: keyof SignerPaths, cause: unknown): FairwayError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  return fault(`${field}: the file cannot be read (${code})`, cause);
}

function fault(words: string, cause?: unknown): FairwayError {
  return new FairwayError('Internal', `reading the CA that signs: ${words}`, cause === undefined ? {} : { cause });
}
