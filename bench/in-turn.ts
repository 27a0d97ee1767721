/** Keeps the order of what is asked for under one key, and lets the keys go side by side. */
export interface InTurn<K> {
  /** Runs the task once the former one of the key has ended well. */
  run(key: K, task: () => Promise<void>): Promise<void>;
  /** Resolves when all have; rejects with the first that failed. */
  ended(): Promise<void>;
}

export function createInTurn<K>(): InTurn<K> {
  const last = new Map<K, Promise<void>>();
  return {
    run(key, task) {
      const former = last.get(key);
      const running = former === undefined ? task() : former.then(task);
      // Whoever waits for the end is told.
      running.catch(() => undefined);
      last.set(key, running);
      return running;
    },
    async ended() {
      await Promise.all(last.values());
    },
  };
}
