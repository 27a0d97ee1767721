import { FairwayError } from '../lib/errors.ts';
import { type Election, type Leadership, leaderKey, type Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** What the leader alone does; made anew for each term, since what a former one knew may be long out of date. */
export interface LeaderWork {
  close(): Promise<unknown>;
}

/** Whether this process leads. One per controller. */
export interface Leader<W extends LeaderWork> {
  /** Undefined: another leads, or nobody. */
  readonly current: { readonly term: number; readonly since: number; readonly work: W } | undefined;
  /** Ends the work and gives the place to another. */
  close(): Promise<void>;
}

export interface LeaderOptions<W extends LeaderWork> {
  readonly store: Store;
  /** What this run of this process says of itself. */
  readonly candidate: string;
  /** Begins the work of a term; all that it writes goes to `store`, which is fenced. */
  readonly begin: (store: Store, term: number) => W;
  readonly onChange: () => void;
  readonly now: () => number;
  readonly log: Logger;
}

/** Who has an embedded store is alone with it. */
const alone: Leadership = {
  term: 1,
  fence: [],
  lost: new AbortController().signal,
  resign: async () => undefined,
};

/**
 * Runs for leader, works for as long as it is one, and runs again:
 *
 *     campaign ──won──▶ work ──lost, or a write refused by the fence──▶ stop work ──▶ campaign
 *
 * On an embedded store it leads from the start, without a turn of the event loop in between.
 */
export function createLeader<W extends LeaderWork>(options: LeaderOptions<W>): Leader<W> {
  const { store, log } = options;
  const closing = new AbortController();
  let current: { readonly term: number; readonly since: number; readonly work: W } | undefined;

  function begin(leadership: Leadership): void {
    const { term } = leadership;
    const work = options.begin(leadership === alone ? store : fencedStore(store, leadership), term);
    current = { term, since: options.now(), work };
    options.onChange();
  }

  async function end(leadership: Leadership): Promise<void> {
    const work = current?.work;
    current = undefined;
    options.onChange();
    await work?.close();
    await leadership.resign();
  }

  async function lead(election: Election): Promise<void> {
    while (!closing.signal.aborted) {
      const leadership = await election.campaign(options.candidate, closing.signal);
      log.info({ event: 'leadership_won', term: leadership.term });
      begin(leadership);
      await aborted(AbortSignal.any([leadership.lost, closing.signal]));
      if (!closing.signal.aborted) log.warn({ event: 'leadership_lost', term: leadership.term });
      await end(leadership);
    }
  }

  let leading: Promise<void>;
  if (store.election === undefined) {
    begin(alone);
    leading = aborted(closing.signal).then(() => end(alone));
  } else {
    leading = lead(store.election).catch((error: unknown) => {
      if (!closing.signal.aborted) log.error({ event: 'election_failed', err: error });
    });
  }
  return {
    get current() {
      return current;
    },
    async close() {
      closing.abort();
      await leading;
    },
  };
}

/**
 * The store as a leader writes to it: every commit holds only as long as its term does. A refusal by the fence ends the
 * term at once, before anything else is begun.
 */
export function fencedStore(store: Store, leadership: Leadership): Store {
  const over = (doing: string) => new FairwayError('StoreUnavailable', `${doing}: another controller may lead now`);
  return {
    async commit(transaction) {
      if (leadership.lost.aborted) throw over('committing as leader');
      const checks = [...leadership.fence, ...transaction.checks];
      const outcome = await store.commit({ ...transaction, checks });
      if (!outcome.committed && outcome.failed.some(({ key }) => key === leaderKey)) {
        void leadership.resign();
        throw over('committing as leader');
      }
      return outcome;
    },
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    head: () => store.head(),
    watch: (after, signal) => store.watch(after, signal),
    close: () => store.close(),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
