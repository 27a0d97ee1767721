import { InvariantError } from '../lib/errors.ts';
import type { CommitOutcome, Store, Transaction } from '../store/store.ts';

/**
 * Commits that are asked for at the same moment as one, and few of these a second: a fleet that connects at once is some
 * commits, not thousands. Each is decided by its own checks all the same: those whose do not hold are left out of the next try.
 */
export interface Together {
  commit(transaction: Omit<Transaction, 'id'>): Promise<CommitOutcome>;
  /** From now on nothing waits for its turn: the end has come. */
  hurry(): void;
}

export interface TogetherOptions {
  readonly store: Pick<Store, 'commit'>;
  readonly newId: () => string;
  /** Transactions in one commit; what they write must be within the limits of one. */
  readonly atMost: number;
  /** Commits for ever, and at once after a rest. */
  readonly perSecond: number;
  readonly burst: number;
}

interface Asked {
  readonly transaction: Omit<Transaction, 'id'>;
  resolve(outcome: CommitOutcome): void;
  reject(error: unknown): void;
}

export function createTogether({ store, newId, atMost, perSecond, burst }: TogetherOptions): Together {
  const waiting: Asked[] = [];
  const pace = createPace(perSecond, burst);
  let working = false;

  async function work(): Promise<void> {
    working = true;
    while (waiting.length > 0) {
      await pace.turn();
      await decide(waiting.splice(0, atMost));
    }
    working = false;
  }

  async function decide(asked: readonly Asked[]): Promise<void> {
    let left = asked;
    try {
      while (left.length > 0) left = await attempt(left);
    } catch (error) {
      for (const one of left) one.reject(error);
    }
  }

  /** Those that are still to be decided. */
  async function attempt(asked: readonly Asked[]): Promise<readonly Asked[]> {
    const all = asked.map(({ transaction }) => transaction);
    const outcome = await store.commit({
      id: newId(),
      checks: all.flatMap(({ checks }) => checks),
      puts: all.flatMap(({ puts }) => puts),
      deletes: all.flatMap(({ deletes }) => deletes),
    });
    if (outcome.committed) {
      for (const one of asked) one.resolve(outcome);
      return [];
    }
    const left: Asked[] = [];
    for (const one of asked) {
      const keys = new Set(one.transaction.checks.map(({ key }) => key));
      const failed = outcome.failed.filter(({ key }) => keys.has(key));
      if (failed.length > 0) one.resolve({ committed: false, failed });
      else left.push(one);
    }
    if (left.length === asked.length)
      throw new InvariantError('committing together: no check failed, and yet not all held');
    return left;
  }

  return {
    commit: (transaction) =>
      new Promise((resolve, reject) => {
        waiting.push({ transaction, resolve, reject });
        // Those that are asked for in the same step come along.
        if (!working) {
          working = true;
          queueMicrotask(() => void work());
        }
      }),
    hurry: () => pace.hurry(),
  };
}

/** One turn after another: some at once, then so many a second. */
function createPace(perSecond: number, burst: number): { turn(): Promise<void>; hurry(): void } {
  let permits = burst;
  let filledAt = performance.now();
  let hurried = false;
  let wake: () => void = () => undefined;
  return {
    async turn() {
      const now = performance.now();
      permits = Math.min(burst, permits + ((now - filledAt) * perSecond) / 1_000);
      filledAt = now;
      permits -= 1;
      if (permits >= 0 || hurried) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, (-permits * 1_000) / perSecond);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    hurry() {
      hurried = true;
      wake();
    },
  };
}
