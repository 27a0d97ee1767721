import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { evaluate, type KeySpace } from './evaluate.ts';
import { prefixEnd } from './keys.ts';
import { type LogBounds, sizeOf } from './log.ts';
import { isDiskFull, storeError } from './sqlite-faults.ts';
import { openDatabaseFile } from './sqlite-file.ts';
import type { ChangesResult, CommitResult, WorkerOptions } from './sqlite-protocol.ts';
import type { Entry, Revision, Transaction, WatchEvent } from './store.ts';

/** Size of one page of a list or of the log: what a thread clones and takes apart in a millisecond or two. */
const pageBytes = 512 * 1024;
const pageItems = 1000;

/** The log is pruned when it is over its bounds by this share of them, so that not every commit has to delete. */
const pruneSlack = 1 / 16;

const committing = 'committing a transaction';

/** The place in the log that a failed SQLite transaction goes back to. */
interface LogState {
  readonly head: Revision;
  /** Commits up to this one are pruned. */
  readonly floor: Revision;
  /** Sum of `changes.bytes`. */
  readonly bytes: number;
}

/**
 * The tables and what is done with them, synchronously; lives in the worker thread, one per store. Every method throws
 * `FairwayError` as sqlite-faults.ts says.
 */
export class SqliteDatabase {
  readonly #db: DatabaseSync;
  readonly #retain: LogBounds;
  readonly #statements: Statements;
  readonly #space: KeySpace;
  #log: LogState;

