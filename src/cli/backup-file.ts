import { createReadStream } from 'node:fs';
import { type BackupHeader, readBackup } from '../lib/backup.ts';
import { FairwayError } from '../lib/errors.ts';
import { CliError, exitCodes } from './failure.ts';

export const backupMediaType = 'application/x-ndjson';

export interface CheckedBackup {
  readonly header: BackupHeader;
  readonly entries: number;
}

/** Reads a backup to its end. Fails with exit code 2 when it is not one, or not whole. */
export async function checkBackup(chunks: AsyncIterable<Uint8Array>, name: string): Promise<CheckedBackup> {
  try {
    const { header, entries: all } = await readBackup(chunks);
    let entries = 0;
    for await (const _ of all) entries += 1;
    return { header, entries };
  } catch (error) {
    if (error instanceof FairwayError && error.code === 'InvalidBackup') {
      throw new CliError(exitCodes.usage, `${name}: ${error.message}`, { cause: error });
    }
    throw fileFault(error, name);
  }
}

/** The bytes of a file; it is opened when they are asked for. */
export function bytesOf(file: string): AsyncIterable<Uint8Array> {
  return createReadStream(file);
}

/** What the system says of a file, in words; any other error as it is. */
export function fileFault(error: unknown, name: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof CliError || typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return error;
  const words = fileFaults[code] ?? code;
  return new CliError(exitCodes.usage, `${name}: ${words}`, { cause: error });
}

const fileFaults: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be opened',
  EISDIR: 'it is a folder',
  ENOSPC: 'there is no room left',
};
