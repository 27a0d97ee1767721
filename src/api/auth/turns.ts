/** Lets few do something costly at a time. One more than may wait is turned away. */
export interface Turns {
  /** Undefined: too many wait already. */
  run<T>(task: () => Promise<T>): Promise<T | undefined>;
}

export function createTurns({ atOnce, waiting: maxWaiting }: { atOnce: number; waiting: number }): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(task) {
      if (running >= atOnce) {
        if (waiting.length >= maxWaiting) return undefined;
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else {
        running += 1;
      }
      try {
        return await task();
      } finally {
        // The turn goes to the next in line as it is, so that nobody comes in between.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
