import { InvariantError } from '../lib/errors.ts';
import { type Cell, type Collection, type Index, type Members, type Node, noMembers, type Rows, type Table } from './collection.ts';

/** A key that this fork has touched, or read while absent. Stands in front of the adopted cell, if there is one. */
export interface Entry {
  readonly key: string;
  readonly of: Node;
  readonly cell: Cell | undefined;
  /** The row in this fork; unused for an index, see `added` and `removed`. */
  value: unknown;
  error: Error | undefined;
  /** Undefined: not computed here, the adopted edges hold. */
  reads: readonly (Cell | Entry)[] | undefined;
  /** Of an index: difference to the adopted set. */
  added: Set<string> | undefined;
  removed: Set<string> | undefined;
  seen: number;
}

/** How one row changed against the adopted world; undefined is absent. */
export interface RowChange<R> {
  readonly key: string;
  readonly before: R | undefined;
  readonly after: R | undefined;
}

export interface IndexChange {
  readonly key: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Slices for `settle`: after `sliceMs` of work by the clock `now`, `pause` lets others run. */
export interface Budget {
  readonly sliceMs: number;
  readonly now: () => number;
  readonly pause: () => Promise<void>;
}

/** Keys computed between two looks at the clock: a look costs about as much as a small derivation. */
const keysPerLook = 16;

let computations = 0;

/**
 * A change of the world that is not yet one: inputs are put, `settle` recomputes what read them, `changes` tells the
 * difference, and then the kernel adopts it or it is dropped. Reading it gives the world as it would be.
 *
 * One fork is one unit of change; it is bound to the kernel's world as of its creation.
 */
export class Fork {
  /** The kernel's adoption count at creation: a fork can only be adopted on the world it was made from. */
  readonly base: number;
  /** By order of declaration. */
  readonly overlays: (Map<string, Entry> | undefined)[];
  readonly produced: (Map<string, readonly string[]> | undefined)[];
  readonly #nodes: readonly Node[];
  readonly #resolve: (collection: Collection) => Node;
  readonly #dirty: (Set<string> | undefined)[];
  /** Entries whose value changed in this round and is not yet passed on. */
  readonly #changed: (Set<Entry> | undefined)[];
  readonly #computed = new Map<string, number>();
  #at = 0;
  #cursor: Iterator<string> | undefined;
  #rounds = 0;
  #readers: Map<Cell | Entry, Set<Entry>> | undefined;
  #reads: (Cell | Entry)[] | undefined;
  #order = 0;
  #run = 0;

  constructor(base: number, nodes: readonly Node[], resolve: (collection: Collection) => Node) {
    this.base = base;
    this.#nodes = nodes;
    this.#resolve = resolve;
    this.overlays = new Array(nodes.length);
    this.produced = new Array(nodes.length);
    this.#dirty = new Array(nodes.length);
    this.#changed = new Array(nodes.length);
  }

  put<R>(table: Table<R>, key: string, row: R): void {
    this.#set(table, key, row);
  }

  remove<R>(table: Table<R>, key: string): void {
    this.#set(table, key, undefined);
  }

  /** True when nothing is left to compute. */
  get settled(): boolean {
    return this.#at === this.#nodes.length;
  }

  /** Recomputes everything that the puts since the last settle concern, in slices. */
  async settle(budget: Budget): Promise<void> {
    this.#begin();
    let end = budget.now() + budget.sliceMs;
    const due = (): boolean => budget.now() >= end;
    while (!this.#step(due)) {
      await budget.pause();
      end = budget.now() + budget.sliceMs;
    }
  }

  /** The same in one go, for tests and small worlds. */
  settleNow(): void {
    this.#begin();
    this.#step(never);
  }

  get<R>(rows: Rows<R>, key: string): R | undefined {
    return this.#valueOf(this.#resolve(rows), key) as R | undefined;
  }

  members(index: Index, key: string): Members {
    const node = this.#resolve(index);
    const entry = this.overlays[node.order]?.get(key);
    return entry === undefined ? membersOf(node.cells.get(key)) : entryMembers(entry);
  }

  /** Every key that has a row, or a member. */
  *keys(collection: Collection): Iterable<string> {
    const node = this.#resolve(collection);
    const overlay = this.overlays[node.order];
    for (const cell of node.cells.values()) {
      if (cell.value !== undefined && !overlay?.has(cell.key)) yield cell.key;
    }
    if (overlay !== undefined) for (const entry of overlay.values()) if (present(entry)) yield entry.key;
  }

