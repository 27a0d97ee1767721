/** What is to be closed, the newest first. */
export interface Closers {
  add(closer: () => unknown): void;
  /** Closes all, each when the one before has ended; throws the first failure after the last. */
  close(): Promise<void>;
}

export function createClosers(): Closers {
  const closers: (() => unknown)[] = [];
  return {
    add: (closer) => void closers.push(closer),
    async close() {
      const failures: unknown[] = [];
      // What cannot be closed must not keep open what is below it: the store above all.
      for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
        try {
          await closer();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
