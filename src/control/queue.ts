/** Runs tasks one after another, in the order they came. */
export interface Queue {
  /** Resolves or rejects as the task does; a task that fails stops nobody else. */
  run<T>(task: () => Promise<T> | T): Promise<T>;
}

/**
 * Commits and dry runs share one queue, so that the world under a fork never moves.
 */
export function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run(task) {
      const next = last.then(task);
      last = next.catch(() => undefined);
      return next;
    },
  };
}
