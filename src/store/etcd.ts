import type { IEvent } from 'etcd3';
import { FairwayError } from '../lib/errors.ts';
import { EtcdCommits } from './etcd-commits.ts';
import { EtcdConnection, type EtcdConnectionOptions, isCompacted } from './etcd-connection.ts';
import { EtcdElection } from './etcd-election.ts';
import { EtcdHistory } from './etcd-history.ts';
import { createKeyspace, type Keyspace } from './etcd-keys.ts';
import { callLimitMs } from './etcd-patience.ts';
import { EtcdReads, type Start } from './etcd-reads.ts';
import { followRange } from './etcd-watch.ts';
import { checkPrefix, checkTransaction } from './limits.ts';
import { ChangeLog, compacted, type LogBounds, sizeOf } from './log.ts';
import {
  type CommitOutcome,
  type Entry,
  leaderKey,
  type Revision,
  type Snapshot,
  type Store,
  type Transaction,
  type WatchEvent,
} from './store.ts';

export interface EtcdStoreOptions extends EtcdConnectionOptions {
  /** All keys are below it. Default `/fairway`. Controllers with the same prefix are one cluster. */
  readonly prefix?: string;
  /**
   * How far back a watch can begin, and how long transaction ids are known. Default 10,000 commits, 64 MiB. Older
   * history is compacted, which etcd does for all its keys.
   */
  readonly retain?: Partial<LogBounds>;
  /** Called with what somebody may want to read in a log. */
  readonly onNotice?: (notice: EtcdNotice) => void;
}

export interface EtcdNotice {
  /**
   * - `compaction_failed`: the history grows on, and is compacted with one of the next commits;
   * - `history_lost`: others have compacted what was not told yet, the watch begins anew at the present;
   * - `outcome_unknown`, `outcome_settled`: what became of a transaction, whose `id` this is.
   */
  readonly event: 'compaction_failed' | 'history_lost' | 'outcome_unknown' | 'outcome_settled';
  readonly error?: unknown;
  readonly id?: string;
}

const defaultRetain: LogBounds = { revisions: 10_000, bytes: 64 * 1024 * 1024 };

/** What watchers that keep up can read without asking etcd. */
const inMemory: LogBounds = { revisions: 1000, bytes: 4 * 1024 * 1024 };

/** Events read at once for a watcher that is behind what is held here. */
const olderItems = 1000;

/** Time for the first look at the cluster, whose members may all have to be tried. */
const openLimitMs = 5_000;

/** See the door. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const connection = new EtcdConnection(options);
  const keyspace = createKeyspace((options.prefix ?? '/fairway').replace(/\/+$/, ''));
  try {
    const reads = new EtcdReads(connection, keyspace);
    return new EtcdStore(connection, keyspace, options, reads, await reads.start(openLimitMs));
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * A store in an etcd cluster, which other processes use as well. Revisions are etcd's own: they grow with each commit
 * and skip what others write to the cluster.
 *
 * All that changes comes by one watch on the prefix; watchers read it from a log, as they do with every store. Reads
 * and writes go to etcd and see all that was acknowledged anywhere. Each ends within 1.8 seconds while no
 * majority of etcd's members answers, and within 5 while one does: then etcd elects a leader (etcd-patience.ts).
 */
