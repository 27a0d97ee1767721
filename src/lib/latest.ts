import { backoffMs } from './backoff.ts';

/** Something that is done again whenever it may be out of date, at most once at a time. */
export interface Latest {
  /** Asks for a run that begins after this call. Calls while one is pending merge into it. */
  nudge(): void;
  /** No further runs; resolves when the one under way has ended. */
  close(): Promise<void>;
}

export interface LatestOptions {
  readonly task: () => Promise<void>;
  /** The time in which nudges merge. */
  readonly holdOffMs: number;
  /** Gets what `task` throws, before it is run again. */
  readonly onError: (error: unknown) => void;
}

/** Pauses after failures in a row. Nobody else waits for the same, so that no jitter is needed. */
const retry = { baseMs: 100, maxMs: 10_000, random: 0.5 } as const;

/**
 * Runs `task` at most once at a time, with at most one run pending. A nudge is followed by a run: `holdOffMs` after it,
 * or after the end of the run that was under way. A run that failed is repeated by itself, after longer and longer
 * pauses.
 */
export function createLatest({ task, holdOffMs, onError }: LatestOptions): Latest {
  let wanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let closed = false;

  async function run(): Promise<void> {
    wanted = false;
    let pauseMs = holdOffMs;
    try {
      await task();
      failures = 0;
    } catch (error) {
      onError(error);
      wanted = true;
      pauseMs = Math.max(holdOffMs, backoffMs(failures, retry));
      failures += 1;
    }
    // In the same step as the look at `wanted`: a nudge that comes a microtask later sets a timer of its own.
    running = undefined;
    if (wanted) schedule(pauseMs);
  }

  function schedule(pauseMs: number): void {
    if (closed || running !== undefined) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      running = run();
    }, pauseMs);
  }

  return {
    nudge() {
      wanted = true;
      schedule(holdOffMs);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
