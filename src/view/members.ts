import type { Members } from './collection.ts';

export const noMembers: ReadonlySet<string> = new Set<string>();

/** An adopted set as a fork sees it, without a copy: one member among 100,000 costs one. */
export function overlaidMembers(base: Members, added: ReadonlySet<string>, removed: ReadonlySet<string>): Members {
  if (removed.size === 0) {
    if (added.size === 0) return base;
    if (base.size === 0) return added;
  }
  return new OverlaidMembers(base, added, removed);
}

class OverlaidMembers implements Members {
  readonly #base: Members;
  /** None of them in the base. */
  readonly #added: ReadonlySet<string>;
  /** All of them in the base. */
  readonly #removed: ReadonlySet<string>;

  constructor(base: Members, added: ReadonlySet<string>, removed: ReadonlySet<string>) {
    this.#base = base;
    this.#added = added;
    this.#removed = removed;
  }

  get size(): number {
    return this.#base.size + this.#added.size - this.#removed.size;
  }

  has(key: string): boolean {
    return this.#added.has(key) || (this.#base.has(key) && !this.#removed.has(key));
  }

  *[Symbol.iterator](): Iterator<string> {
    for (const key of this.#base) if (!this.#removed.has(key)) yield key;
    yield* this.#added;
  }
}
