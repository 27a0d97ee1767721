import { FairwayError } from '../lib/errors.ts';
import { evaluate, type KeySpace } from './evaluate.ts';
import { compareKeys } from './keys.ts';
import { checkPrefix, checkTransaction } from './limits.ts';
import { ChangeLog, type LogBounds } from './log.ts';
import type { CommitOutcome, Entry, Revision, Snapshot, Store, Transaction, WatchEvent } from './store.ts';

export interface MemoryStoreOptions {
  /** How far back a watch can begin, and how long transaction ids are known. Default 10,000 commits, 32 MiB. */
  readonly retain?: Partial<LogBounds>;
}

/** A store that lives and ends with the process: for tests, and for servers that are fed anew at each start. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore({ revisions: 10_000, bytes: 32 * 1024 * 1024, ...options.retain });
}

class MemoryStore implements Store {
  readonly #entries = new Map<string, Entry>();
  /** Ids of the commits in the log, oldest first. */
  readonly #ids = new Map<string, Revision>();
  readonly #log: ChangeLog;
  readonly #space: KeySpace = {
    entry: (key) => this.#entries.get(key),
    revisions: (key) => this.#entries.get(key),
  };
  /** All keys in order; made by the first list after a key has come or gone. */
  #sortedKeys: readonly string[] | undefined;
  #closed = false;

  constructor(bounds: LogBounds) {
    this.#log = new ChangeLog({ bounds });
  }

  async commit(transaction: Transaction): Promise<CommitOutcome> {
    this.#assertOpen('committing a transaction');
    checkTransaction(transaction);
    const first = this.#ids.get(transaction.id);
    if (first !== undefined) return { committed: true, revision: first };

    const evaluation = evaluate(transaction, this.#log.head + 1, this.#space);
    if (evaluation.kind === 'refused') return { committed: false, failed: evaluation.failed };
    this.#apply(transaction.id, evaluation.event);
    return { committed: true, revision: evaluation.event.revision };
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#assertOpen('reading an entry');
    return this.#entries.get(key);
  }

  async list(prefix: string): Promise<Snapshot> {
    this.#assertOpen('listing');
    checkPrefix(prefix);
    this.#sortedKeys ??= [...this.#entries.keys()].sort(compareKeys);
    const keys = this.#sortedKeys;
    const entries: Entry[] = [];
    for (let i = firstAtOrAfter(keys, prefix); i < keys.length; i++) {
      const key = keys[i] as string;
      if (!key.startsWith(prefix)) break;
      entries.push(this.#entries.get(key) as Entry);
    }
    return { revision: this.#log.head, entries };
  }

  async head(): Promise<Revision> {
    this.#assertOpen('reading the revision');
    return this.#log.head;
  }

  watch(after: Revision, signal: AbortSignal): AsyncIterable<WatchEvent> {
    return this.#log.watch(after, signal);
  }

  async compact(): Promise<void> {
    this.#assertOpen('compacting');
    this.#log.compact();
    this.#forgetIds();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#log.close(closedError('watching'));
    this.#entries.clear();
    this.#ids.clear();
    this.#sortedKeys = undefined;
  }

  #apply(id: string, event: WatchEvent): void {
    for (const entry of event.puts) {
      if (entry.createRevision === event.revision) this.#sortedKeys = undefined;
      this.#entries.set(entry.key, entry);
    }
    for (const key of event.deletes) {
      this.#sortedKeys = undefined;
      this.#entries.delete(key);
    }
    this.#ids.set(id, event.revision);
    this.#log.append(event);
    this.#forgetIds();
  }

  #forgetIds(): void {
    for (const [known, revision] of this.#ids) {
      if (revision > this.#log.floor) break;
      this.#ids.delete(known);
    }
  }

  #assertOpen(doing: string): void {
    if (this.#closed) throw closedError(doing);
  }
}

function closedError(doing: string): FairwayError {
  return new FairwayError('StoreUnavailable', `${doing}: the store is closed`);
}

/** Index of the first key that is not smaller than `bound`. */
function firstAtOrAfter(keys: readonly string[], bound: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] as string, bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
