import type { Worker } from 'node:worker_threads';
import { FairwayError, InvariantError } from '../lib/errors.ts';
import { startThread } from '../lib/thread.ts';
import { checkPrefix, checkTransaction } from './limits.ts';
import { ChangeLog, compacted, type LogBounds } from './log.ts';
import type { Answer, AnswerBody, Fault, RequestBody, WorkerMessage, WorkerOptions } from './sqlite-protocol.ts';
import type { CommitOutcome, Entry, Revision, Snapshot, Store, Transaction, WatchEvent } from './store.ts';

export interface SqliteStoreOptions {
  /** Where the database is; made with mode 0700 when it is not there. One store at a time may have it open. */
  readonly folder: string;
  /**
   * The thread of the store has ended by itself (a bug, damaged data). Called once; every call fails from now on and
   * the process should end: nothing is wrong with what was acknowledged.
   */
  readonly onFailure?: (error: FairwayError) => void;
  /** How far back a watch can begin, and how long transaction ids are known. Default 10,000 commits, 64 MiB. */
  readonly retain?: Partial<LogBounds>;
  /** The database file does not grow beyond this; writes then fail as with a full disk. Default: no limit. */
  readonly maxSizeBytes?: number;
}

const defaultRetain: LogBounds = { revisions: 10_000, bytes: 64 * 1024 * 1024 };

/** What watchers that keep up can read without asking the thread; older commits come from the database. */
const inMemory: LogBounds = { revisions: 1000, bytes: 4 * 1024 * 1024 };

/** What is young on the thread is gone after one commit: more room for it would only be more memory. */
const limits = { maxYoungGenerationSizeMb: 6 };

/** See the door. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const retain = { ...defaultRetain, ...options.retain };
  const data: WorkerOptions = { folder: options.folder, retain, maxSizeBytes: options.maxSizeBytes };
  const worker = startThread({ file: './sqlite-worker', from: import.meta.url, name: 'store', data, limits });
  return openOnWorker(worker, retain, options.onFailure);
}

/** The store on a thread that was just started; apart from the above so that tests can bring a thread that fails. */
export async function openOnWorker(
  worker: Worker,
  retain: LogBounds,
  onFailure: ((error: FairwayError) => void) | undefined,
): Promise<Store> {
  const { promise, resolve, reject } = Promise.withResolvers<WorkerMessage>();
  const onExit = () => reject(new Error('it ended'));
  worker.once('message', resolve).once('error', reject).once('exit', onExit);
  try {
    const first = await promise;
    if (first.kind === 'notOpened') throw errorOf(first.fault);
    if (first.kind !== 'opened') throw new InvariantError(`opening the store: its thread said ${first.kind} first`);
    return new SqliteStore(worker, first.head, retain, onFailure);
  } catch (error) {
    await worker.terminate();
    if (error instanceof FairwayError || error instanceof InvariantError) throw error;
    throw new FairwayError('StoreUnavailable', 'opening the store: its thread did not start', { cause: error });
  } finally {
    worker.off('message', resolve).off('error', reject).off('exit', onExit);
  }
}

/** One request under way. `settle` runs in the order of the answers, before anybody who waits for one goes on. */
interface Pending {
  settle(answer: Answer): void;
  fail(error: FairwayError): void;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'closing' }
  | { readonly kind: 'failed'; readonly error: FairwayError };

/**
 * The main thread's half: checks, numbers requests, matches answers, and keeps the newest commits for the watchers.
 * All that touches the disk is in the worker, so that an fsync never holds this event loop.
 */
class SqliteStore implements Store {
  readonly #worker: Worker;
  readonly #log: ChangeLog;
  readonly #onFailure: ((error: FairwayError) => void) | undefined;
  readonly #pending = new Map<number, Pending>();
  /** Calls under way, a list of several pages being one: what `close` waits for. */
  readonly #calls = new Set<Promise<unknown>>();
  readonly #exited: Promise<void>;
  #nextId = 1;
  #state: State = { kind: 'open' };
  #closed: Promise<void> | undefined;

