/** Something that is done again whenever it may be out of date, at most once at a time. */
export interface Latest {
  /** Asks for a run that begins after this call. Calls while one is pending merge into it. */
  nudge(): void;
  /** No further runs; resolves when the one under way has ended. */
  close(): Promise<void>;
}

/**
 * Runs `task` at most once at a time, with at most one run pending. A nudge is followed by a run within
 * `holdOffMs`, the time in which nudges merge. `task` may not throw for expected failures: what it throws goes to
 * `onError`.
 */
export function createLatest(options: {
  task: () => Promise<void>;
  holdOffMs: number;
  onError: (error: unknown) => void;
}): Latest {
  let wanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function runWhileWanted(): Promise<void> {
    while (wanted && !closed) {
      wanted = false;
      try {
        await options.task();
      } catch (error) {
        options.onError(error);
      }
    }
    // In the same step as the last look at `wanted`: a nudge that comes a microtask later starts a run of its own.
    running = undefined;
  }

  function start(): void {
    timer = undefined;
    if (running === undefined && !closed) running = runWhileWanted();
  }

  return {
    nudge() {
      if (closed) return;
      wanted = true;
      if (running === undefined) timer ??= setTimeout(start, options.holdOffMs);
    },
    async close() {
      closed = true;
      if (timer !== undefined) clearTimeout(timer);
      timer = undefined;
      await running;
    },
  };
}
