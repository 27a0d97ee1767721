import { FairwayError } from '../lib/errors.ts';
import { beginSlice } from '../lib/in-slices.ts';
import type { Sealer } from '../lib/sealer.ts';
import { checkTransaction } from './limits.ts';
import { openValue, type SecretsAt, sealValue } from './secrets.ts';
import type { CommitOutcome, Election, Entry, Revision, Snapshot, Store, Transaction, WatchEvent } from './store.ts';

export interface SealedStoreOptions {
  /** This and the fence are read for each call: another key may seal from then on. */
  readonly sealer: Sealer;
  readonly secretsAt: SecretsAt;
  /** Must hold for each commit that seals something; else the key that seals is no longer in use elsewhere. */
  readonly fence?: Transaction['checks'][number];
}

/** Entries without secrets between two looks at the clock. */
const entriesPerLook = 1024;

/**
 * A store whose secrets are sealed in the store below it, and open to everybody above: whoever reads or writes through
 * it need not know. What has no secret passes through untouched.
 *
 * The limits of the store hold for what is stored; a secret is a third longer there.
 */
export function createSealedStore(store: Store, options: SealedStoreOptions): Store {
  return new SealedStore(store, options);
}

class SealedStore implements Store {
  readonly election?: Election;
  readonly #store: Store;
  readonly #options: SealedStoreOptions;

  constructor(store: Store, options: SealedStoreOptions) {
    if (store.election !== undefined) this.election = store.election;
    this.#store = store;
    this.#options = options;
  }

  async commit(transaction: Transaction): Promise<CommitOutcome> {
    const { sealer, fence } = this.#options;
    const puts = transaction.puts.map((put) => this.#seal(put));
    const seals = puts.some((put, i) => put !== transaction.puts[i]);
    if (!seals) return this.#openOutcome(await this.#store.commit(transaction));
    // What a seal would hide from the store below, such as text that is not well-formed.
    checkTransaction(transaction);
    const checks = fence === undefined ? transaction.checks : [...transaction.checks, fence];
    const outcome = await this.#store.commit({ ...transaction, checks, puts });
    if (!outcome.committed && outcome.failed.some(({ key }) => key === fence?.key)) {
      throw new FairwayError(
        'StoreUnavailable',
        `committing a transaction: data key ${sealer.keyId} was replaced by a newer one; give this controller the newer one too`,
      );
    }
    return this.#openOutcome(outcome);
  }

  async get(key: string): Promise<Entry | undefined> {
    const entry = await this.#store.get(key);
    return entry === undefined ? undefined : this.#open(entry);
  }

  async list(prefix: string): Promise<Snapshot> {
    const { revision, entries } = await this.#store.list(prefix);
    let opened: Entry[] | undefined;
    const slice = beginSlice();
    for (const [i, entry] of entries.entries()) {
      const clear = this.#open(entry);
      if (clear !== entry) {
        opened ??= [...entries];
        opened[i] = clear;
      } else if (i % entriesPerLook !== 0) continue;
      await slice.pause();
    }
    return { revision, entries: opened ?? entries };
  }

  head(): Promise<Revision> {
    return this.#store.head();
  }

  async *watch(after: Revision, signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    for await (const event of this.#store.watch(after, signal)) {
      const puts = event.puts.map((entry) => this.#open(entry));
      yield puts.every((entry, i) => entry === event.puts[i]) ? event : { ...event, puts };
    }
  }

  silentForMs(): number {
    return this.#store.silentForMs?.() ?? 0;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #seal<T extends { readonly key: string; readonly value: string }>(put: T): T {
    const pointers = this.#options.secretsAt(put.key);
    if (pointers.length === 0) return put;
    return { ...put, value: sealValue(put.key, put.value, pointers, this.#options.sealer) };
  }

  #open(entry: Entry): Entry {
    const pointers = this.#options.secretsAt(entry.key);
    if (pointers.length === 0) return entry;
    return { ...entry, value: openValue(entry.key, entry.value, pointers, this.#options.sealer) };
  }

  #openOutcome(outcome: CommitOutcome): CommitOutcome {
    if (outcome.committed) return outcome;
    const failed = outcome.failed.map(({ key, entry }) => ({ key, entry: entry && this.#open(entry) }));
    return { committed: false, failed };
  }
}
