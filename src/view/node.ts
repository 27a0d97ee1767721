import { InvariantError } from '../lib/errors.ts';
import type { Collection } from './collection.ts';

/**
 * A key of a collection with its value and its edges. The kernel holds one for each key that has a value, has an edge
 * to what it read or was read by something, absent as it may be; what has none of the three is deleted.
 */
export class Cell {
  readonly key: string;
  readonly of: Node;
  /** A row, or the `MemberSet` of an index key; undefined where absent. */
  value: unknown = undefined;
  /** All that it read, but for what is said by `leans`. */
  reads: readonly Cell[] = noCells;
  readers: Readers = undefined;
  /**
   * Whether it read its source under its own key, as nearly all do. That makes no edge: a source tells its dependents
   * anyway. So a derivation that found nothing to say, and looked at its source only, needs no cell at all.
   */
  leans = false;
  /** Number of the last computation that read this, so that one computation records an edge once. */
  seen = 0;

  constructor(of: Node, key: string) {
    this.of = of;
    this.key = key;
  }

  get held(): boolean {
    return this.value !== undefined || this.readers !== undefined || this.reads.length > 0;
  }

  /** Whether nothing is known of its last computation: it has to be asked again whenever its source changes. */
  get isBlank(): boolean {
    return this.value === undefined && this.reads.length === 0;
  }
}

/**
 * Who read a cell. Nearly all have one reader or a few, some have thousands: a `Set` for each would take more memory
 * than all the rest of the kernel.
 */
type Readers = Cell | readonly Cell[] | Set<Cell> | undefined;

/** Up to here a list is searched; it then takes less than a `Set` and is not slower. */
const fewReaders = 8;

export const noCells: readonly Cell[] = [];

export function addReader(cell: Cell, reader: Cell): void {
  const { readers } = cell;
  if (readers === undefined) cell.readers = reader;
  else if (readers instanceof Set) readers.add(reader);
  else if (readers instanceof Cell) cell.readers = readers === reader ? reader : [readers, reader];
  else if (!readers.includes(reader))
    cell.readers = readers.length < fewReaders ? extended(readers, reader) : new Set(readers).add(reader);
}

export function dropReader(cell: Cell, reader: Cell): void {
  const { readers } = cell;
  if (readers === undefined) return;
  if (readers instanceof Set) {
    readers.delete(reader);
    if (readers.size === 0) cell.readers = undefined;
  } else if (readers instanceof Cell) {
    if (readers === reader) cell.readers = undefined;
  } else {
    const rest = readers.filter((other) => other !== reader);
    cell.readers = rest.length > 1 ? rest : rest[0];
  }
}

export function readersOf(cell: Cell): Iterable<Cell> {
  const { readers } = cell;
  if (readers === undefined) return noCells;
  return readers instanceof Cell ? [readers] : readers;
}

/** One longer, and no longer than that: a spread or a push would leave room for sixteen more. */
function extended(readers: readonly Cell[], reader: Cell): readonly Cell[] {
  const longer = new Array<Cell>(readers.length + 1);
  for (let at = 0; at < readers.length; at += 1) longer[at] = readers[at] as Cell;
  longer[readers.length] = reader;
  return longer;
}

type Compute = (read: never, key: string) => unknown;
type KeysOf = (row: never, key: string) => Iterable<string>;
type Same = (before: never, after: never) => boolean;

/** What the nodes of one kernel and its forks have in common. */
export interface Base {
  /** In the order of declaration, which is the order of computation. */
  readonly nodes: readonly Node[];
  /** Number of forks adopted: tells whether a fork's world still is the world. */
  adoptions: number;
}

/** The node of a handle. Throws `InvariantError` when it is one of another kernel. */
export function nodeOf(base: Base, collection: Collection): Node {
  const node = collection as Node;
  if (node.base !== base) throw new InvariantError(`${collection.name} belongs to another kernel`);
  return node;
}

/**
 * A collection: one for each that is declared, for ever. The handle that a declaration gives is the node itself, seen
 * through a type that shows its name only, so that a read need not look it up.
 */
export class Node {
  readonly base: Base;
  readonly cells = new Map<string, Cell>();
  /** What threw, by key. */
  readonly failures = new Map<string, Error>();
  /** Declared with this one as their source. */
  readonly dependents: Node[] = [];
  readonly sort: Collection['sort'];
  readonly name: string;
  /** Place in `base.nodes`. */
  readonly order: number;
  /** What its keys come from. Of an index, keys are unique over all of them. */
  readonly sources: readonly Node[];
  readonly compute: (read: unknown, key: string) => unknown;
  readonly keysOf: (row: unknown, key: string) => Iterable<string>;
  readonly #same: (before: unknown, after: unknown) => boolean;

  constructor(options: {
    base: Base;
    sort: Collection['sort'];
    name: string;
    order: number;
    sources: readonly Node[];
    compute?: Compute | undefined;
    keysOf?: KeysOf | undefined;
    same?: Same | undefined;
  }) {
    this.base = options.base;
    this.sort = options.sort;
    this.name = options.name;
    this.order = options.order;
    this.sources = options.sources;
    // Rows lose their type on the way through the kernel and get it back from the handle.
    this.compute = (options.compute ?? notComputed) as Node['compute'];
    this.keysOf = (options.keysOf ?? notComputed) as Node['keysOf'];
    this.#same = (options.same ?? Object.is) as (before: unknown, after: unknown) => boolean;
    for (const source of this.sources) source.dependents.push(this);
  }

  /** Whether the two rows, or absences, say the same. */
  same(before: unknown, after: unknown): boolean {
    return before === after || (before !== undefined && after !== undefined && this.#same(before, after));
  }
}

function notComputed(): never {
  throw new InvariantError('this sort of collection computes nothing');
}
