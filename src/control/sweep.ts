/**
 * Goes over a collection bit by bit, whenever it is asked to: asked while it goes, it goes over all of it once more
 * afterwards. To ask costs nothing, so it may be done for each of a thousand proxies that come at once.
 */
export interface Sweep<T> {
  ask(): void;
  /** There is more to be gone over. */
  readonly pending: boolean;
  /** The next one; undefined: that was all. */
  next(): T | undefined;
}

export function createSweep<T>(all: () => Iterable<T>): Sweep<T> {
  let running: Iterator<T> | undefined;
  let asked = false;
  return {
    ask() {
      asked = true;
    },
    get pending() {
      return asked || running !== undefined;
    },
    next() {
      for (;;) {
        if (running === undefined) {
          if (!asked) return undefined;
          asked = false;
          running = all()[Symbol.iterator]();
        }
        const { done, value } = running.next();
        if (done !== true) return value;
        running = undefined;
      }
    },
  };
}
