import { placeIn } from '../lib/place-in.ts';

/** What is counted, and how it is told apart. */
export interface TallyOptions<T> {
  readonly keyOf: (value: T) => string;
  /** Values of one key that say the same have the same text, and no others do. */
  readonly textOf: (value: T) => string;
  /** What stands for several values of one key, whatever their order. */
  readonly together: (values: readonly T[]) => T;
}

/** What there is of one key. */
interface Held<T> {
  /** What stands in the list. */
  value: T;
  /** How often it was added. */
  count: number;
  /** Where they are several: each by its text, with how often it was added. */
  several: Map<string, { readonly value: T; count: number }> | undefined;
}

/** So many changed keys are put in their places one by one; of more, and of a large share, the list is made anew. */
const maxPlaced = 64;

/**
 * Values that come and go with what brings them, several times each, as a list with one for each key, in the order of
 * the keys. It depends on what is there and not on how it came to be there; a change costs itself, and a copy of the
 * list. What is not changed stays the same value.
 */
export class Tally<T> {
  readonly #options: TallyOptions<T>;
  readonly #held = new Map<string, Held<T>>();
  readonly #touched = new Set<string>();
  #list: readonly T[] = [];

  constructor(options: TallyOptions<T>) {
    this.#options = options;
  }

  add(value: T): void {
    const { keyOf } = this.#options;
    const key = keyOf(value);
    const held = this.#held.get(key);
    if (held === undefined) {
      this.#held.set(key, { value, count: 1, several: undefined });
      this.#touched.add(key);
    } else if (held.several === undefined && this.#says(held.value, value)) {
      held.count += 1;
    } else {
      this.#addVariant(key, held, value);
    }
  }

  /** Takes back what was added. */
  remove(value: T): void {
    const key = this.#options.keyOf(value);
    const held = this.#held.get(key);
    if (held === undefined) return;
    if (held.several === undefined) {
      held.count -= 1;
      if (held.count > 0) return;
      this.#held.delete(key);
      this.#touched.add(key);
    } else {
      this.#removeVariant(key, held, held.several, value);
    }
  }

  /** Immutable: another one once something has changed. */
  get list(): readonly T[] {
    const { keyOf, together } = this.#options;
    if (this.#touched.size === 0) return this.#list;
    for (const key of this.#touched) {
      const held = this.#held.get(key);
      if (held?.several !== undefined) held.value = together([...held.several.values()].map(({ value }) => value));
    }
    if (this.#touched.size > Math.min(maxPlaced, this.#list.length / 8)) {
      const entries = [...this.#held].sort(([a], [b]) => (a < b ? -1 : 1));
      this.#list = entries.map(([, { value }]) => value);
    } else {
      const list = [...this.#list];
      for (const key of this.#touched) {
        const at = placeIn(list, key, keyOf);
        const there = list[at];
        const known = there !== undefined && keyOf(there) === key ? 1 : 0;
        const held = this.#held.get(key);
        list.splice(at, known, ...(held === undefined ? [] : [held.value]));
      }
      this.#list = list;
    }
    this.#touched.clear();
    return this.#list;
  }

  #says(a: T, b: T): boolean {
    return a === b || this.#options.textOf(a) === this.#options.textOf(b);
  }

  #addVariant(key: string, held: Held<T>, value: T): void {
    const { textOf } = this.#options;
    held.several ??= new Map([[textOf(held.value), { value: held.value, count: held.count }]]);
    const text = textOf(value);
    const known = held.several.get(text);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    held.several.set(text, { value, count: 1 });
    this.#touched.add(key);
  }

  #removeVariant(key: string, held: Held<T>, several: NonNullable<Held<T>['several']>, value: T): void {
    const text = this.#options.textOf(value);
    const known = several.get(text);
    if (known === undefined) return;
    known.count -= 1;
    if (known.count > 0) return;
    several.delete(text);
    this.#touched.add(key);
    const [sole] = several.values();
    if (several.size > 1 || sole === undefined) return;
    held.value = sole.value;
    held.count = sole.count;
    held.several = undefined;
  }
}
