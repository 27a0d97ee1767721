import { FairwayError } from '../lib/errors.ts';
import { compacted } from './log.ts';
import {
  type CommitOutcome,
  type Election,
  type Entry,
  leaderKey,
  type Revision,
  type Snapshot,
  type Store,
  type Transaction,
  type WatchEvent,
} from './store.ts';

/**
 * A store that may be replaced as a whole by a backup, without anybody seeing half of it, and without its revisions
 * going back.
 *
 * ```
 *   content of before │ marker ── restore writes ── origin, no marker │ content of the backup
 *   ──────────────────┼───────────────────────────────────────────────┼──▶ revision of the store below
 *      read, written  │   nothing is read, no commit is taken         │  read, written; shown revision = below + offset
 * ```
 *
 * While the marker stands, the content is not whole: commits are refused (each checks for the marker, so that one that
 * comes from a controller which does not know yet is refused too), lists wait, and watches end as `RevisionCompacted`
 * when it is gone, so that everybody lists anew. It stays in the store, so a restore that was broken off is noticed by
 * whoever opens it.
 *
 * The origin says how far the revisions of the backup were ahead of the store's. All revisions are shown that much
 * greater: what was remembered before (by clients, by records, in the backup) is older than all that comes after.
 */
export interface ContinuedStore extends Store {
  /**
   * The revision from which on the content is whole; 0 when it always was. Undefined while it is not, as far as was
   * noticed by a list or a watch.
   */
  readonly wholeSince: Revision | undefined;
  /** Resolves when no restore is under way any more, or `signal` aborts. */
  untilWhole(signal: AbortSignal): Promise<void>;
}

export interface ContinuedStoreKeys {
  /** Stands while a restore is under way. */
  readonly marker: string;
  /** An {@link Origin}; written in the commit that takes the marker away. */
  readonly origin: string;
}

/** Where the content of a store comes from. */
export interface Origin {
  /** Is added to all revisions that are shown. */
  readonly offset: number;
}

export async function openContinuedStore(store: Store, keys: ContinuedStoreKeys): Promise<ContinuedStore> {
  const continued = new Continued(store, keys);
  await continued.look();
  return continued;
}

/** Of the store below: how its revisions are shown, and from which on. */
interface State {
  readonly offset: number;
  readonly since: Revision;
  readonly isWhole: boolean;
}

/** No entry has this revision: a check for it never holds. */
const never: Revision = -1;

class Continued implements ContinuedStore {
  readonly election?: Election;
  readonly #store: Store;
  readonly #keys: ContinuedStoreKeys;
  #state: State = { offset: 0, since: 0, isWhole: true };

  constructor(store: Store, keys: ContinuedStoreKeys) {
    if (store.election !== undefined) this.election = store.election;
    this.#store = store;
    this.#keys = keys;
  }

  get wholeSince(): Revision | undefined {
    const { isWhole, since, offset } = this.#state;
    return isWhole ? since && since + offset : undefined;
  }

  async look(): Promise<void> {
    const [marker, origin] = await Promise.all([
      this.#store.get(this.#keys.marker),
      this.#store.get(this.#keys.origin),
    ]);
    this.#take(marker, origin);
  }

