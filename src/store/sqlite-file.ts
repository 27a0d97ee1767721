import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FairwayError } from '../lib/errors.ts';
import { damagedError, storeError } from './sqlite-faults.ts';

const opening = 'opening the store';

/** Marks a database file as ours (`PRAGMA application_id`): "FWAY". */
const applicationId = 0x46574159;

/** Grows with every change of the tables below; a database of a newer version is refused. */
const schemaVersion = 1;

/**
 * A rowid table with an index on the key rather than WITHOUT ROWID: values are a kilobyte and more, and in a
 * WITHOUT ROWID table those spill over into pages of their own. `key` has SQLite's BINARY order, which for UTF-8 is
 * the order of keys.ts.
 *
 * A row of `changes` is one commit. `bytes` stands before `body` so that adding it up reads no overflow pages.
 */
const schema = `
  CREATE TABLE entries (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL,
    createRevision INTEGER NOT NULL,
    modRevision INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE changes (
    revision INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
`;

/** A supervisor may start us while the kernel still takes down our predecessor: wait a little for its lock. */
const lockWaitMs = 500;

const pageBytes = 4096;

export const databaseFileName = 'fairway.db';

/**
 * Opens the database in `folder`, making both when they are not there, and holds its lock until it is closed: SQLite's
 * own, on the file, which the kernel gives back however the process ends.
 *
 * Throws `FairwayError` `StoreUnavailable` (in use, no access, no room) or `Internal` (damaged, not ours, newer than
 * this program).
 */
export function openDatabaseFile(folder: string, maxSizeBytes: number | undefined): DatabaseSync {
  const file = join(folder, databaseFileName);
  prepareFiles(folder, file);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: lockWaitMs });
    // Before anything is read: with this mode the first reader of a WAL database takes it for itself alone, and the
    // WAL index is kept in memory instead of in a -shm file.
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    setUpSchema(db);
    setUpPragmas(db, maxSizeBytes);
    checkContent(db);
    return db;
  } catch (error) {
    db?.close();
    throw storeError(error, opening);
  }
}

/**
 * The file is made here and not by SQLite, so that it is never readable by others; -wal gets its mode from it. An
 * existing file is not even opened: closing any descriptor of it would drop the lock that another store of this
 * process may hold (fcntl(2), "Record locking").
 */
function prepareFiles(folder: string, file: string): void {
  try {
    const firstMade = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (existsSync(file)) {
      for (const existing of [file, `${file}-wal`, `${file}-shm`].filter((path) => existsSync(path))) {
        chmodSync(existing, 0o600);
      }
    } else {
      closeSync(openSync(file, 'wx', 0o600));
      syncFolder(folder);
    }
    if (firstMade !== undefined) syncFolder(dirname(firstMade));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new FairwayError('StoreUnavailable', `${opening}: the data folder cannot be used${code}`, { cause: error });
  }
}

/** SQLite syncs what is in its files; that the file itself is in the folder is ours to make durable. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function setUpSchema(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    const tables = pragma(db, 'SELECT count(*) AS value FROM sqlite_schema');
    const owner = pragma(db, 'SELECT application_id AS value FROM pragma_application_id');
    const version = pragma(db, 'SELECT user_version AS value FROM pragma_user_version');
    if (tables === 0 && owner === 0) {
      db.exec(schema);
      db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}`);
    } else if (owner !== applicationId) {
      throw new FairwayError('Internal', `${opening}: ${databaseFileName} is a database of another program`);
    } else if (version > schemaVersion) {
      throw new FairwayError(
        'Internal',
        `${opening}: the database has schema version ${version}, this program knows ${schemaVersion}; ` +
          'run the newer program that wrote it',
      );
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function setUpPragmas(db: DatabaseSync, maxSizeBytes: number | undefined): void {
  db.exec('PRAGMA journal_mode = WAL');
  // FULL: a commit is on the disk before it is acknowledged (NORMAL syncs a WAL only at checkpoints).
  db.exec('PRAGMA synchronous = FULL');
  // After a burst the WAL file shrinks back to this instead of keeping its largest size.
  db.exec('PRAGMA journal_size_limit = 8388608');
  if (maxSizeBytes !== undefined)
    db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxSizeBytes / pageBytes))}`);
}

/** Every page is read once, so that damage is found before anything is served or written (100 MB: some 0.2 s). */
function checkContent(db: DatabaseSync): void {
  const row = db.prepare('PRAGMA quick_check(1)').get();
  if (row?.['quick_check'] !== 'ok') throw damagedError(opening, row?.['quick_check']);
}

function pragma(db: DatabaseSync, query: string): number {
  return db.prepare(query).get()?.['value'] as number;
}
