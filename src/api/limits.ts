/** What the API takes and how long it waits. Sizes are bytes, times milliseconds. */
export interface Limits {
  /** One object as it is stored: apiVersion, kind, metadata and spec as JSON. */
  readonly objectBytes: number;
  /** Objects of an atomic apply, what prune deletes included. */
  readonly applyObjects: number;
  /** All objects of an atomic apply together, each counted as above. */
  readonly applyBytes: number;
  /** Bodies may be larger than what they say: indentation, comments, a status that is ignored. */
  readonly objectBodyBytes: number;
  readonly applyBodyBytes: number;
  /** `?atomic=false` has no limit but this one; who has more sends it in several requests. */
  readonly bulkBodyBytes: number;
  /** Former specs kept of each object. */
  readonly historyGenerations: number;
  /** How long a request waits for this controller's View to reach a revision. */
  readonly waitMs: number;
  /** Attempts to commit a write whose objects others keep changing. */
  readonly commitAttempts: number;
  /** Objects that `?atomic=false` writes at once: commits under way share one fsync. */
  readonly bulkConcurrency: number;
  /** Largest page of a list. */
  readonly pageObjects: number;
  /** How often a watch says which revision it has reached. */
  readonly bookmarkMs: number;
  /** Requests of one identity: for ever, and at once after a rest. */
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  /** Watches of one identity that are open at a time. */
  readonly watchesPerIdentity: number;
  /** Failed logins of one peer: for ever, and at once after a rest. */
  readonly loginFailuresPerSecond: number;
  readonly loginFailureBurst: number;
  /** API tokens that there may be. */
  readonly tokens: number;
}

const kib = 1024;

export const defaultLimits: Limits = {
  objectBytes: 256 * kib,
  applyObjects: 50,
  applyBytes: 512 * kib,
  objectBodyBytes: 512 * kib,
  applyBodyBytes: 1024 * kib,
  bulkBodyBytes: 16 * 1024 * kib,
  historyGenerations: 10,
  waitMs: 10_000,
  commitAttempts: 10,
  bulkConcurrency: 32,
  pageObjects: 1000,
  bookmarkMs: 10_000,
  requestsPerSecond: 1000,
  requestBurst: 2000,
  watchesPerIdentity: 100,
  loginFailuresPerSecond: 1,
  loginFailureBurst: 20,
  tokens: 10_000,
};