class EtcdStore implements Store {
  readonly election: EtcdElection;
  readonly #connection: EtcdConnection;
  readonly #keyspace: Keyspace;
  readonly #reads: EtcdReads;
  readonly #notice: (notice: EtcdNotice) => void;
  readonly #retain: LogBounds;
  readonly #log: ChangeLog;
  readonly #commits: EtcdCommits;
  readonly #closing = new AbortController();
  readonly #calls = new Set<Promise<unknown>>();
  readonly #following: Promise<void>;
  #history: EtcdHistory;
  /** When the watch has last had a sign of life. */
  #heardAt = performance.now();
  #told: (() => void)[] = [];
  #compacting: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    connection: EtcdConnection,
    keyspace: Keyspace,
    options: EtcdStoreOptions,
    reads: EtcdReads,
    start: Start,
  ) {
    this.#reads = reads;
    this.#connection = connection;
    this.#keyspace = keyspace;
    this.election = new EtcdElection(connection, keyspace);
    this.#notice = options.onNotice ?? (() => undefined);
    this.#retain = { ...defaultRetain, ...options.retain };
    this.#log = new ChangeLog({
      head: start.head,
      gaps: true,
      bounds: {
        revisions: Math.min(inMemory.revisions, this.#retain.revisions),
        bytes: Math.min(inMemory.bytes, this.#retain.bytes),
      },
      older: (after) => this.#readOlder(after),
    });
    this.#history = this.#historyFrom(start);
    this.#commits = new EtcdCommits({
      connection,
      keyspace,
      history: () => this.#history,
      caughtUp: (revision, over) => this.#toldOf(revision, over),
      notice: this.#notice,
    });
    this.#following = this.#follow(start.at);
  }

  commit(transaction: Transaction): Promise<CommitOutcome> {
    return this.#call('committing a transaction', async () => {
      checkTransaction(transaction);
      return this.#commits.commit(transaction);
    });
  }

  get(key: string): Promise<Entry | undefined> {
    return this.#call('reading an entry', () => this.#reads.get(key));
  }

  list(prefix: string): Promise<Snapshot> {
    return this.#call('listing', async () => {
      checkPrefix(prefix);
      return this.#reads.list(prefix);
    });
  }

  head(): Promise<Revision> {
    return this.#call('reading the revision', () => this.#reads.head());
  }

  silentForMs(): number {
    return performance.now() - this.#heardAt;
  }

  async *watch(after: Revision, signal: AbortSignal): AsyncIterable<WatchEvent> {
    // What was acknowledged counts from the first event on, so that a revision that it has pushed out is compacted.
    if (!signal.aborted) await this.#toldOf(this.#commits.acknowledged, AbortSignal.timeout(callLimitMs));
    yield* this.#log.watch(after, signal);
  }

  close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    return this.#closed;
  }

  async #shutDown(): Promise<void> {
    this.#log.close(closedError('watching'));
    await Promise.allSettled([...this.#calls, this.#commits.close()]);
    this.#closing.abort();
    await Promise.allSettled([this.#following, this.#compacting]);
    this.#connection.close();
  }

  #call<T>(doing: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(closedError(doing));
    const call = work();
    this.#calls.add(call);
    const done = () => this.#calls.delete(call);
    call.then(done, done);
    return call;
  }

  /** Follows the prefix for as long as the store is open; where history was lost it begins anew at the present. */
  async #follow(from: Revision): Promise<void> {
    let at = from;
    const { signal } = this.#closing;
    const { root: range } = this.#keyspace;
    while (!signal.aborted) {
      try {
        const connection = this.#connection;
        const onRevision = (revision: Revision, events: readonly IEvent[]) => this.#tell(revision, events);
        const onHeard = () => {
          this.#heardAt = performance.now();
        };
        await followRange(at + 1, { connection, range, onRevision, onHeard }, signal);
      } catch (error) {
        this.#notice({ event: 'history_lost', error });
        const start = await this.#lookAgain();
        if (start === undefined) return;
        at = start.at;
        this.#history = this.#historyFrom(start);
        // Who has not seen all that is lost is behind the floor of the log, and is told so.
        this.#log.restart(Math.max(start.head, this.#log.head));
        this.#wakeTold();
      }
    }
  }

  async #lookAgain(): Promise<Start | undefined> {
    while (!this.#closing.signal.aborted) {
      try {
        return await this.#reads.start(callLimitMs);
      } catch (error) {
        if (!(error instanceof FairwayError)) throw error;
      }
    }
    return undefined;
  }

  #historyFrom({ ids }: Start): EtcdHistory {
    // What etcd has compacted beyond this is noticed by who reads it. Sizes of old commits are not known.
    const history = new EtcdHistory(this.#retain, 0);
    for (const { id, revision } of ids) {
      history.idWritten(id, revision);
      history.add(revision, 0);
    }
    return history;
  }

  /** One revision of etcd: a commit of this store or of another one, or what else happens below the prefix. */
  #tell(revision: Revision, events: readonly IEvent[]): void {
    const event = this.#eventOf(revision, events);
    for (const { type, kv } of events) {
      const place = this.#keyspace.place(kv.key);
      if (place.kind !== 'id') continue;
      if (type === 'Put') this.#history.idWritten(place.id, revision);
      else this.#history.idRemoved(place.id);
    }
    if (event !== undefined) {
      if (event.deletes.includes(leaderKey)) this.election.vacant();
      this.#log.append(event);
      if (this.#history.add(revision, sizeOf(event))) this.#compact();
    }
    this.#wakeTold();
  }

  #eventOf(revision: Revision, events: readonly IEvent[]): WatchEvent | undefined {
    const puts: Entry[] = [];
    const deletes: string[] = [];
    let isCommit = false;
    for (const { type, kv } of events) {
      const place = this.#keyspace.place(kv.key);
      if (place.kind === 'head') isCommit = true;
      if (place.kind !== 'data') continue;
      // Also what nobody committed: a lease that ran out, a hand that mends something.
      isCommit = true;
      if (type === 'Put') puts.push(this.#keyspace.entry(kv));
      else deletes.push(place.key);
    }
    return isCommit ? { revision, puts, deletes } : undefined;
  }

  #compact(): void {
    this.#compacting ??= this.#connection
      .call('compacting the history', (endpoint, limits) =>
        endpoint.kv.compact({ revision: String(this.#history.floor) }, limits),
      )
      .then(
        () => undefined,
        // Another controller was faster, which is as good.
        (error: unknown) => {
          if (!isCompacted(error)) this.#notice({ event: 'compaction_failed', error });
        },
      )
      .finally(() => {
        this.#compacting = undefined;
      });
  }

  /** The next commits after one that is no longer held in memory: a watch of its own, until it has a page. */
  async #readOlder(after: Revision): Promise<readonly WatchEvent[]> {
    if (after < this.#history.floor) throw compacted(after, this.#history.floor);
    const upTo = this.#log.floor;
    const events: WatchEvent[] = [];
    const reading = new AbortController();
    const signal = AbortSignal.any([reading.signal, this.#closing.signal]);
    const onRevision = (revision: Revision, all: readonly IEvent[]): void => {
      const event = this.#eventOf(revision, all);
      if (event !== undefined && revision <= upTo && events.length < olderItems) events.push(event);
      if (revision >= upTo || events.length >= olderItems) reading.abort();
    };
    try {
      const { root: range } = this.#keyspace;
      await followRange(after + 1, { connection: this.#connection, range, onRevision }, signal);
    } catch (error) {
      if (!(error instanceof FairwayError)) throw error;
      const floor = Number(error.extra['compactedRevision'] ?? 0);
      this.#history.raise(floor);
      throw compacted(after, floor);
    }
    if (events.length === 0) throw closedError('watching');
    return events;
  }

  /** Until the watch has told of `revision`, or the time is over. */
  async #toldOf(revision: Revision, over: AbortSignal): Promise<void> {
    while (this.#log.head < revision && !this.#closing.signal.aborted && !over.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = (): void => resolve();
      this.#told.push(wake);
      over.addEventListener('abort', wake);
      await promise;
      over.removeEventListener('abort', wake);
    }
  }

  #wakeTold(): void {
    const waiting = this.#told;
    this.#told = [];
    for (const resolve of waiting) resolve();
  }
}

function closedError(doing: string): FairwayError {
  return new FairwayError('StoreUnavailable', `${doing}: the store is closed`);
}
