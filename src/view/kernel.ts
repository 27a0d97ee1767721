import { InvariantError } from '../lib/errors.ts';
import type { Collection, Derived, Failure, Index, Members, Read, Rows, Table, World } from './collection.ts';
import { type Change, type Entry, membersOf } from './entry.ts';
import { Fork } from './fork.ts';
import { type Gathered, sameGathered } from './gather.ts';
import { eachMember, type MemberSet, withMember, withoutMember } from './members.ts';
import { addReader, type Base, Cell, dropReader, Node, nodeOf } from './node.ts';

interface Declaration {
  readonly source?: Collection | readonly Collection[];
  readonly compute?: (read: Read, key: string, was: never) => unknown;
  readonly keysOf?: (row: never, key: string) => Iterable<string>;
  readonly gathers?: Node['gathers'];
  readonly same?: ((before: never, after: never) => boolean) | undefined;
}

/**
 * Collections and the adopted world. Declare all collections first, in the order of computation; then every change
 * goes through {@link Kernel.fork} and {@link Kernel.adopt}. One per controller, and one per test.
 */
export class Kernel implements World {
  readonly #nodes: Node[] = [];
  readonly #base: Base = { nodes: this.#nodes, adoptions: 0 };
  #closed = false;

  table<R>(name: string, options: { same?: (before: R, after: R) => boolean } = {}): Table<R> {
    return this.#declare({ sort: 'table', name }, options);
  }

  /**
   * One row per key of `source`; pure; sees nothing but what it reads. `same` stops a change that is none. Of several
   * sources, every key that any of them has. `was` is some former row, or none: to be used again where that is cheaper
   * than to make all of it anew, and never to come to another outcome.
   */
  derive<R>(
    name: string,
    source: Collection | readonly Collection[],
    compute: (read: Read, key: string, was: R | undefined) => R | undefined,
    options: { same?: (before: R, after: R) => boolean } = {},
  ): Derived<R> {
    return this.#declare({ sort: 'derived', name }, { source, compute, ...options });
  }

  /**
   * Key → set of the source's keys, kept by difference. `keysOf` gives the keys that a row stands under; pure: it is
   * asked again of the former row when that changes. Of several sources no two may have a key in common.
   */
  index<R>(
    name: string,
    source: Rows<R> | readonly Rows<R>[],
    keysOf: (row: R, key: string) => Iterable<string>,
  ): Index {
    return this.#declare({ sort: 'index', name }, { source, keysOf });
  }

  /** An index of the keys of another one: in which groups each stands, whatever its members. */
  grouping(name: string, source: Index, groupsOf: (key: string) => Iterable<string>): Index {
    return this.#declare({ sort: 'index', name }, { source, keysOf: (_present: never, key) => groupsOf(key) });
  }