  changes<R>(rows: Rows<R>): RowChange<R>[] {
    const found: RowChange<R>[] = [];
    for (const entry of this.overlays[this.#resolve(rows).order]?.values() ?? []) {
      const before = entry.cell?.value;
      if (before !== entry.value) found.push({ key: entry.key, before: before as R, after: entry.value as R });
    }
    return found;
  }

  indexChanges(index: Index): IndexChange[] {
    const found: IndexChange[] = [];
    for (const entry of this.overlays[this.#resolve(index).order]?.values() ?? []) {
      const added = [...(entry.added ?? [])];
      const removed = [...(entry.removed ?? [])];
      if (added.length > 0 || removed.length > 0) found.push({ key: entry.key, added, removed });
    }
    return found;
  }

  /** How many keys of each collection were computed, for the law that bounds them. */
  get computed(): ReadonlyMap<string, number> {
    return this.#computed;
  }

  #begin(): void {
    this.#at = 0;
    this.#cursor = undefined;
    this.#rounds += 1;
    // From the second round on, edges made by this fork itself count beside the adopted ones.
    this.#readers = this.#rounds > 1 ? this.#ownReaders() : undefined;
  }

  #ownReaders(): Map<Cell | Entry, Set<Entry>> {
    const readers = new Map<Cell | Entry, Set<Entry>>();
    for (const overlay of this.overlays) {
      for (const entry of overlay?.values() ?? []) {
        for (const slot of entry.reads ?? []) {
          const identity = 'cell' in slot ? (slot.cell ?? slot) : slot;
          const set = readers.get(identity);
          if (set === undefined) readers.set(identity, new Set([entry]));
          else set.add(entry);
        }
      }
    }
    return readers;
  }

  #set<R>(table: Table<R>, key: string, row: R | undefined): void {
    const node = this.#resolve(table);
    if (node.sort !== 'table') throw new InvariantError(`${node.name} is derived: rows cannot be put into it`);
    const entry = this.#entry(node, key);
    if (row !== undefined && entry.value !== undefined && node.same(entry.value, row)) return;
    if (row === entry.value) return;
    entry.value = row;
    this.#at = 0;
    this.#mark(entry);
  }

