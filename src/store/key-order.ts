/** What a transaction does with keys; two of them meet where one writes a key that the other names. */
export interface Footprint {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

interface Users {
  /** The last writer has ended. */
  written: Promise<unknown>;
  /** Those that have read since. */
  read: Promise<unknown>;
  /** How many are waiting or under way: the key is forgotten with the last of them. */
  count: number;
}

/**
 * Lets work that meets at a key run in the order in which it was asked for, and all other work at once. One per store:
 * a server that takes calls in parallel gives no order by itself.
 */
export class KeyOrder {
  readonly #keys = new Map<string, Users>();

  /** Runs `work` after all earlier work that it meets has ended, however that ended. */
  run<T>({ reads, writes }: Footprint, work: () => Promise<T>): Promise<T> {
    const written = new Set(writes);
    const onlyRead = new Set(reads.filter((key) => !written.has(key)));
    const before: Promise<unknown>[] = [];
    for (const key of written) {
      const users = this.#enter(key);
      before.push(users.written, users.read);
    }
    for (const key of onlyRead) before.push(this.#enter(key).written);

    const result = Promise.all(before).then(work);
    const over = result.then(
      () => undefined,
      () => undefined,
    );
    for (const key of written) {
      const users = this.#keys.get(key) as Users;
      users.written = over;
      users.read = over;
    }
    for (const key of onlyRead) {
      const users = this.#keys.get(key) as Users;
      users.read = Promise.all([users.read, over]);
    }
    void over.then(() => {
      for (const key of [...written, ...onlyRead]) this.#leave(key);
    });
    return result;
  }

  #enter(key: string): Users {
    const users = this.#keys.get(key) ?? { written: Promise.resolve(), read: Promise.resolve(), count: 0 };
    users.count += 1;
    this.#keys.set(key, users);
    return users;
  }

  #leave(key: string): void {
    const users = this.#keys.get(key) as Users;
    users.count -= 1;
    if (users.count === 0) this.#keys.delete(key);
  }
}
