/** Sets of names of which nearly all streams have the same: a part that is shared and never changes, and a stream's own. */

import { FewSet } from '../lib/few.ts';
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
  readonly #deleted = new FewSet<string>();
  readonly #own = new FewSet<string>();
  /** There are such: asked a thousand times for each change, and hardly ever so. */
  #differs = false;

  get size(): number {
    return this.#shared.size - this.#deleted.size + this.#own.size;
  }

  has(name: string): boolean {
    if (!this.#differs) return this.#shared.has(name);
    return this.#own.has(name) || (this.#shared.has(name) && !this.#deleted.has(name));
  }

  add(name: string): void {
    if (!this.#shared.has(name)) this.#own.add(name);
    else if (this.#deleted.size > 0) this.#deleted.delete(name);
    this.#note();
  }

  /** They are not changed any more, and are those of many streams. */
  *addAll(names: Names): Pieces {
    if (this.size > 0) {
      yield* each(names.keys(), (name) => this.add(name));
      return;
    }
    this.#shared = names;
    this.#deleted.clear();
    this.#note();
  }

  /** False when it was not there. */
  delete(name: string): boolean {
    const wasThere = this.has(name);
    if (!this.#own.delete(name) && wasThere) this.#deleted.add(name);
    this.#note();
    return wasThere;
  }

  #note(): void {
    this.#differs = this.#own.size > 0 || this.#deleted.size > 0;
  }

  *[Symbol.iterator](): Generator<string> {
    for (const name of this.#shared.keys()) if (!this.#deleted.has(name)) yield name;
    yield* this.#own;
  }
}