  #mark(entry: Entry): void {
    const order = entry.of.order;
    const set = this.#changed[order];
    if (set === undefined) this.#changed[order] = new Set([entry]);
    else set.add(entry);
  }

  #entry(node: Node, key: string): Entry {
    let overlay = this.overlays[node.order];
    if (overlay === undefined) {
      overlay = new Map();
      this.overlays[node.order] = overlay;
    }
    let entry = overlay.get(key);
    if (entry === undefined) {
      const cell = node.cells.get(key);
      const value = node.sort === 'index' ? undefined : cell?.value;
      entry = { key, of: node, cell, value, error: undefined, reads: undefined, added: undefined, removed: undefined, seen: 0 };
      overlay.set(key, entry);
    }
    return entry;
  }

  #valueOf(node: Node, key: string): unknown {
    const entry = this.overlays[node.order]?.get(key);
    return entry === undefined ? node.cells.get(key)?.value : entry.value;
  }

  /** Goes on where it stopped; false when `due` said to pause. */
  #step(due: () => boolean): boolean {
    let looks = 0;
    for (; this.#at < this.#nodes.length; this.#at += 1) {
      const node = this.#nodes[this.#at] as Node;
      const dirty = this.#dirty[this.#at];
      if (dirty !== undefined) {
        this.#cursor ??= dirty.values();
        for (let next = this.#cursor.next(); !next.done; next = this.#cursor.next()) {
          if (node.sort === 'index') this.#reindex(node, next.value);
          else this.#compute(node, next.value);
          looks += 1;
          if (looks % keysPerLook === 0 && due()) return false;
        }
        this.#cursor = undefined;
        this.#dirty[this.#at] = undefined;
      }
      const changed = this.#changed[this.#at];
      if (changed !== undefined) {
        this.#changed[this.#at] = undefined;
        for (const entry of changed) this.#passOn(node, entry);
      }
    }
    return true;
  }

  #passOn(node: Node, entry: Entry): void {
    if (entry.cell?.readers !== undefined) for (const reader of entry.cell.readers) this.#dirtyKey(reader.of, reader.key);
    const own = this.#readers?.get(entry.cell ?? entry);
    if (own !== undefined) for (const reader of own) this.#dirtyKey(reader.of, reader.key);
    for (const dependent of node.dependents) {
      // An index reads the row itself; a derivation only needs to know that the key came or went.
      if (dependent.sort === 'index' || present(entry) !== this.#knows(dependent, entry.key)) {
        this.#dirtyKey(dependent, entry.key);
      }
    }
  }

  /** Whether the derivation already knows this key: it has been computed, with or without a row as the outcome. */
  #knows(node: Node, key: string): boolean {
    const entry = this.overlays[node.order]?.get(key);
    if (entry?.reads !== undefined) return entry.reads.length > 0 || entry.value !== undefined;
    const cell = node.cells.get(key);
    return cell !== undefined && (cell.value !== undefined || cell.reads.length > 0);
  }

  #dirtyKey(node: Node, key: string): void {
    const set = this.#dirty[node.order];
    if (set === undefined) this.#dirty[node.order] = new Set([key]);
    else set.add(key);
  }

  #compute(node: Node, key: string): void {
    const entry = this.#entry(node, key);
    const reads: (Cell | Entry)[] = [];
    let value: unknown;
    let error: Error | undefined;
    if (node.sources.some((source) => this.#has(source, key))) {
      this.#reads = reads;
      this.#order = node.order;
      computations += 1;
      this.#run = computations;
      this.#computed.set(node.name, (this.#computed.get(node.name) ?? 0) + 1);
      try {
        value = node.compute(this.#read, key) ?? undefined;
      } catch (cause) {
        error = new InvariantError(`deriving ${node.name} of ${key} failed`, { cause });
      }
      this.#reads = undefined;
    }
    entry.reads = reads;
    entry.error = error;
    const before = entry.value;
    if (before !== undefined && value !== undefined && node.same(before, value)) return;
    if (before === value) return;
    entry.value = value;
    // Back to the adopted row, for instance in a second round: be that row, so that no change is told.
    const adopted = entry.cell?.value;
    if (adopted !== undefined && value !== undefined && node.same(adopted, value)) entry.value = adopted;
    this.#mark(entry);
  }

  #has(source: Node, key: string): boolean {
    const entry = this.overlays[source.order]?.get(key);
    return entry === undefined ? source.cells.get(key)?.value !== undefined : present(entry);
  }

  #reindex(node: Node, key: string): void {
    let row: unknown;
    for (const source of node.sources) row ??= this.#valueOf(source, key);
    const produced = this.produced[node.order];
    const before = produced?.get(key) ?? node.produced.get(key) ?? noKeys;
    this.#computed.set(node.name, (this.#computed.get(node.name) ?? 0) + 1);
    const after = row === undefined ? noKeys : [...new Set(node.keysOf(row, key))];
    if (after.length === before.length && after.every((name, at) => name === before[at])) return;
    if (produced === undefined) this.produced[node.order] = new Map([[key, after]]);
    else produced.set(key, after);
    const kept = new Set(after);
    for (const name of before) if (!kept.has(name)) this.#withdraw(this.#entry(node, name), key);
    const held = new Set(before);
    for (const name of after) if (!held.has(name)) this.#enter(this.#entry(node, name), key);
  }

  #enter(entry: Entry, member: string): void {
    if (!entry.removed?.delete(member)) {
      entry.added ??= new Set();
      entry.added.add(member);
    }
    this.#mark(entry);
  }

  #withdraw(entry: Entry, member: string): void {
    if (!entry.added?.delete(member)) {
      entry.removed ??= new Set();
      entry.removed.add(member);
    }
    this.#mark(entry);
  }

  readonly #read = ((collection: Collection, key: string): unknown => {
    const node = this.#resolve(collection);
    const reads = this.#reads;
    if (reads === undefined) throw new InvariantError('read was kept and called after its derivation had ended');
    if (node.order >= this.#order) {
      throw new InvariantError(`${this.#nodes[this.#order]?.name} reads ${node.name}, which is declared after it`);
    }
    const slot = this.overlays[node.order]?.get(key) ?? node.cells.get(key) ?? this.#entry(node, key);
    if (slot.seen !== this.#run) {
      slot.seen = this.#run;
      reads.push(slot);
    }
    if (node.sort !== 'index') return slot.value;
    return 'cell' in slot ? entryMembers(slot) : membersOf(slot);
  }) as never;
}

const noKeys: readonly string[] = [];

function never(): boolean {
  return false;
}

export function membersOf(cell: Cell | undefined): Members {
  return (cell?.value as Set<string> | undefined) ?? noMembers;
}

/** Whether the key exists in the fork: it has a row, or at least one member. */
function present(entry: Entry): boolean {
  return entry.of.sort === 'index' ? entryMembers(entry).size > 0 : entry.value !== undefined;
}

function entryMembers(entry: Entry): Members {
  const base = membersOf(entry.cell);
  if (!entry.added?.size && !entry.removed?.size) return base;
  return new OverlaidMembers(base, entry.added ?? none, entry.removed ?? none);
}

const none: ReadonlySet<string> = new Set();

/** An adopted set as a fork sees it, without a copy: one member among 100,000 costs one. */
class OverlaidMembers implements Members {
  readonly #base: Members;
  readonly #added: ReadonlySet<string>;
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
