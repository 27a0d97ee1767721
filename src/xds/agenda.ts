/**
 * Names of one type to be looked at on one stream, and which of them are to be answered even if the client holds the
 * same (rules 21, 23, 35). A long list is gone through from its beginning and never taken apart.
 */
import { FewSet } from '../lib/few.ts';
import type { NameList } from './name-set.ts';
import { each, type Pieces } from './pieces.ts';

/** A list under way. */
export interface Course {
  readonly list: NameList;
  /** Place of the next name to be looked at. */
  readonly at: number;
  /** Nothing was on its way or held when it began, and nothing in it has been dealt with out of its turn. */
  readonly isFresh: boolean;
}

export class Agenda {
  readonly #single = new FewSet<string>();
  readonly #forced = new FewSet<string>();
  #list: NameList | undefined;
  #at = 0;
  /** The names of the list are forced. */
  #forces = false;
  #isFresh = false;
  /** Names of the list from `#at` on that have been dealt with out of their turn. */
  readonly #done = new FewSet<string>();

  get size(): number {
    return this.#single.size + (this.#list === undefined ? 0 : this.#list.names.length - this.#at - this.#done.size);
  }

  /** There is nothing to be looked at, now or when it has waited. */
  get isEmpty(): boolean {
    return this.#list === undefined && this.#single.size === 0 && this.#forced.size === 0;
  }

  has(name: string): boolean {
    return this.#single.has(name) || this.#isListed(name);
  }

  #isListed(name: string): boolean {
    const place = this.#list?.places.get(name);
    return place !== undefined && place >= this.#at && !this.#done.has(name);
  }

  /** Whether the name is to be answered in any case; it may be so and wait. */
  forces(name: string): boolean {
    if (this.#forced.size > 0 && this.#forced.has(name)) return true;
    return this.#forces && this.#isListed(name);
  }

  add(name: string, force = false): void {
    if (!this.#isListed(name)) this.#single.add(name);
    else if (this.#forces) return;
    if (force) this.#forced.add(name);
  }

  /** Puts all names of a list on; `isFresh`: nothing of the type is held or on its way. */
  *addList(list: NameList, force: boolean, isFresh: boolean): Pieces {
    if (this.size > 0) {
      yield* each(list.names, (name) => this.add(name, force));
      return;
    }
    this.#list = list;
    this.#at = 0;
    this.#done.clear();
    this.#forces = force;
    this.#isFresh = isFresh;
    this.#skipDone();
  }

  get course(): Course | undefined {
    if (this.#list === undefined) return undefined;
    const isFresh = this.#isFresh && this.#done.size === 0 && this.#forced.size === 0;
    return { list: this.#list, at: this.#at, isFresh };
  }

  /** So many names of the list are dealt with. */
  pass(count: number): void {
    this.#at += count;
    this.#skipDone();
  }

  /** The name is not to be looked at any more, for now. It stays forced. */
  postpone(name: string): void {
    if (this.#forces && this.#isListed(name)) this.#forced.add(name);
    this.#take(name);
  }

  /** Nothing is to be done about the name. */
  delete(name: string): void {
    if (this.#forced.size > 0) this.#forced.delete(name);
    this.#take(name);
  }

  #take(name: string): void {
    if (this.#single.size > 0) this.#single.delete(name);
    const list = this.#list;
    if (list === undefined) return;
    const place = list.places.get(name);
    if (place === undefined || place < this.#at) return;
    if (place === this.#at) this.pass(1);
    else this.#done.add(name);
  }

  #skipDone(): void {
    const names = this.#list?.names ?? [];
    while (this.#done.size > 0 && this.#done.delete(names[this.#at] as string)) this.#at += 1;
    if (this.#at >= names.length) this.#list = undefined;
  }

  *keys(): Generator<string, undefined> {
    const list = this.#list;
    for (let at = this.#at; list !== undefined && list === this.#list && at < list.names.length; at += 1) {
      const name = list.names[at] as string;
      if (at >= this.#at && !this.#done.has(name)) yield name;
    }
    yield* this.#single;
  }

  [Symbol.iterator](): Generator<string> {
    return this.keys();
  }
}
