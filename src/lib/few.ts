/**
 * Maps and sets that nearly always hold nothing or very little, of which there are tens of thousands. The language's own
 * make a new table whenever the last entry goes or a few have come and gone; a thousand streams that take one change
 * each would leave so much behind that the collector cannot keep up.
 */

/** As many are found faster one by one than by their hash. */
const maxFew = 4;

/** What both are made of. */
class Few<K, V> {
  /** Keys and values by turns; the first `#count` of them are taken. Its length never changes. */
  #few: (K | V | undefined)[] | undefined;
  #count = 0;
  #many: Map<K, V> | undefined;

  get size(): number {
    return this.#many === undefined ? this.#count : this.#many.size;
  }

  #placeOf(key: K): number {
    const few = this.#few as (K | V | undefined)[];
    for (let at = 0; at < this.#count; at += 1) if (few[2 * at] === key) return at;
    return -1;
  }

  protected find(key: K): V | undefined {
    if (this.#many !== undefined) return this.#many.get(key);
    if (this.#count === 0) return undefined;
    const place = this.#placeOf(key);
    return place < 0 ? undefined : (this.#few?.[2 * place + 1] as V);
  }

  has(key: K): boolean {
    if (this.#many !== undefined) return this.#many.has(key);
    return this.#count > 0 && this.#placeOf(key) >= 0;
  }

  protected put(key: K, value: V): void {
    if (this.#many !== undefined) {
      this.#many.set(key, value);
      return;
    }
    this.#few ??= new Array(2 * maxFew).fill(undefined);
    const known = this.#placeOf(key);
    if (known < 0 && this.#count === maxFew) {
      this.#many = new Map([...this.entries(), [key, value]]);
      this.#forgetFew();
      return;
    }
    const place = known < 0 ? this.#count : known;
    this.#few[2 * place] = key;
    this.#few[2 * place + 1] = value;
    if (known < 0) this.#count += 1;
  }

  /** False when it was not there. */
  delete(key: K): boolean {
    if (this.#many !== undefined) {
      const wasThere = this.#many.delete(key);
      if (this.#many.size === 0) this.#many = undefined;
      return wasThere;
    }
    if (this.#count === 0) return false;
    const place = this.#placeOf(key);
    if (place < 0) return false;
    const few = this.#few as (K | V | undefined)[];
    this.#count -= 1;
    few.copyWithin(2 * place, 2 * place + 2, 2 * this.#count + 2);
    few.fill(undefined, 2 * this.#count, 2 * this.#count + 2);
    return true;
  }

  clear(): void {
    this.#many = undefined;
    if (this.#count > 0) this.#forgetFew();
  }

  #forgetFew(): void {
    this.#few?.fill(undefined);
    this.#count = 0;
  }

  *entries(): Generator<[K, V]> {
    if (this.#many !== undefined) {
      yield* this.#many;
      return;
    }
    if (this.#count === 0) return;
    const few = this.#few as (K | V | undefined)[];
    const keys = few.filter((_, at) => at % 2 === 0 && at < 2 * this.#count) as K[];
    for (const key of keys) if (this.has(key)) yield [key, this.find(key) as V];
  }

  *keys(): Generator<K> {
    for (const [key] of this.entries()) yield key;
  }
}

/**
 * A map in the order of insertion. An iteration gives what was there at its beginning and still is when its turn comes;
 * beyond a few entries it may give later ones as well.
 */
export class FewMap<K, V> extends Few<K, V> {
  get(key: K): V | undefined {
    return this.find(key);
  }

  set(key: K, value: V): this {
    this.put(key, value);
    return this;
  }

  *values(): Generator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): Generator<[K, V]> {
    return this.entries();
  }
}

/** A set in the order of insertion; for its iteration see {@link FewMap}. */
export class FewSet<K> extends Few<K, true> {
  add(key: K): this {
    this.put(key, true);
    return this;
  }

  [Symbol.iterator](): Generator<K> {
    return this.keys();
  }
}