  /**
   * For each key of an index the rows of its members, in the order of the members; none where none of them has a row.
   * What a derivation would read one by one, with an edge to each, is kept here by difference: of thousands, one that
   * changes costs itself and a copy of the list. The index must be declared before the rows.
   */
  gather<R>(name: string, index: Index, rows: Rows<R>): Derived<Gathered<R>> {
    const gathers = { index: nodeOf(this.#base, index), rows: nodeOf(this.#base, rows) };
    if (gathers.index.order > gathers.rows.order)
      throw new InvariantError(`${name} gathers from ${rows.name}, which is declared before ${index.name}`);
    return this.#declare({ sort: 'derived', name }, { source: index, gathers, same: sameGathered });
  }

  /** The first one ends the declarations. */
  fork(): Fork {
    this.#closed = true;
    return new Fork(this.#base);
  }

  /**
   * Makes a settled fork the world, in one synchronous step; look at its changes before. Throws `InvariantError` when
   * the fork is not settled or was made from an earlier world.
   */
  adopt(fork: Fork): void {
    fork.checkAdoptable(this.#base);
    this.#base.adoptions += 1;
    const loose: Cell[] = [];
    // From the last to the first: who reads a cell is declared after it, so its readers are known when its turn comes.
    for (let order = this.#nodes.length - 1; order >= 0; order -= 1) {
      const node = this.#nodes[order] as Node;
      const overlay = fork.overlays[order];
      if (overlay !== undefined) adoptOverlay(node, overlay, loose);
      const failed = fork.failed[order];
      if (failed !== undefined) adoptFailed(node, failed);
    }
    for (const cell of loose) if (!cell.held) cell.of.cells.delete(cell.key);
  }

  get<R>(rows: Rows<R>, key: string): R | undefined {
    return nodeOf(this.#base, rows).cells.get(key)?.value as R | undefined;
  }

  members(index: Index, key: string): Members {
    return membersOf(nodeOf(this.#base, index).cells.get(key));
  }

  *keys(collection: Collection): Iterable<string> {
    for (const cell of nodeOf(this.#base, collection).cells.values()) if (cell.value !== undefined) yield cell.key;
  }

  failures(): Failure[] {
    return this.#nodes.flatMap((node) =>
      [...node.failures].map(([key, error]) => ({ collection: node.name, key, error })),
    );
  }

  /** Cells held, absent but read ones too: a full build of the same inputs holds as many. */
  get cells(): number {
    return this.#nodes.reduce((sum, node) => sum + node.cells.size, 0);
  }

  /** Cells of each collection, by its name. */
  *sizes(): Iterable<readonly [collection: string, cells: number]> {
    for (const node of this.#nodes) yield [node.name, node.cells.size];
  }

  #declare<C extends Collection>(handle: { sort: C['sort']; name: string }, { source = [], ...rest }: Declaration): C {
    if (this.#closed) throw new InvariantError(`${handle.name} is declared after the first fork`);
    if (this.#nodes.some((node) => node.name === handle.name))
      throw new InvariantError(`${handle.name} is declared twice`);
    const sources = [source].flat().map((one) => nodeOf(this.#base, one));
    const node = new Node({ ...handle, base: this.#base, order: this.#nodes.length, sources, ...rest });
    this.#nodes.push(node);
    return node as Collection as C;
  }
}

function adoptOverlay(node: Node, overlay: Map<string, Entry>, loose: Cell[]): void {
  const isFirst = node.cells.size === 0;
  for (const [key, entry] of overlay) {
    if (entry instanceof Cell) {
      for (const read of entry.reads) addReader(read, entry);
      if (!isFirst && entry.held) node.cells.set(key, entry);
      else if (isFirst && !entry.held) overlay.delete(key);
    } else {
      adoptChange(entry, loose);
      if (!entry.cell.held) node.cells.delete(key);
    }
  }
  // Where nothing was, the fork, which is spent, has no changes of anything: its cells are the world's.
  if (isFirst) node.cells = overlay as Map<string, Cell>;
}

function adoptChange(change: Change, loose: Cell[]): void {
  const { cell, reads, leans } = change;
  adoptValue(change);
  if (reads === undefined) return;
  cell.leans = leans;
  adoptEdges(cell, reads, loose);
}

function adoptFailed(node: Node, failed: ReadonlyMap<string, Error | undefined>): void {
  for (const [key, error] of failed) {
    if (error === undefined) node.failures.delete(key);
    else node.failures.set(key, error);
  }
}

function adoptValue({ cell, value, added, removed }: Change): void {
  if (cell.of.sort !== 'index') {
    cell.value = value;
  } else if (cell.value === undefined) {
    // The fork is spent: its set can be the adopted one.
    cell.value = added;
  } else {
    let members = cell.value as MemberSet;
    for (const member of eachMember(removed)) members = withoutMember(members, member);
    for (const member of eachMember(added)) members = withMember(members, member);
    cell.value = members;
  }
}

/** Gives a cell its new edges; what it read before is put on `loose`, since nothing may be left to hold it. */
function adoptEdges(cell: Cell, after: readonly Cell[], loose: Cell[]): void {
  const before = cell.reads;
  if (after === before) return;
  cell.reads = after;
  // One more fragment in an aggregate of thousands: only what stands between the equal ends is looked at.
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > start && afterEnd > start && before[beforeEnd - 1] === after[afterEnd - 1]) {
    beforeEnd -= 1;
    afterEnd -= 1;
  }
  for (let at = start; at < beforeEnd; at += 1) {
    dropReader(before[at] as Cell, cell);
    loose.push(before[at] as Cell);
  }
  for (let at = start; at < afterEnd; at += 1) addReader(after[at] as Cell, cell);
}
