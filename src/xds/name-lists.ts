/**
 * Long lists of names, each made once: most streams ask for the same thousands of names, in a list or by `*`, and what
 * is known of a list serves them all.
 */
import type { NameList } from './name-set.ts';
import { each, type Pieces } from './pieces.ts';
import type { TypeUrl } from './resource.ts';
import type { Table } from './table.ts';
import { isKnownType } from './types.ts';

/** Of a type: clients of some kinds, or fleets, that connect at the same time. */
const maxKept = 4;

interface Asked {
  readonly names: readonly string[];
  readonly list: NameList;
}

interface All {
  readonly revision: number;
  readonly audiences: ReadonlySet<string>;
  readonly list: NameList;
}

export class NameLists {
  readonly #table: Table;
  /** As they stood in requests, newest first. */
  readonly #asked = new Map<TypeUrl, readonly Asked[]>();
  readonly #all = new Map<TypeUrl, readonly All[]>();

  constructor(table: Table) {
    this.#table = table;
  }

  /** The list of a request, in the strings of the table. */
  *asked(type: TypeUrl, names: readonly string[]): Pieces<NameList> {
    const kept = this.#asked.get(type) ?? [];
    // Comparing strings one by one costs a tenth of looking each of them up.
    const known = kept.find((one) => isSameList(one.names, names));
    if (known !== undefined) return known.list;
    const list = yield* listOf(names, (name) => this.#table.intern(type, name));
    keep(this.#asked, type, { names: list.names.length === names.length ? list.names : names, list });
    return list;
  }

  /** All of a type that the audiences have. */
  *all(type: TypeUrl, audiences: ReadonlySet<string>): Pieces<NameList> {
    const { revision } = this.#table;
    const kept = this.#all.get(type) ?? [];
    const known = kept.find((one) => one.revision === revision && isSameSet(one.audiences, audiences));
    if (known !== undefined) return known.list;
    const names: string[] = [];
    for (const audience of audiences) yield* each(this.#table.namesOf(type, audience), (name) => names.push(name));
    const list = yield* listOf(names, (name) => name);
    if (this.#table.revision === revision) keep(this.#all, type, { revision, audiences, list });
    return list;
  }
}

function keep<T>(kept: Map<TypeUrl, readonly T[]>, type: TypeUrl, one: T): void {
  // Of types that clients invent, nothing is kept.
  if (isKnownType(type)) kept.set(type, [one, ...(kept.get(type) ?? [])].slice(0, maxKept));
}

function* listOf(names: readonly string[], own: (name: string) => string): Pieces<NameList> {
  const places = new Map<string, number>();
  const once: string[] = [];
  yield* each(names, (given) => {
    const name = own(given);
    if (places.has(name)) return;
    places.set(name, once.length);
    once.push(name);
  });
  return { names: once, places };
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}

export function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const one of a) if (!b.has(one)) return false;
  return true;
}
