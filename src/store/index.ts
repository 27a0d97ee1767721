/**
 * The store: what operators want, what was decided and what was seen, durable and in one order.
 *
 * A process has one store. It is an ordered key space with atomic transactions, one revision for all, and a watch
 * from any revision that the log still holds: the little that an embedded database and etcd both give, so that the
 * rest of Fairway cannot tell them apart. What each implementation promises stands in store.ts, what they are held to
 * in test/contract/store.ts.
 *
 * - `memory`: for tests and throw-away servers.
 * - `etcd`: a cluster of controllers on a cluster of etcd. One connection and one watch per store; every controller
 *   reads and writes by itself.
 * - `sqlite`: embedded, one server. One worker thread per store with one connection; a commit waits for an fsync there
 *   and not on the event loop, and transactions that arrive meanwhile share the next one.
 *
 * Around either of them goes `sealed`: secrets are sealed in the store below it and open to everybody above it;
 * and `continued`: a restore of a backup, which nobody sees half of.
 *
 * Two decisions that all share:
 * - Every committed transaction has a revision of its own, also one that changes nothing, so that a transaction id
 *   always names one commit. Where nobody else counts (memory, sqlite) revisions are without gaps; etcd's are those of
 *   its whole cluster, and what others write there is skipped.
 * - A watcher is a revision, not a queue (log.ts).
 */
import type { EtcdStoreOptions } from './etcd.ts';
import type { SqliteStoreOptions } from './sqlite.ts';
import type { Store } from './store.ts';

export {
  type ContinuedStore,
  type ContinuedStoreKeys,
  type Origin,
  openContinuedStore,
} from './continued.ts';
export type { EtcdNotice, EtcdStoreOptions } from './etcd.ts';
export { compareKeys } from './keys.ts';
export type { LogBounds } from './log.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory.ts';
export { type SealAnewOptions, sealAnew } from './seal-anew.ts';
export { createSealedStore, type SealedStoreOptions } from './sealed.ts';
export { openValue, type SecretsAt, sealingOf, sealValue } from './secrets.ts';
export type { SqliteStoreOptions } from './sqlite.ts';
export {
  type CommitOutcome,
  type Election,
  type Entry,
  type Leadership,
  leaderKey,
  type Revision,
  type Snapshot,
  type Store,
  storeLimits,
  type Transaction,
  type WatchEvent,
} from './store.ts';

/**
 * Opens the embedded store in a folder of its own, which it holds alone until it is closed. Loads its driver only now.
 *
 * Throws `FairwayError` `StoreUnavailable` (the folder is in use by another process, cannot be used, or is full) or
 * `Internal` (the database is damaged, of another program, or of a newer version of this one).
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const sqlite = await import('./sqlite.ts');
  return sqlite.openSqliteStore(options);
}

/**
 * Opens a store in an etcd cluster (3.4 or later). Loads its client only now.
 *
 * Throws `FairwayError` `StoreUnavailable` when no member answers in a few seconds.
 */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const etcd = await import('./etcd.ts');
  return etcd.openEtcdStore(options);
}