  async untilWhole(signal: AbortSignal): Promise<void> {
    for (;;) {
      // Before the look at the marker, so that no change of it is missed.
      const head = await this.#store.head();
      await this.look();
      if (this.#state.isWhole || signal.aborted) return;
      await this.#nextChangeOfMarker(head, signal);
    }
  }

  async commit(transaction: Transaction): Promise<CommitOutcome> {
    const { marker } = this.#keys;
    const checks = transaction.checks.map((check) =>
      // The fence of a leader comes from the store below: no restore ends a term.
      check.key === leaderKey ? check : { key: check.key, modRevision: this.#below(check.modRevision) },
    );
    const outcome = await this.#store.commit({
      ...transaction,
      checks: [...checks, { key: marker, modRevision: 0 }],
    });
    if (outcome.committed) return { committed: true, revision: outcome.revision + this.#state.offset };
    const failed = outcome.failed.filter(({ key }) => key !== marker);
    if (failed.length < outcome.failed.length) {
      throw new FairwayError('NotReady', 'committing a transaction: the store is being restored from a backup');
    }
    return { committed: false, failed: failed.map(({ key, entry }) => ({ key, entry: entry && this.#shown(entry) })) };
  }

  async get(key: string): Promise<Entry | undefined> {
    const entry = await this.#store.get(key);
    return entry === undefined ? undefined : this.#shown(entry);
  }

  async list(prefix: string): Promise<Snapshot> {
    for (;;) {
      const { revision, entries } = await this.#store.list(prefix);
      if (await this.#isWhole(prefix, entries)) {
        const { offset } = this.#state;
        return {
          revision: revision + offset,
          entries: offset === 0 ? entries : entries.map((one) => this.#shown(one)),
        };
      }
      await this.untilWhole(new AbortController().signal);
    }
  }

  async head(): Promise<Revision> {
    return (await this.#store.head()) + this.#state.offset;
  }

  async *watch(after: Revision, signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    const { offset, since } = this.#state;
    // What was shown before the last restore is not part of what came after it.
    if (since > 0 && after < since + offset) throw compacted(after, since + offset);
    try {
      for await (const event of this.#store.watch(after - offset, signal)) {
        if (event.puts.some(({ key }) => key === this.#keys.marker)) {
          this.#state = { ...this.#state, isWhole: false };
          await this.untilWhole(signal);
          if (signal.aborted) return;
          throw compacted(after, event.revision + offset);
        }
        if (offset === 0) yield event;
        else {
          const puts = event.puts.map((entry) => this.#shown(entry));
          yield { revision: event.revision + offset, puts, deletes: event.deletes };
        }
      }
    } catch (error) {
      const floor = error instanceof FairwayError ? error.extra['compactedRevision'] : undefined;
      throw typeof floor === 'number' && offset !== 0 ? compacted(after, floor + offset) : error;
    }
  }

  silentForMs(): number {
    return this.#store.silentForMs?.() ?? 0;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Whether what was listed just now is all of one content; what is shown of it follows from the state after this. */
  async #isWhole(prefix: string, entries: readonly Entry[]): Promise<boolean> {
    const { marker, origin } = this.#keys;
    if (marker.startsWith(prefix) && origin.startsWith(prefix)) {
      const find = (wanted: string) => entries.find(({ key }) => key === wanted);
      this.#take(find(marker), find(origin));
      return this.#state.isWhole;
    }
    const { since } = this.#state;
    await this.look();
    // Else a restore has begun, or ended, before or after the list.
    return this.#state.isWhole && this.#state.since === since;
  }

  #take(marker: Entry | undefined, origin: Entry | undefined): void {
    const offset = origin === undefined ? 0 : (JSON.parse(origin.value) as Origin).offset;
    this.#state = { offset, since: origin?.modRevision ?? 0, isWhole: marker === undefined };
  }

  async #nextChangeOfMarker(after: Revision, signal: AbortSignal): Promise<void> {
    const { marker } = this.#keys;
    const found = new AbortController();
    try {
      for await (const { puts, deletes } of this.#store.watch(after, AbortSignal.any([signal, found.signal]))) {
        if (deletes.includes(marker) || puts.some(({ key }) => key === marker)) return;
      }
    } catch (error) {
      // So much was written meanwhile that it is time to look again.
      if (!(error instanceof FairwayError && error.code === 'RevisionCompacted')) throw error;
    } finally {
      found.abort();
    }
  }

  #shown(entry: Entry): Entry {
    const { offset } = this.#state;
    if (offset === 0) return entry;
    const { createRevision, modRevision } = entry;
    return { ...entry, createRevision: createRevision + offset, modRevision: modRevision + offset };
  }

  #below(modRevision: Revision | 'exists'): Revision | 'exists' {
    if (modRevision === 'exists' || modRevision === 0) return modRevision;
    return modRevision > this.#state.offset ? modRevision - this.#state.offset : never;
  }
}
