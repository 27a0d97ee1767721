/** What stands in files, as it is in force. */
export interface Followed<T> {
  readonly current: T;
  /** Calls back when it has changed; gives the function that ends it. */
  onChange(listener: (content: T) => void): () => void;
  close(): void;
}

export interface FollowOptions<T> {
  readonly read: () => Promise<T>;
  readonly isSame: (a: T, b: T) => boolean;
  /** Throws when the content cannot be used. Asked once for each content. */
  readonly check: (content: T) => void;
  /** Told of content that cannot be used, once: what was in force stays so. */
  readonly onFault: (error: Error) => void;
  readonly everyMs?: number | undefined;
}

/**
 * Reads files, and reads them again and again: they are small, and watching them misses what is mounted or linked anew.
 * Content that changes is used once it passes the check, so that it does not matter which of several files is written
 * first. Throws what `read` and `check` throw when it cannot be used from the start.
 */
export async function followFiles<T>(options: FollowOptions<T>): Promise<Followed<T>> {
  const { read, isSame, check, onFault, everyMs = 1000 } = options;
  let current = await read();
  check(current);
  const listeners = new Set<(content: T) => void>();
  /** What was told as a fault last, so that it is not told each second. */
  let fault = '';
  let closed = false;
  let timer = setTimeout(look, everyMs);
  timer.unref();

  async function look(): Promise<void> {
    try {
      const next = await read();
      if (!isSame(next, current)) {
        check(next);
        current = next;
        for (const listener of listeners) listener(next);
      }
      fault = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== fault) onFault(error as Error);
      fault = message;
    }
    if (closed) return;
    timer = setTimeout(look, everyMs);
    timer.unref();
  }

  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
