import { InvariantError } from '../lib/errors.ts';
import type { Collection, Members } from './collection.ts';
import { asMembers, type MemberSet, withMember, withoutMember } from './members.ts';

/**
 * A key of a collection with its value and its edges. The kernel holds one for each key that has a value, has an edge
 * to what it read or was read by something, absent as it may be; what has none of the three is deleted.
 *
 * Until it is adopted, it is what a fork has for a key that the world does not have.
 */
export class Cell {
  readonly key: string;
  readonly of: Node;
  /** A row, or the `MemberSet` of an index key; undefined where absent. */
  value: unknown = undefined;
  /** All that it read, but for what is said by `leans`. */
  reads: readonly Cell[] = noCells;
  readers: Readers = undefined;
  /** Number of the last computation that read this, so that one computation records an edge once. */
  seen = 0;
  /** The booleans below, a bit each: there are millions of cells. */
  #marks = 0;

  constructor(of: Node, key: string) {
    this.of = of;
    this.key = key;
  }

  get held(): boolean {
    return this.value !== undefined || this.readers !== undefined || this.reads.length > 0;
  }

  /**
   * Whether it read its source under its own key, as nearly all do. That makes no edge: a source tells its dependents
   * anyway. So a derivation that found nothing to say, and looked at its source only, needs no cell at all.
   */
  get leans(): boolean {
    return (this.#marks & marks.leans) !== 0;
  }

  set leans(on: boolean) {
    this.#marks = marked(this.#marks, marks.leans, on);
  }

  /** Whether this key of a derivation has to be computed when the row of its source has changed. */
  get followsSource(): boolean {
    // Without a row and without edges, nothing is known of its last computation.
    return this.leans || (this.value === undefined && this.reads.length === 0);
  }

  // From here on: of a cell that is not adopted yet, as a fork sees it.

  /** To be computed in this round. */
  get dirty(): boolean {
    return (this.#marks & marks.dirty) !== 0;
  }

  set dirty(on: boolean) {
    this.#marks = marked(this.#marks, marks.dirty, on);
  }

  /** Changed in this round and not yet passed on. */
  get queued(): boolean {
    return (this.#marks & marks.queued) !== 0;
  }

  set queued(on: boolean) {
    this.#marks = marked(this.#marks, marks.queued, on);
  }

  /** Whether the key existed when this was last passed on. */
  get passedOn(): boolean {
    return (this.#marks & marks.passedOn) !== 0;
  }

  set passedOn(on: boolean) {
    this.#marks = marked(this.#marks, marks.passedOn, on);
  }

  get cell(): Cell {
    return this;
  }

  get present(): boolean {
    return this.value !== undefined;
  }

  get members(): Members {
    return asMembers(this.value as MemberSet);
  }

  get newReads(): readonly Cell[] {
    return this.reads;
  }

  enter(member: string): void {
    this.value = withMember(this.value as MemberSet, member);
  }

  withdraw(member: string): void {
    this.value = withoutMember(this.value as MemberSet, member);
  }
}

/** Not a private method: that would take a word of each cell. */
function marked(bits: number, mark: number, on: boolean): number {
  return on ? bits | mark : bits & ~mark;
}

const marks = { leans: 1, dirty: 2, queued: 4, passedOn: 8 } as const;

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

type Compute = (read: never, key: string, was: never) => unknown;
/** What rows are gathered by and from. */
interface Gathering {
  readonly index: Node;
  readonly rows: Node;
}

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
  cells = new Map<string, Cell>();
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
  readonly compute: (read: unknown, key: string, was: unknown) => unknown;
  readonly keysOf: (row: unknown, key: string) => Iterable<string>;
  /** Of what gathers rows: by the members of which index, and from where. */
  readonly gathers: Gathering | undefined;
  /** Those that gather by this index, or from here. */
  readonly gatherers: Node[] = [];
  readonly #same: (before: unknown, after: unknown) => boolean;

  constructor(options: {
    base: Base;
    sort: Collection['sort'];
    name: string;
    order: number;
    sources: readonly Node[];
    compute?: Compute | undefined;
    keysOf?: KeysOf | undefined;
    gathers?: Gathering | undefined;
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
    this.gathers = options.gathers;
    this.#same = (options.same ?? Object.is) as (before: unknown, after: unknown) => boolean;
    for (const source of this.sources) source.dependents.push(this);
    this.gathers?.index.gatherers.push(this);
    this.gathers?.rows.gatherers.push(this);
  }

  /** Whether the two rows, or absences, say the same. */
  same(before: unknown, after: unknown): boolean {
    return before === after || (before !== undefined && after !== undefined && this.#same(before, after));
  }
}

function notComputed(): never {
  throw new InvariantError('this sort of collection computes nothing');
}