  constructor(options: WorkerOptions) {
    this.#db = openDatabaseFile(options.folder, options.maxSizeBytes);
    this.#retain = options.retain;
    this.#statements = prepareStatements(this.#db);
    this.#space = {
      entry: (key) => this.get(key),
      revisions: (key) =>
        this.#statements.revisions.get(key) as Pick<Entry, 'createRevision' | 'modRevision'> | undefined,
    };
    this.#log = this.#statements.logState.get() as unknown as LogState;
  }

  get head(): Revision {
    return this.#log.head;
  }

  /**
   * Group commit: all transactions in one SQLite transaction, with one fsync, each with a revision and an outcome of
   * its own. If that fails (one that is too big for the room left takes all others with it), each is tried alone.
   */
  commit(transactions: readonly Transaction[]): CommitResult[] {
    try {
      return this.#commitTogether(transactions);
    } catch (error) {
      if (isDiskFull(error)) this.#makeRoom();
      return transactions.map((transaction) => this.#commitAlone(transaction));
    }
  }

  get(key: string): Entry | undefined {
    return attempt('reading an entry', () => this.#statements.entry.get(key) as Entry | undefined);
  }

  /** All entries with the prefix as of the present revision, cut into pages; at least one page, maybe empty. */
  list(prefix: string): Entry[][] {
    return attempt('listing', () => {
      const end = prefixEnd(prefix);
      const { range, rangeToEnd } = this.#statements;
      const rows = end === undefined ? rangeToEnd.iterate(prefix) : range.iterate(prefix, end);
      let page: Entry[] = [];
      const pages = [page];
      let bytes = 0;
      for (const row of rows) {
        const entry = row as unknown as Entry;
        if (page.length >= pageItems || bytes >= pageBytes) {
          page = [];
          pages.push(page);
          bytes = 0;
        }
        page.push(entry);
        bytes += entry.key.length + entry.value.length;
      }
      return pages;
    });
  }

  /** The next commits after `after`, at least one if there is any, at most a page of them. */
  changes(after: Revision): ChangesResult {
    if (after < this.#log.floor) return { kind: 'compacted', floor: this.#log.floor };
    return attempt('reading the change log', () => {
      const events: WatchEvent[] = [];
      let bytes = 0;
      for (const row of this.#statements.changesAfter.iterate(after, pageItems)) {
        events.push(decodeChange(row['revision'] as Revision, row['body'] as string));
        bytes += row['bytes'] as number;
        if (bytes >= pageBytes) break;
      }
      return { kind: 'changes', events };
    });
  }

  /**
   * Drops all commits but the newest. `disk`: the database is written anew without the pages that they left, and the WAL
   * is cut to nothing.
   */
  compact(depth: 'log' | 'disk'): void {
    attempt('compacting', () => {
      const { head, floor } = this.#log;
      if (floor < head - 1) this.#statements.dropChanges.run(head - 1);
      this.#log = this.#statements.logState.get() as unknown as LogState;
      if (depth === 'disk') this.#db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    });
  }

  /** Brings what is in the WAL into the database and gives the lock back. */
  close(): void {
    this.#db.close();
  }

  #commitAlone(transaction: Transaction): CommitResult {
    try {
      const [result] = this.#commitTogether([transaction]);
      return result as CommitResult;
    } catch (error) {
      const { code, message } = storeError(error, committing);
      return { kind: 'failed', fault: { code, message } };
    }
  }

  /** All or none; throws the error of SQLite. */
  #commitTogether(transactions: readonly Transaction[]): CommitResult[] {
    const before = this.#log;
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      const results = transactions.map((transaction) => this.#apply(transaction));
      this.#prune();
      this.#db.exec('COMMIT');
      return results;
    } catch (error) {
      this.#log = before;
      // Some errors (SQLITE_FULL, SQLITE_IOERR) have rolled back already: https://sqlite.org/lang_transaction.html
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #apply(transaction: Transaction): CommitResult {
    const first = this.#statements.revisionOfId.get(transaction.id);
    if (first !== undefined) return { kind: 'replayed', revision: first['revision'] as Revision };

    const evaluation = evaluate(transaction, this.#log.head + 1, this.#space);
    if (evaluation.kind === 'refused') return evaluation;
    const { revision, puts, deletes } = evaluation.event;
    // Deletes first: the pages they free can be used by the puts when there is no other room.
    for (const key of deletes) this.#statements.remove.run(key);
    for (const { key, value, createRevision } of puts) this.#statements.put.run(key, value, createRevision, revision);
    const bytes = sizeOf(evaluation.event);
    this.#statements.addChange.run(revision, transaction.id, bytes, encodeChange(evaluation.event));
    this.#log = { ...this.#log, head: revision, bytes: this.#log.bytes + bytes };
    return { kind: 'written', revision, createRevisions: puts.map((entry) => entry.createRevision), deletes };
  }

  /** Drops the oldest commits over the bounds, their transaction ids with them; the newest commit always stays. */
  #prune(): void {
    const { head, floor, bytes } = this.#log;
    const over = (bound: number) => bound + Math.floor(bound * pruneSlack);
    if (head - floor <= over(this.#retain.revisions) && bytes <= over(this.#retain.bytes)) return;

    let newFloor = floor;
    let bytesLeft = bytes;
    for (const row of this.#statements.changeSizes.iterate()) {
      const revision = row['revision'] as Revision;
      const within = head - newFloor <= this.#retain.revisions && bytesLeft <= this.#retain.bytes;
      if (within || revision === head) break;
      newFloor = revision;
      bytesLeft -= row['bytes'] as number;
    }
    this.#statements.dropChanges.run(newFloor);
    this.#log = { head, floor: newFloor, bytes: bytesLeft };
  }

  /**
   * What is in the WAL stands on the disk twice; with the disk full the WAL never reaches the size at which SQLite
   * empties it by itself.
   */
  #makeRoom(): void {
    try {
      this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // No room even for that: the writes that follow say so themselves.
      storeError(error, committing);
    }
  }
}

type StatementName =
  | 'entry'
  | 'revisions'
  | 'range'
  | 'rangeToEnd'
  | 'put'
  | 'remove'
  | 'revisionOfId'
  | 'addChange'
  | 'changesAfter'
  | 'changeSizes'
  | 'dropChanges'
  | 'logState';
type Statements = Readonly<Record<StatementName, StatementSync>>;

function prepareStatements(db: DatabaseSync): Statements {
  const entry = 'SELECT key, value, createRevision, modRevision FROM entries';
  return {
    entry: db.prepare(`${entry} WHERE key = ?`),
    revisions: db.prepare('SELECT createRevision, modRevision FROM entries WHERE key = ?'),
    range: db.prepare(`${entry} WHERE key >= ? AND key < ? ORDER BY key`),
    rangeToEnd: db.prepare(`${entry} WHERE key >= ? ORDER BY key`),
    put: db.prepare(
      `INSERT INTO entries (key, value, createRevision, modRevision) VALUES (?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, modRevision = excluded.modRevision`,
    ),
    remove: db.prepare('DELETE FROM entries WHERE key = ?'),
    revisionOfId: db.prepare('SELECT revision FROM changes WHERE id = ?'),
    addChange: db.prepare('INSERT INTO changes (revision, id, bytes, body) VALUES (?, ?, ?, ?)'),
    changesAfter: db.prepare('SELECT revision, bytes, body FROM changes WHERE revision > ? ORDER BY revision LIMIT ?'),
    changeSizes: db.prepare('SELECT revision, bytes FROM changes ORDER BY revision'),
    dropChanges: db.prepare('DELETE FROM changes WHERE revision <= ?'),
    // The newest commit is never pruned, so that the log alone says which revision the store has.
    logState: db.prepare(
      `SELECT coalesce(max(revision), 0) AS head, coalesce(min(revision) - 1, 0) AS floor,
              coalesce(sum(bytes), 0) AS bytes FROM changes`,
    ),
  };
}

/** Body of a change: `[puts, deletes]`, a put as `[key, value, createRevision]`; short, since every value is in it. */
type ChangeBody = readonly [puts: readonly (readonly [string, string, Revision])[], deletes: readonly string[]];

function encodeChange(event: WatchEvent): string {
  const puts = event.puts.map(({ key, value, createRevision }) => [key, value, createRevision] as const);
  return JSON.stringify([puts, event.deletes] satisfies ChangeBody);
}

function decodeChange(revision: Revision, body: string): WatchEvent {
  const [puts, deletes] = JSON.parse(body) as ChangeBody;
  return {
    revision,
    puts: puts.map(([key, value, createRevision]) => ({ key, value, createRevision, modRevision: revision })),
    deletes,
  };
}

function attempt<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storeError(error, doing);
  }
}
