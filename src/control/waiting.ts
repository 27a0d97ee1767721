import { FairwayError } from '../lib/errors.ts';

/** Those who wait until the View has reached a revision of the store. */
export interface Waiting {
  /** Rejects with `RevisionTimeout`, with the reason of `signal`, or with `NotReady` when the wait is closed. */
  until(revision: number, options: { timeoutMs: number; signal?: AbortSignal }): Promise<void>;
  /** Lets those go who wait for this revision or an earlier one. */
  reached(revision: number): void;
  close(): void;
}

interface Waiter {
  readonly revision: number;
  end(error?: unknown): void;
}

export function createWaiting(): Waiting {
  const waiters = new Set<Waiter>();
  let current = 0;
  let isClosed = false;

  return {
    until(revision, { timeoutMs, signal }) {
      if (current >= revision) return Promise.resolve();
      if (isClosed) return Promise.reject(closed(revision));
      if (signal?.aborted) return Promise.reject(signal.reason);
      return new Promise((resolve, reject) => {
        const onAbort = (): void => waiter.end(signal?.reason);
        const waiter: Waiter = {
          revision,
          end(error) {
            clearTimeout(timer);
            waiters.delete(waiter);
            signal?.removeEventListener('abort', onAbort);
            if (error === undefined) resolve();
            else reject(error);
          },
        };
        const timer = setTimeout(() => {
          const message = `waiting for revision ${revision}: this controller is at ${current}`;
          waiter.end(new FairwayError('RevisionTimeout', message));
        }, timeoutMs);
        signal?.addEventListener('abort', onAbort, { once: true });
        waiters.add(waiter);
      });
    },
    reached(revision) {
      current = revision;
      for (const waiter of [...waiters]) if (waiter.revision <= revision) waiter.end();
    },
    close() {
      isClosed = true;
      for (const waiter of [...waiters]) waiter.end(closed(waiter.revision));
    },
  };
}

function closed(revision: number): FairwayError {
  return new FairwayError('NotReady', `waiting for revision ${revision}: this controller is stopping`);
}
