/** Sets of names of which nearly all streams have the same: a part that is shared and never changes, and a stream's own. */

import { each, type Pieces } from './pieces.ts';

/** What a shared part is read by: a set, or a map with the names as keys. */
export interface Names {
  readonly size: number;
  has(name: string): boolean;
  keys(): Iterable<string>;
}

/** Names of one type in an order, each once, and where each stands. It never changes. */
export interface NameList {
  readonly names: readonly string[];
  readonly places: ReadonlyMap<string, number>;
}

const none: Names = new Set<string>();

/** Reads and changes like a set. */
export class NameSet {
  #shared: Names = none;
  /** Of the shared ones. */
  readonly #deleted = new Set<string>();
  readonly #own = new Set<string>();

  get size(): number {
    return this.#shared.size - this.#deleted.size + this.#own.size;
  }

  has(name: string): boolean {
    if (this.#own.size > 0 && this.#own.has(name)) return true;
    return this.#shared.has(name) && (this.#deleted.size === 0 || !this.#deleted.has(name));
  }

  add(name: string): void {
    if (!this.#shared.has(name)) this.#own.add(name);
    else if (this.#deleted.size > 0) this.#deleted.delete(name);
  }

  /** They are not changed any more, and are those of many streams. */
  *addAll(names: Names): Pieces {
    if (this.size > 0) {
      yield* each(names.keys(), (name) => this.add(name));
      return;
    }
    this.#shared = names;
    this.#deleted.clear();
  }

  /** False when it was not there. */
  delete(name: string): boolean {
    if (this.#own.delete(name)) return true;
    if (!this.has(name)) return false;
    this.#deleted.add(name);
    return true;
  }

  *[Symbol.iterator](): Generator<string> {
    for (const name of this.#shared.keys()) if (!this.#deleted.has(name)) yield name;
    yield* this.#own;
  }
}
