import { FairwayError, InvariantError } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Revision, WatchEvent } from './store.ts';

/** How far a log reaches back: over either number the oldest commits are dropped; the newest is always kept. */
export interface LogBounds {
  readonly revisions: number;
  /** Size of keys and values, counted roughly (UTF-16 units and an allowance for each event and operation). */
  readonly bytes: number;
}

export interface ChangeLogOptions {
  /** Revision of the store when the log begins. */
  readonly head?: Revision;
  /** Revisions may be skipped: the store shares their numbers with others. Elsewhere a gap is a lost commit, a bug. */
  readonly gaps?: boolean;
  readonly bounds: LogBounds;
  /**
   * Where commits that are no longer held here can still be read: the next few after `after`, in order, at least one.
   * Throws `RevisionCompacted` (see {@link compacted}) when it does not reach back that far either.
   */
  readonly older?: (after: Revision) => Promise<readonly WatchEvent[]>;
}

/** A watcher that catches up gives the event loop to others after so many events. */
const eventsPerTurn = 256;

/**
 * The newest commits of a store, in order, for its watchers. One per store.
 *
 * A watcher is nothing but a revision: it reads the log at its own pace and waits when it has reached the head. So
 * a slow watcher costs no memory, and one that falls behind the log reads on from `older`, or is told that its
 * revision is compacted.
 *
 * ```
 *        older (disk)          │        held here        │
 *   ───────────────────────────┼─────────────────────────┼──▶ revision
 *                            floor                     head
 * ```
 */
export class ChangeLog {
  readonly #bounds: LogBounds;
  readonly #gaps: boolean;
  readonly #older: ((after: Revision) => Promise<readonly WatchEvent[]>) | undefined;
  readonly #sleepers = new Set<() => void>();
  /** The commits after `#floor`, from `#start`; the places before it are empty and cut off from time to time. */
  #events: (WatchEvent | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  #head: Revision;
  #floor: Revision;
  #closed: FairwayError | undefined;

  constructor(options: ChangeLogOptions) {
    this.#bounds = options.bounds;
    this.#gaps = options.gaps ?? false;
    this.#older = options.older;
    this.#head = options.head ?? 0;
    this.#floor = this.#head;
  }

  get head(): Revision {
    return this.#head;
  }

  /** Commits up to this one are no longer held here. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Adds the next commit and wakes the watchers. */
  append(event: WatchEvent): void {
    if (!this.#follows(event.revision, this.#head)) {
      throw new InvariantError(`appending commit ${event.revision} to a change log that ends at ${this.#head}`);
    }
    this.#events.push(event);
    this.#head = event.revision;
    this.#bytes += sizeOf(event);
    this.#trim();
    this.#wake();
  }

  /** Drops all commits but the newest. */
  compact(): void {
    const [last, newest] = this.#events.slice(Math.max(this.#start, this.#events.length - 2));
    // Of one commit alone there is nothing to drop.
    if (last === undefined || newest === undefined) return;
    this.#events = [newest];
    this.#start = 0;
    this.#bytes = sizeOf(newest);
    this.#floor = last.revision;
  }

  /** See `Store.watch`. */
  async *watch(after: Revision, signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    let reached = after;
    let run = 0;
    for (;;) {
      if (signal.aborted) return;
      if (this.#closed !== undefined) throw this.#closed;
      if (reached >= this.#head) {
        await this.#sleep(signal);
        run = 0;
      } else if (reached < this.floor) {
        const events = await this.#readOlder(reached).catch((error: unknown) => {
          if (signal.aborted) return [];
          throw error;
        });
        for (const event of events) {
          if (signal.aborted) return;
          if (!this.#follows(event.revision, reached)) {
            throw new InvariantError(`reading older commits: ${event.revision} came after ${reached}`);
          }
          yield event;
          reached = event.revision;
        }
      } else {
        const event = this.#events[this.#indexAfter(reached)] as WatchEvent;
        yield event;
        reached = event.revision;
        run += 1;
        if (run % eventsPerTurn === 0) await nextTurn();
      }
    }
  }

  /** Goes on at `head`, where commits were missed: who watches from before it is told that this is compacted. */
  restart(head: Revision): void {
    this.#events = [];
    this.#start = 0;
    this.#bytes = 0;
    this.#head = head;
    this.#floor = head;
    this.#wake();
  }

  /** Ends every watch with `reason`, also those begun later. */
  close(reason: FairwayError): void {
    this.#closed ??= reason;
    this.#events = [];
    this.#start = 0;
    this.#wake();
  }

  #follows(revision: Revision, last: Revision): boolean {
    return this.#gaps ? revision > last : revision === last + 1;
  }

  /** Place of the first commit after `reached`, which is one that is held here. */
  #indexAfter(reached: Revision): number {
    if (!this.#gaps) return this.#start + (reached - this.#floor);
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as WatchEvent).revision <= reached) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async #readOlder(reached: Revision): Promise<readonly WatchEvent[]> {
    if (this.#older === undefined) throw compacted(reached, this.floor);
    const events = await this.#older(reached);
    if (events.length === 0) throw new InvariantError(`reading older commits: none after ${reached}`);
    return events;
  }

  #trim(): void {
    while (this.#events.length - this.#start > 1 && this.#exceeds()) {
      const oldest = this.#events[this.#start] as WatchEvent;
      this.#bytes -= sizeOf(oldest);
      this.#floor = oldest.revision;
      this.#events[this.#start] = undefined;
      this.#start += 1;
    }
    // Cut off when half is empty: each event is moved once on average.
    if (this.#start > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }

  #exceeds(): boolean {
    return this.#events.length - this.#start > this.#bounds.revisions || this.#bytes > this.#bounds.bytes;
  }

  #wake(): void {
    const sleepers = [...this.#sleepers];
    this.#sleepers.clear();
    for (const wake of sleepers) wake();
  }

  /** Until the next commit, the end of the log, or the end of the watch. */
  async #sleep(signal: AbortSignal): Promise<void> {
    const { promise, resolve: wake } = Promise.withResolvers<void>();
    const onAbort = () => wake();
    this.#sleepers.add(wake);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      this.#sleepers.delete(wake);
      signal.removeEventListener('abort', onAbort);
    }
  }
}

/** The error of a watch whose `after` is below what is kept. */
export function compacted(after: Revision, floor: Revision): FairwayError {
  return new FairwayError(
    'RevisionCompacted',
    `watching from revision ${after}: the log begins after revision ${floor}; list anew and watch from there`,
    { extra: { compactedRevision: floor } },
  );
}

/** Rough cost of an event in memory; 64 stands for the objects around the text. */
export function sizeOf(event: WatchEvent): number {
  let size = 64;
  for (const { key, value } of event.puts) size += 64 + key.length + value.length;
  for (const key of event.deletes) size += 64 + key.length;
  return size;
}
