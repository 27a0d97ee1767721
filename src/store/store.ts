/**
 * The store's interface: an ordered key space with one revision that grows with each commit, the way etcd has it. Every implementation keeps the same limits and passes the same contract test (test/contract/store.ts).
 *
 * Keys are slash-separated text; the first segment says which of the four kinds of data it is:
 * `spec/VirtualService/default/shop`, `history/VirtualService/default/shop/0000000003`, `observed/…`, `plan/…`,
 * `status/…`; `election/leader` stands apart, it goes with its leader. Values are text (JSON).
 */

/**
 * Orders commits: a later one, also one that changes nothing, has a greater revision; 0 is the empty store. Embedded
 * stores count their commits; in etcd others count too, so that numbers may be skipped. Nobody may reckon that the next
 * commit is one more than the last.
 */
export type Revision = number;

export interface Entry {
  readonly key: string;
  readonly value: string;
  /** Revision of the commit that created this key (after its last deletion). */
  readonly createRevision: Revision;
  /** Revision of the commit that last wrote this key. */
  readonly modRevision: Revision;
}

/**
 * A key is written once at most, as a put or a delete; keys, values and id are well-formed Unicode. What breaks this is
 * a bug of the caller: `InvariantError`. Deleting a key that is not there is no change and no error.
 */
export interface Transaction {
  /** Chosen by the caller, unique: kept with the commit, so that an ambiguous failure can be read back. */
  readonly id: string;
  /**
   * All must hold, else nothing is written. `modRevision` 0 means "the key does not exist"; `'exists'` any revision.
   */
  readonly checks: readonly { readonly key: string; readonly modRevision: Revision | 'exists' }[];
  readonly puts: readonly { readonly key: string; readonly value: string }[];
  readonly deletes: readonly string[];
}

/** `committed: false` names the checks that did not hold with what stands there now. */
export type CommitOutcome =
  | { readonly committed: true; readonly revision: Revision }
  | {
      readonly committed: false;
      readonly failed: readonly { readonly key: string; readonly entry: Entry | undefined }[];
    };

/** All changes of one commit, in one event: nobody ever sees half of one. */
export interface WatchEvent {
  readonly revision: Revision;
  readonly puts: readonly Entry[];
  readonly deletes: readonly string[];
}

export interface Snapshot {
  readonly revision: Revision;
  readonly entries: readonly Entry[];
}

/** The entry that a leader of a cluster holds; its value is what the candidate said of itself. */
export const leaderKey = 'election/leader';

/** One term of one leader. */
export interface Leadership {
  /** Greater for each later leader. */
  readonly term: number;
  /** To be among the checks of all that the leader writes: it holds no longer once another may lead. */
  readonly fence: Transaction['checks'];
  /** Aborted when the term is over, or may be: the leader begins nothing more, and runs again if it wants to. */
  readonly lost: AbortSignal;
  /** Ends the term, so that the next leader need not wait for it to run out. */
  resign(): Promise<void>;
}

/** Decides which of the processes on a store leads. */
export interface Election {
  /**
   * Resolves when this process leads; rejects with the reason of `signal` when that aborts first. `candidate` is kept
   * under {@link leaderKey} for all to read, and is for one run of one process.
   */
  campaign(candidate: string, signal: AbortSignal): Promise<Leadership>;
}

/**
 * The limits of a commit, the same on every store; over them: `TooLarge`. They are etcd's defaults (128 operations and
 * as many checks, 1.5 MiB) less what the etcd store adds to a transaction of its own: the id, the head, old ids.
 */
export const storeLimits = {
  keyBytes: 1024,
  valueBytes: 384 * 1024,
  operations: 120,
  transactionBytes: 1_400_000,
} as const;

export interface Store {
  /** Absent where no other process can have the store: who has it leads. */
  readonly election?: Election;
  /**
   * Atomic. Resolves once the commit is durable. Throws `FairwayError` `TooLarge` (limits) or `StoreUnavailable`
   * (disk full, closed, out of reach); then nothing is written, except that a store behind a network may not know what
   * became of a transaction that it has sent. It is then never written after a later one of this process that meets it
   * at a key, and asked again with the same `id` it tells: a transaction whose `id` is already committed is answered
   * with the first outcome, as long as the log reaches back to it.
   *
   * Transactions of one process that meet at a key are committed in the order of the calls.
   */
  commit(transaction: Transaction): Promise<CommitOutcome>;
  /** The entry, or undefined. Sees every commit acknowledged before the call. */
  get(key: string): Promise<Entry | undefined>;
  /** All entries whose key starts with `prefix`, in the order of the UTF-8 bytes of their keys, as of one revision. */
  list(prefix: string): Promise<Snapshot>;
  /** The newest revision, as the store itself knows it. */
  head(): Promise<Revision>;
  /**
   * Every commit after `after`, in order, until `signal` aborts: none is left out. Throws `FairwayError`
   * `RevisionCompacted` when the log no longer reaches back to `after` (the caller then lists anew), and
   * `StoreUnavailable` when the store is closed first.
   */
  watch(after: Revision, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /**
   * Forgets every commit but the newest, with the values that it replaced: a watch then begins anew. `disk` also leaves
   * no trace of them on the disk, and holds up all other calls meanwhile. Absent where the store's server does the like
   * by itself.
   */
  compact?(depth: 'log' | 'disk'): Promise<void>;
  /**
   * Milliseconds since the store was last heard of, some seconds at most while it is there: so old can be what its
   * watches have told. Absent: it is where this process is.
   */
  silentForMs?(): number;
  /** Waits for commits under way, then frees everything. Later calls throw `StoreUnavailable`. */
  close(): Promise<void>;
}
