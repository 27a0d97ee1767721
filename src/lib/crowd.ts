/** Something that may be in a {@link Crowd}, in one at a time. */
export interface InCrowd {
  /** Kept by the crowd: where it stands, and {@link notInCrowd} at first. */
  place: number;
}

export const notInCrowd = -1;

/**
 * A set of objects that know their own places in it, in no order. To come and to go costs nothing but that, and leaves
 * nothing behind.
 */
export class Crowd<T extends InCrowd> {
  readonly #all: T[] = [];

  get size(): number {
    return this.#all.length;
  }

  add(one: T): void {
    if (one.place !== notInCrowd) return;
    one.place = this.#all.length;
    this.#all.push(one);
  }

  delete(one: T): void {
    if (one.place === notInCrowd) return;
    const last = this.#all.pop() as T;
    if (last !== one) {
      this.#all[one.place] = last;
      last.place = one.place;
    }
    one.place = notInCrowd;
  }

  /** While it is gone through, nothing may come or go. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#all.values();
  }
}
