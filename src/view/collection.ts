import { InvariantError } from '../lib/errors.ts';

/** What an index holds under one key. Iteration order is not defined: sort where order matters. */
export interface Members extends Iterable<string> {
  readonly size: number;
  has(key: string): boolean;
}

/** The only way in which a derivation sees anything. Reading an absent key is recorded too. */
export interface Read {
  <R>(rows: Rows<R>, key: string): R | undefined;
  (index: Index, key: string): Members;
}

declare const row: unique symbol;

/** Input: rows are put from outside. */
export interface Table<R> {
  readonly sort: 'table';
  readonly name: string;
  readonly [row]?: R;
}

/** One row, or none, for each key of its source. */
export interface Derived<R> {
  readonly sort: 'derived';
  readonly name: string;
  readonly [row]?: R;
}

/** Key → set of the source's keys. */
export interface Index {
  readonly sort: 'index';
  readonly name: string;
}

export type Rows<R> = Table<R> | Derived<R>;
export type Collection = Table<unknown> | Derived<unknown> | Index;

/** A value of the adopted world with its edges. Deleted when it has no value, no reads and no readers. */
export interface Cell {
  readonly key: string;
  readonly of: Node;
  /** A row, or the `Set` of an index key; undefined where absent. */
  value: unknown;
  reads: readonly Cell[];
  readers: Set<Cell> | undefined;
  /** Number of the last computation that read this, so that one computation records an edge once. */
  seen: number;
}

type Compute = (read: Read, key: string) => unknown;
type Same = (before: unknown, after: unknown) => boolean;

/** What stands behind the handles above: one for each declared collection, for ever. */
export class Node {
  readonly cells = new Map<string, Cell>();
  /** Of an index: the keys that each source row stands under. */
  readonly produced = new Map<string, readonly string[]>();
  /** Declared with this one as their source. */
  readonly dependents: Node[] = [];
  readonly sort: Collection['sort'];
  readonly name: string;
  readonly order: number;
  /** What its keys come from; keys are unique over all of them. */
  readonly sources: readonly Node[];
  readonly compute: Compute;
  readonly keysOf: (row: unknown, key: string) => Iterable<string>;
  readonly same: Same;

  constructor(options: {
    sort: Collection['sort'];
    name: string;
    order: number;
    sources?: readonly Node[];
    compute?: Compute;
    keysOf?: (row: unknown, key: string) => Iterable<string>;
    same?: Same;
  }) {
    this.sort = options.sort;
    this.name = options.name;
    this.order = options.order;
    this.sources = options.sources ?? [];
    this.compute = options.compute ?? notComputed;
    this.keysOf = options.keysOf ?? notComputed;
    this.same = options.same ?? Object.is;
    for (const source of this.sources) source.dependents.push(this);
  }

  cell(key: string): Cell {
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = { key, of: this, value: undefined, reads: noCells, readers: undefined, seen: 0 };
      this.cells.set(key, cell);
    }
    return cell;
  }

  sweep(cell: Cell): void {
    if (cell.value === undefined && cell.reads.length === 0 && cell.readers === undefined) this.cells.delete(cell.key);
  }
}

export const noCells: readonly Cell[] = [];

export const noMembers: Members = new Set<string>();

function notComputed(): never {
  throw new InvariantError('this sort of collection computes nothing');
}
