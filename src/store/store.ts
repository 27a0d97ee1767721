/**
 * The store's interface: an ordered key space with one revision that grows by one with each commit, the way etcd has
 * it. Every implementation keeps the same limits and passes the same contract test (test/contract/store.ts).
 *
 * Keys are slash-separated text; the first segment says which of the four kinds of data it is:
 * `spec/VirtualService/default/shop`, `history/VirtualService/default/shop/0000000003`, `observed/…`, `plan/…`,
 * `status/…`. Values are text (JSON).
 */

/** Number of commits so far, those that changed nothing included; 0 is the empty store. */
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

/** The limits of a commit, the same on every store (etcd's defaults, see api.md section 1); over them: `TooLarge`. */
export const storeLimits = {
  keyBytes: 1024,
  valueBytes: 384 * 1024,
  operations: 128,
  transactionBytes: 1_400_000,
} as const;

export interface Store {
  /**
   * Atomic. Resolves once the commit is durable. Throws `FairwayError` `TooLarge` (limits) or `StoreUnavailable`
   * (disk full, closed, out of reach); then nothing is written. A transaction whose `id` is already committed is
   * answered with the first outcome, as long as the log reaches back to it.
   */
  commit(transaction: Transaction): Promise<CommitOutcome>;
  /** The entry, or undefined. Sees every commit acknowledged before the call. */
  get(key: string): Promise<Entry | undefined>;
  /** All entries whose key starts with `prefix`, in the order of the UTF-8 bytes of their keys, as of one revision. */
  list(prefix: string): Promise<Snapshot>;
  /** The newest revision, as the store itself knows it. */
  head(): Promise<Revision>;
  /**
   * Every commit after `after`, in order, without a gap, until `signal` aborts. Throws `FairwayError`
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
  /** Waits for commits under way, then frees everything. Later calls throw `StoreUnavailable`. */
  close(): Promise<void>;
}
