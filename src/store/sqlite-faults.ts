import { FairwayError } from '../lib/errors.ts';

const sqliteCorrupt = 11;
const sqliteFull = 13;
const sqliteNotADatabase = 26;

/** Primary result codes of SQLite (https://sqlite.org/rescode.html) that say what may pass by itself. */
const unavailableBecause = new Map<number, string>([
  [3, 'the database may not be accessed'], // SQLITE_PERM
  [5, 'the data folder is in use by another process'], // SQLITE_BUSY
  [6, 'the data folder is in use by another process'], // SQLITE_LOCKED
  [7, 'there is not enough memory'], // SQLITE_NOMEM
  [8, 'the database may only be read'], // SQLITE_READONLY
  [10, 'the disk reports an error'], // SQLITE_IOERR
  [sqliteFull, 'the disk is full'],
  [14, 'the database cannot be opened'], // SQLITE_CANTOPEN
]);

/**
 * What an error of SQLite means for who asked: `StoreUnavailable` for what may pass (no room, no access), `Internal`
 * for damaged data. Throws on what is neither: that is a bug of ours.
 */
export function storeError(error: unknown, doing: string): FairwayError {
  if (error instanceof FairwayError) return error;
  const code = primaryCode(error);
  if (code === sqliteCorrupt || code === sqliteNotADatabase) return damagedError(doing, error);
  const because = code === undefined ? undefined : unavailableBecause.get(code);
  if (because === undefined) throw error;
  return new FairwayError('StoreUnavailable', `${doing}: ${because}`, { cause: error });
}

/** Whether there is no room left, on the disk or under the size limit of the database. */
export function isDiskFull(error: unknown): boolean {
  return primaryCode(error) === sqliteFull;
}

export function damagedError(doing: string, cause: unknown): FairwayError {
  return new FairwayError('Internal', `${doing}: the database is damaged; restore it from a backup`, { cause });
}

/** `errcode` is the extended code; its lowest byte is the primary one. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}
