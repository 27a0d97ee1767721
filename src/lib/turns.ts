/** Something that waits in {@link Turns}; it may be in one of them. */
export interface InTurn {
  /** Kept by the queue: where it stands, and {@link notInTurn} at first. */
  turn: number;
}

export const notInTurn = -1;

/** Places that were left are kept while there are no more than these, or than those who wait. */
const minTidied = 1_024;

/**
 * A queue in which each stands once, first come, first served. Those who wait know their places: a thousand of them come
 * and go with each change, and a set of them would be made anew as often.
 */
export class Turns<T extends InTurn> {
  #queue: (T | undefined)[] = [];
  /** Of the next one in `#queue`. */
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** To the end, unless it waits already. */
  add(one: T): void {
    if (one.turn !== notInTurn) return;
    if (this.#queue.length > minTidied + 2 * this.#size) this.#tidy();
    one.turn = this.#queue.length;
    this.#queue.push(one);
    this.#size += 1;
  }

  /** It waits no longer. */
  delete(one: T): void {
    if (one.turn === notInTurn) return;
    this.#queue[one.turn] = undefined;
    one.turn = notInTurn;
    this.#size -= 1;
  }

  /** The one whose turn it is, who then waits no longer; undefined: nobody waits. */
  take(): T | undefined {
    while (this.#head < this.#queue.length) {
      const one = this.#queue[this.#head];
      this.#head += 1;
      if (one === undefined) continue;
      this.delete(one);
      return one;
    }
    this.#queue.length = 0;
    this.#head = 0;
    return undefined;
  }

  #tidy(): void {
    this.#queue = this.#queue.filter((one) => one !== undefined);
    this.#head = 0;
    for (const [at, one] of this.#queue.entries()) if (one !== undefined) one.turn = at;
  }
}