  constructor(
    worker: Worker,
    head: Revision,
    retain: LogBounds,
    onFailure: ((error: FairwayError) => void) | undefined,
  ) {
    this.#worker = worker;
    this.#onFailure = onFailure;
    this.#log = new ChangeLog({
      head,
      bounds: {
        revisions: Math.min(inMemory.revisions, retain.revisions),
        bytes: Math.min(inMemory.bytes, retain.bytes),
      },
      older: (after) => this.#readChanges(after),
    });
    this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: WorkerMessage) => this.#receive(message));
    worker.on('error', (cause) => this.#fail('its thread failed', cause));
    worker.on('exit', () => this.#fail('its thread ended', undefined));
  }

  commit(transaction: Transaction): Promise<CommitOutcome> {
    return this.#call('committing a transaction', async () => {
      checkTransaction(transaction);
      return this.#request({ kind: 'commit', transaction }, (answer) => this.#outcomeOf(transaction, answer));
    });
  }

  get(key: string): Promise<Entry | undefined> {
    return this.#call('reading an entry', () =>
      this.#request({ kind: 'get', key }, (answer) => expect(answer, 'entry').entry),
    );
  }

  list(prefix: string): Promise<Snapshot> {
    return this.#call('listing', async () => {
      checkPrefix(prefix);
      let page = await this.#request({ kind: 'list', prefix }, (answer) => expect(answer, 'page'));
      const { id, revision } = page;
      const entries = [...page.entries];
      while (page.more) {
        page = await this.#request({ kind: 'nextPage', list: id }, (answer) => expect(answer, 'page'));
        entries.push(...page.entries);
      }
      return { revision, entries };
    });
  }

  /** The thread has no commit that was not told here before it was acknowledged. */
  head(): Promise<Revision> {
    return this.#call('reading the revision', async () => this.#log.head);
  }

  watch(after: Revision, signal: AbortSignal): AsyncIterable<WatchEvent> {
    return this.#log.watch(after, signal);
  }

  compact(depth: 'log' | 'disk'): Promise<void> {
    return this.#call('compacting', () =>
      this.#request({ kind: 'compact', depth }, (answer) => {
        expect(answer, 'forgotten');
        this.#log.compact();
      }),
    );
  }

  close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    return this.#closed;
  }

  async #shutDown(): Promise<void> {
    if (this.#state.kind === 'open') {
      this.#state = { kind: 'closing' };
      this.#log.close(new FairwayError('StoreUnavailable', 'watching: the store is closed'));
      await Promise.allSettled(this.#calls);
      await this.#request({ kind: 'close' }, (answer) => expect(answer, 'closed')).catch(() => {
        // The thread ended before it could answer: there is nothing left to close.
      });
    }
    await this.#exited;
  }

  #call<T>(doing: string, work: () => Promise<T>): Promise<T> {
    if (this.#state.kind !== 'open') {
      const reason = this.#state.kind === 'failed' ? this.#state.error.message : 'the store is closed';
      return Promise.reject(new FairwayError('StoreUnavailable', `${doing}: ${reason}`));
    }
    const call = work();
    this.#calls.add(call);
    const done = () => this.#calls.delete(call);
    call.then(done, done);
    return call;
  }

  #request<T>(body: RequestBody, read: (answer: Answer) => T): Promise<T> {
    if (this.#state.kind === 'failed') return Promise.reject(this.#state.error);
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#pending.set(id, {
      fail: reject,
      settle: (answer) => {
        try {
          if (answer.kind === 'failed') throw errorOf(answer.fault);
          resolve(read(answer));
        } catch (error) {
          reject(error);
        }
      },
    });
    this.#worker.postMessage({ id, ...body });
    return promise;
  }

  /** Appends what was written to the log, so it must run once and in the order of the answers. */
  #outcomeOf(transaction: Transaction, answer: AnswerBody): CommitOutcome {
    switch (answer.kind) {
      case 'written': {
        const { revision, createRevisions, deletes } = answer;
        const puts = transaction.puts.map(({ key, value }, i) => ({
          key,
          value,
          createRevision: createRevisions[i] as Revision,
          modRevision: revision,
        }));
        this.#log.append({ revision, puts, deletes });
        return { committed: true, revision };
      }
      case 'replayed':
        return { committed: true, revision: answer.revision };
      default:
        return { committed: false, failed: expect(answer, 'refused').failed };
    }
  }

  async #readChanges(after: Revision): Promise<readonly WatchEvent[]> {
    return this.#request({ kind: 'changes', after }, (answer) => {
      if (answer.kind === 'compacted') throw compacted(after, answer.floor);
      return expect(answer, 'changes').events;
    });
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === 'damaged') {
      this.#fail('its data is damaged', errorOf(message.fault));
      return;
    }
    if (message.kind !== 'answers') throw new InvariantError(`the store's thread said ${message.kind} late`);
    for (const answer of message.answers) {
      const pending = this.#pending.get(answer.id);
      this.#pending.delete(answer.id);
      pending?.settle(answer);
    }
  }

  /** The first reason counts. Also comes, harmlessly, at the end of an orderly close. */
  #fail(what: string, cause: unknown): void {
    if (this.#state.kind === 'failed') return;
    const orderly = this.#state.kind === 'closing' && this.#pending.size === 0;
    if (orderly) return;
    const error = new FairwayError('StoreUnavailable', `the store has stopped: ${what}`, { cause });
    this.#state = { kind: 'failed', error };
    this.#log.close(error);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { fail } of pending) fail(error);
    this.#onFailure?.(error);
  }
}

function errorOf({ code, message }: Fault): FairwayError {
  return new FairwayError(code, message);
}

function expect<K extends AnswerBody['kind']>(answer: AnswerBody, kind: K): Extract<Answer, { kind: K }> {
  if (answer.kind !== kind) throw new InvariantError(`the store's thread answered ${answer.kind} for ${kind}`);
  return answer as Extract<Answer, { kind: K }>;
}
