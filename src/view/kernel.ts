import { InvariantError } from '../lib/errors.ts';
import { type Cell, type Collection, type Derived, type Index, type Members, Node, noCells, type Read, type Rows, type Table } from './collection.ts';
import { type Entry, Fork, membersOf } from './fork.ts';

/** What a derivation threw: a bug, told and confined to its key. */
export interface Failure {
  readonly collection: string;
  readonly key: string;
  readonly error: Error;
}

/** A world to read, the adopted one or a fork's. Rows may be kept, what iterates may not outlive the next adoption. */
export interface World {
  get<R>(rows: Rows<R>, key: string): R | undefined;
  members(index: Index, key: string): Members;
  keys(collection: Collection): Iterable<string>;
}

/**
 * Collections and the adopted world. Declare all collections first, in the order of computation; then every change
 * goes through {@link Kernel.fork} and {@link Kernel.adopt}. One per controller, and one per test.
 */
export class Kernel implements World {
  readonly #nodes: Node[] = [];
  readonly #byHandle = new WeakMap<Collection, Node>();
  readonly #failures = new Map<Cell, Error>();
  #adoptions = 0;
  #closed = false;

  table<R>(name: string, options: { same?: (before: R, after: R) => boolean } = {}): Table<R> {
    return this.#declare({ sort: 'table', name }, options);
  }

  /**
   * One row per key of `source`; pure; sees nothing but what it reads. `same` stops a change that is none. Of several
   * sources, all keys; no two of them may have one in common.
   */
  derive<R>(
    name: string,
    source: Collection | readonly Collection[],
    compute: (read: Read, key: string) => R | undefined,
    options: { same?: (before: R, after: R) => boolean } = {},
  ): Derived<R> {
    return this.#declare({ sort: 'derived', name }, { source, compute, ...options });
  }

  /** Key → set of the source's keys, kept by difference. `keysOf` gives the keys that a row stands under. */
  index<R>(name: string, source: Rows<R> | readonly Rows<R>[], keysOf: (row: R, key: string) => Iterable<string>): Index {
    return this.#declare({ sort: 'index', name }, { source, keysOf });
  }

  fork(): Fork {
    this.#closed = true;
    return new Fork(this.#adoptions, this.#nodes, this.#resolve);
  }

  /**
   * Makes a settled fork the world, in one synchronous step. Throws `InvariantError` when the fork is not settled or
   * was made from an earlier world.
   */
  adopt(fork: Fork): void {
    if (fork.base !== this.#adoptions) throw new InvariantError('adopting a fork of a world that has moved on');
    if (!fork.settled) throw new InvariantError('adopting a fork that is not settled');
    this.#adoptions += 1;
    const loose: Cell[] = [];
    for (const overlay of fork.overlays) {
      if (overlay === undefined) continue;
      for (const entry of overlay.values()) this.#adoptValue(entry, loose);
    }
    for (const overlay of fork.overlays) {
      if (overlay === undefined) continue;
      for (const entry of overlay.values()) if (entry.reads !== undefined) adoptEdges(entry, entry.reads, loose);
    }
    for (const node of this.#nodes) {
      for (const [key, names] of fork.produced[node.order] ?? []) {
        if (names.length === 0) node.produced.delete(key);
        else node.produced.set(key, names);
      }
    }
    for (const cell of loose) cell.of.sweep(cell);
  }

  get<R>(rows: Rows<R>, key: string): R | undefined {
    return this.#resolve(rows).cells.get(key)?.value as R | undefined;
  }

  members(index: Index, key: string): Members {
    return membersOf(this.#resolve(index).cells.get(key));
  }

  *keys(collection: Collection): Iterable<string> {
    for (const cell of this.#resolve(collection).cells.values()) if (cell.value !== undefined) yield cell.key;
  }

  /** Derivations that threw; empty when there is no bug. */
  failures(): Failure[] {
    return [...this.#failures].map(([cell, error]) => ({ collection: cell.of.name, key: cell.key, error }));
  }

  /** Cells held, absent but read ones too: a full build of the same inputs holds as many. */
  get cells(): number {
    return this.#nodes.reduce((sum, node) => sum + node.cells.size, 0);
  }

  readonly #resolve = (collection: Collection): Node => {
    const node = this.#byHandle.get(collection);
    if (node === undefined) throw new InvariantError(`${collection.name} belongs to another kernel`);
    return node;
  };

  #declare<C extends Collection>(
    handle: { sort: C['sort']; name: string },
    options: { source?: Collection | readonly Collection[]; compute?: unknown; keysOf?: unknown; same?: unknown },
  ): C {
    if (this.#closed) throw new InvariantError(`${handle.name} is declared after the first fork`);
    const { source, ...rest } = options;
    const sources = [source ?? []].flat().map(this.#resolve);
    const node = new Node({ ...handle, order: this.#nodes.length, sources, ...rest } as ConstructorParameters<typeof Node>[0]);
    const collection = Object.freeze(handle) as unknown as C;
    this.#nodes.push(node);
    this.#byHandle.set(collection, node);
    return collection;
  }

  #adoptValue(entry: Entry, loose: Cell[]): void {
    const { of: node } = entry;
    if (node.sort === 'index') {
      if (!entry.added?.size && !entry.removed?.size) return;
      const cell = entry.cell ?? node.cell(entry.key);
      const members = (cell.value as Set<string> | undefined) ?? new Set<string>();
      for (const member of entry.removed ?? []) members.delete(member);
      for (const member of entry.added ?? []) members.add(member);
      cell.value = members.size === 0 ? undefined : members;
      loose.push(cell);
      return;
    }
    const known = entry.cell;
    if (entry.value !== known?.value) {
      const cell = known ?? node.cell(entry.key);
      cell.value = entry.value;
      loose.push(cell);
    }
    if (entry.reads === undefined) return;
    if (entry.error !== undefined) this.#failures.set(known ?? node.cell(entry.key), entry.error);
    else if (known !== undefined && this.#failures.size > 0) this.#failures.delete(known);
  }
}

/** Gives the entry's cell its new edges; the cells on either side that lost something are put on `loose`. */
function adoptEdges(entry: Entry, slots: readonly (Cell | Entry)[], loose: Cell[]): void {
  const known = entry.cell ?? entry.of.cells.get(entry.key);
  if (known === undefined && slots.length === 0) return;
  const cell = known ?? entry.of.cell(entry.key);
  const before = cell.reads;
  const after = slots.map(cellOf);
  if (before.length === after.length && before.every((read, at) => read === after[at])) return;
  cell.reads = after.length === 0 ? noCells : after;
  const kept = new Set(after);
  for (const read of before) {
    if (kept.has(read)) continue;
    read.readers?.delete(cell);
    if (read.readers?.size === 0) read.readers = undefined;
    loose.push(read);
  }
  for (const read of after) {
    if (read.readers === undefined) read.readers = new Set([cell]);
    else read.readers.add(cell);
  }
  loose.push(cell);
}

function cellOf(slot: Cell | Entry): Cell {
  return 'cell' in slot ? (slot.cell ?? slot.of.cell(slot.key)) : slot;
}
