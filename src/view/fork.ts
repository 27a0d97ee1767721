import { InvariantError } from '../lib/errors.ts';
import type { Collection, Failure, Index, Members, Rows, Table, World } from './collection.ts';
import { adoptedValue, Change, type Entry, membersOf } from './entry.ts';
import { type Gathered, regathered } from './gather.ts';
import { eachMember, type MemberSet } from './members.ts';
import { type Base, Cell, type Node, noCells, nodeOf, readersOf } from './node.ts';

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

/**
 * Keys computed between two looks at the clock. A look costs a tenth of the smallest derivation; the largest, a route
 * table of thousands of hosts, takes half a millisecond, and four of those still end near the slice.
 */
const keysPerLook = 4;

/** Over all forks, since all of them mark the same cells as seen. */
let computations = 0;

/**
 * A change of the world that is not yet one: inputs are put, `settle` recomputes what read them, `changes` tells the
 * difference, and then the kernel adopts it or it is dropped. Puts and settles may follow each other in rounds.
 * Reading it gives the world as it would be, complete once it is settled.
 *
 * One fork is one unit of change. It is bound to the world it was made from: when that has moved on, by the adoption
 * of this fork or of another, everything throws `InvariantError`.
 */
export class Fork implements World {
  /** Arrays by order of declaration; only the kernel reads them from outside, to adopt. */
  readonly overlays: (Map<string, Entry> | undefined)[];
  /** What threw here, by key; undefined where something has healed. */
  readonly failed: (Map<string, Error | undefined> | undefined)[];
  readonly #base: Base;
  readonly #adoptions: number;
  /** Of an index: the keys that a row of its source was found to stand under here. Later rounds start from them. */
  readonly #produced: (Map<string, readonly string[]> | undefined)[];
  /** Of what gathers rows: by key the members to look at again. */
  readonly #stale: (Map<string, Set<string>> | undefined)[];
  /** What to compute in this round. */
  readonly #dirty: (Entry[] | undefined)[];
  /** Of an index: the keys of its source to look at in this round. */
  readonly #moved: (string[] | undefined)[];
  /** What changed in this round and is not yet passed on. */
  readonly #changed: (Entry[] | undefined)[];
  readonly #computed: number[];
  #state: 'settled' | 'unsettled' | 'settling' = 'settled';
  #rounds = 0;
  /** Edges that earlier rounds of this fork made: they count beside the adopted ones. */
  #ownReaders: Map<Cell, Cell[]> | undefined;
  /** The derivation under way, with what it has read so far. */
  #reader: Node | undefined;
  #readerKey = '';
  #leans = false;
  #run = 0;
  readonly #reads: Cell[] = [];
  #readCount = 0;

  constructor(base: Base) {
    const count = base.nodes.length;
    this.#base = base;
    this.#adoptions = base.adoptions;
    this.overlays = new Array(count).fill(undefined);
    this.#produced = new Array(count).fill(undefined);
    this.failed = new Array(count).fill(undefined);
    this.#stale = new Array(count).fill(undefined);
    this.#dirty = new Array(count).fill(undefined);
    this.#moved = new Array(count).fill(undefined);
    this.#changed = new Array(count).fill(undefined);
    this.#computed = new Array(count).fill(0);
  }

  put<R>(table: Table<R>, key: string, row: R): void {
    this.#set(table, key, row);
  }

  remove<R>(table: Table<R>, key: string): void {
    this.#set(table, key, undefined);
  }

  /** True when nothing is left to compute. */
  get settled(): boolean {
    return this.#state === 'settled';
  }

  /** Recomputes everything that the puts since the last settle concern, in slices. */
  async settle(budget: Budget): Promise<void> {
    const work = this.#begin();
    try {
      let end = budget.now() + budget.sliceMs;
      while (!work.next().done) {
        if (budget.now() < end) continue;
        await budget.pause();
        this.#checkBase();
        end = budget.now() + budget.sliceMs;
      }
      this.#state = 'settled';
    } finally {
      // Broken off: what was dirty still is, so that the next settle does all of it.
      if (this.#state === 'settling') this.#state = 'unsettled';
    }
  }

  /** The same in one go, for tests and small worlds. */
  settleNow(): void {
    const work = this.#begin();
    while (!work.next().done);
    this.#state = 'settled';
  }

  get<R>(rows: Rows<R>, key: string): R | undefined {
    return this.#valueOf(this.#resolve(rows), key) as R | undefined;
  }

  members(index: Index, key: string): Members {
    return this.#membersOf(this.#resolve(index), key);
  }

  #membersOf(node: Node, key: string): Members {
    return this.overlays[node.order]?.get(key)?.members ?? membersOf(node.cells.get(key));
  }

  *keys(collection: Collection): Iterable<string> {
    const node = this.#resolve(collection);
    const overlay = this.overlays[node.order];
    for (const cell of node.cells.values()) {
      if (cell.value !== undefined && !overlay?.has(cell.key)) yield cell.key;
    }
    if (overlay !== undefined) for (const [key, entry] of overlay) if (entry.present) yield key;
  }

  failures(): Failure[] {
    const found: Failure[] = [];
    for (const node of this.#base.nodes) {
      for (const [key, error] of new Map([...node.failures, ...(this.failed[node.order] ?? [])])) {
        if (error !== undefined) found.push({ collection: node.name, key, error });
      }
    }
    return found;
  }

  /** The rows that differ from those of the adopted world, in no particular order. */
  changes<R>(rows: Rows<R>): RowChange<R>[] {
    const found: RowChange<R>[] = [];
    for (const [key, entry] of this.overlays[this.#resolve(rows).order] ?? []) {
      const before = adoptedValue(entry);
      if (before !== entry.value) found.push({ key, before: before as R, after: entry.value as R });
    }
    return found;
  }

  indexChanges(index: Index): IndexChange[] {
    const found: IndexChange[] = [];
    for (const [key, entry] of this.overlays[this.#resolve(index).order] ?? []) {
      const isNew = entry instanceof Cell;
      const added = [...eachMember(isNew ? (entry.value as MemberSet) : entry.added)];
      const removed = isNew ? [] : [...eachMember(entry.removed)];
      if (added.length > 0 || removed.length > 0) found.push({ key, added, removed });
    }
    return found;
  }

  /** How many keys of each collection were computed here, over all rounds; only of those that computed any. */
  get computed(): ReadonlyMap<string, number> {
    const counts = this.#base.nodes.map((node): [string, number] => [node.name, this.#computed[node.order] ?? 0]);
    return new Map(counts.filter(([, count]) => count > 0));
  }

  /** Throws when this fork belongs to another kernel, or to a world that has moved on, or is not settled. */
  checkAdoptable(base: Base): void {
    if (this.#base !== base) throw new InvariantError('a fork of another kernel cannot be adopted');
    this.#checkBase();
    if (this.#state !== 'settled') throw new InvariantError('a fork that is not settled cannot be adopted');
  }

  #checkBase(): void {
    if (this.#base.adoptions !== this.#adoptions)
      throw new InvariantError('the world that this fork was made from has moved on');
  }

  #resolve(collection: Collection): Node {
    this.#checkBase();
    return nodeOf(this.#base, collection);
  }

  #set<R>(table: Table<R>, key: string, row: R | undefined): void {
    const node = this.#resolve(table);
    if (node.sort !== 'table') throw new InvariantError(`${node.name} is derived: rows cannot be put into it`);
    if (this.#state === 'settling') throw new InvariantError(`put into ${node.name} while the fork is settling`);
    if (this.#assign(this.#entry(node, key), row)) this.#state = 'unsettled';
  }

  #begin(): Iterator<undefined> {
    this.#checkBase();
    if (this.#state === 'settling') throw new InvariantError('settling a fork that is settling already');
    if (this.#state === 'settled') return nothingToDo;
    this.#state = 'settling';
    this.#rounds += 1;
    return this.#work();
  }

  /** One round, collection by collection; stops for a look at the clock every few keys. */
  *#work(): Generator<undefined> {
    let steps = 0;
    if (this.#rounds > 1) yield* this.#gatherOwnReaders();
    // The order of declaration is the order of computation: what makes a key of a collection dirty is declared before it.
    for (const node of this.#base.nodes) {
      // From the ends of the lists, so that they always say what is left to do.
      const dirty = this.#dirty[node.order] ?? [];
      for (let entry = dirty.pop(); entry !== undefined; entry = dirty.pop()) {
        entry.dirty = false;
        this.#compute(node, entry);
        steps += 1;
        if (steps % keysPerLook === 0) yield;
      }
      const moved = this.#moved[node.order] ?? [];
      for (let key = moved.pop(); key !== undefined; key = moved.pop()) {
        this.#reindex(node, key);
        steps += 1;
        if (steps % keysPerLook === 0) yield;
      }
      const changed = this.#changed[node.order] ?? [];
      for (let entry = changed.pop(); entry !== undefined; entry = changed.pop()) {
        entry.queued = false;
        this.#passOn(node, entry);
        steps += 1;
        if (steps % keysPerLook === 0) yield;
      }
    }
  }

  *#gatherOwnReaders(): Generator<undefined> {
    const readers = new Map<Cell, Cell[]>();
    this.#ownReaders = readers;
    let steps = 0;
    for (const overlay of this.overlays) {
      for (const { cell, newReads } of overlay?.values() ?? []) {
        for (const read of newReads) {
          const list = readers.get(read);
          if (list === undefined) readers.set(read, [cell]);
          else list.push(cell);
        }
        steps += 1;
        if (steps % keysPerLook === 0) yield;
      }
    }
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
      entry = cell === undefined ? new Cell(node, key) : new Change(cell);
      overlay.set(key, entry);
    }
    return entry;
  }

  #valueOf(node: Node, key: string): unknown {
    const entry = this.overlays[node.order]?.get(key);
    return entry === undefined ? node.cells.get(key)?.value : entry.value;
  }

  /** Whether any of the node's sources has the key. */
  #hasSource({ sources }: Node, key: string): boolean {
    for (const source of sources) {
      const entry = this.overlays[source.order]?.get(key);
      if (entry === undefined ? source.cells.get(key)?.value !== undefined : entry.present) return true;
    }
    return false;
  }

  /**
   * Takes the row unless it says what stands there. Back at what is adopted it is that row again, so that no change is
   * told.
   */
  #assign(entry: Entry, row: unknown): boolean {
    const node = entry.cell.of;
    if (node.same(entry.value, row)) return false;
    const adopted = adoptedValue(entry);
    entry.value = entry.value !== adopted && node.same(adopted, row) ? adopted : row;
    this.#queue(entry);
    return true;
  }

  #queue(entry: Entry): void {
    if (entry.queued) return;
    entry.queued = true;
    const { order } = entry.cell.of;
    const list = this.#changed[order];
    if (list === undefined) this.#changed[order] = [entry];
    else list.push(entry);
  }

  #passOn(node: Node, entry: Entry): void {
    const { cell } = entry;
    for (const reader of readersOf(cell)) this.#makeDirty(reader.of, reader.key);
    for (const reader of this.#ownReaders?.get(cell) ?? noCells) this.#makeDirty(reader.of, reader.key);
    for (const gatherer of node.gatherers) {
      if (gatherer.gathers?.rows !== node) continue;
      for (const key of this.#keysUnder(gatherer.gathers.index, cell.key)) this.#goesStale(gatherer, key, cell.key);
    }
    const { present } = entry;
    const cameOrWent = present !== entry.passedOn;
    entry.passedOn = present;
    for (const dependent of node.dependents) {
      if (cameOrWent || this.#followsSource(dependent, node, cell.key)) this.#makeDirty(dependent, cell.key);
    }
  }

  /** Whether a dependent looks at more of its source than whether the key is there. */
  #followsSource(dependent: Node, source: Node, key: string): boolean {
    // An index looks at rows; the members that stand under a key of another index are no concern of it.
    if (dependent.sort === 'index') return source.sort !== 'index';
    const known = this.overlays[dependent.order]?.get(key) ?? dependent.cells.get(key);
    return known === undefined || known.followsSource;
  }

  #makeDirty(node: Node, key: string): void {
    if (node.sort === 'index') {
      const list = this.#moved[node.order];
      if (list === undefined) this.#moved[node.order] = [key];
      else list.push(key);
      return;
    }
    const entry = this.#entry(node, key);
    if (entry.dirty) return;
    entry.dirty = true;
    const list = this.#dirty[node.order];
    if (list === undefined) this.#dirty[node.order] = [entry];
    else list.push(entry);
  }

  #compute(node: Node, entry: Entry): void {
    const { key } = entry.cell;
    let failure: Error | undefined;
    this.#readCount = 0;
    this.#leans = false;
    if (this.#hasSource(node, key)) {
      this.#reader = node;
      this.#readerKey = key;
      computations += 1;
      this.#run = computations;
      this.#computed[node.order] = (this.#computed[node.order] as number) + 1;
      try {
        const row = node.gathers === undefined ? node.compute(this.#read, key, entry.value) : this.#gather(node, entry);
        this.#assign(entry, row ?? undefined);
      } catch (cause) {
        failure = new InvariantError(`deriving ${node.name} of ${key} failed`, { cause });
        this.#assign(entry, undefined);
      }
      this.#reader = undefined;
    } else {
      this.#assign(entry, undefined);
    }
    this.#stale[node.order]?.delete(key);
    entry.reads = this.#takeReads(entry.cell.reads);
    entry.leans = this.#leans;
    this.#note(node, key, failure);
  }

  #gather(node: Node, { cell: { key }, value }: Entry): unknown {
    const { index, rows } = node.gathers as NonNullable<Node['gathers']>;
    const stale = this.#stale[node.order]?.get(key);
    if (stale === undefined) return value;
    const members = this.#membersOf(index, key);
    const rowOf = (member: string): unknown => (members.has(member) ? this.#valueOf(rows, member) : undefined);
    return regathered(value as Gathered<unknown> | undefined, stale, rowOf);
  }

  #goesStale(gatherer: Node, key: string, member: string): void {
    let byKey = this.#stale[gatherer.order];
    if (byKey === undefined) {
      byKey = new Map();
      this.#stale[gatherer.order] = byKey;
    }
    const known = byKey.get(key);
    if (known !== undefined) {
      known.add(member);
      return;
    }
    byKey.set(key, new Set([member]));
    this.#makeDirty(gatherer, key);
  }

  /** The keys of an index, which has been brought up to date, that a key of its source stands under. */
  #keysUnder(index: Node, key: string): readonly string[] {
    const known = this.#produced[index.order]?.get(key);
    if (known !== undefined) return known;
    let row: unknown;
    for (const source of index.sources) row ??= this.#rowOf(source, key);
    if (row === undefined) return noKeys;
    try {
      return listOf(index.keysOf(row, key));
    } catch {
      // Told when it was put: it stands under none.
      return noKeys;
    }
  }

  /** What was read just now; the adopted list itself where that says the same. */
  #takeReads(adopted: readonly Cell[]): readonly Cell[] {
    const count = this.#readCount;
    if (count === 0) return noCells;
    if (count !== adopted.length) return this.#reads.slice(0, count);
    for (let at = 0; at < count; at += 1) if (this.#reads[at] !== adopted[at]) return this.#reads.slice(0, count);
    return adopted;
  }

  #reindex(node: Node, key: string): void {
    let row: unknown;
    for (const source of node.sources) row ??= this.#rowOf(source, key);
    const produced = this.#produced[node.order];
    let after = noKeys;
    let failure: Error | undefined;
    this.#computed[node.order] = (this.#computed[node.order] as number) + 1;
    if (row !== undefined) {
      try {
        after = listOf(node.keysOf(row, key));
      } catch (cause) {
        failure = new InvariantError(`the keys of ${key} in ${node.name} failed`, { cause });
      }
    }
    this.#note(node, key, failure);
    const before = produced?.get(key) ?? adoptedKeys(node, key, row, after);
    const isSame = after.length === before.length && after.every((name, at) => name === before[at]);
    // Who gathers by it asks again.
    if (isSame && node.gatherers.length === 0) return;
    if (produced === undefined) this.#produced[node.order] = new Map([[key, after]]);
    else produced.set(key, after);
    if (isSame) return;
    const left = before.length === 0 ? undefined : new Set(before);
    for (const name of distinct(after)) {
      if (left?.delete(name)) continue;
      const entry = this.#entry(node, name);
      entry.enter(key);
      this.#queue(entry);
      for (const gatherer of node.gatherers) this.#goesStale(gatherer, name, key);
    }
    for (const name of left ?? noKeys) {
      const entry = this.#entry(node, name);
      entry.withdraw(key);
      this.#queue(entry);
      for (const gatherer of node.gatherers) this.#goesStale(gatherer, name, key);
    }
  }

  /** What an index sees of its source. */
  #rowOf(source: Node, key: string): unknown {
    if (source.sort !== 'index') return this.#valueOf(source, key);
    const entry = this.overlays[source.order]?.get(key);
    const present = entry === undefined ? source.cells.get(key)?.value !== undefined : entry.present;
    return present || undefined;
  }

  #fails(node: Node, key: string): boolean {
    const failed = this.failed[node.order];
    return failed?.has(key) ? failed.get(key) !== undefined : node.failures.has(key);
  }

  #note(node: Node, key: string, failure: Error | undefined): void {
    if (failure === undefined && !this.#fails(node, key)) return;
    const failed = this.failed[node.order];
    if (failed === undefined) this.failed[node.order] = new Map([[key, failure]]);
    else failed.set(key, failure);
  }

  readonly #read = (collection: Collection, key: string): unknown => {
    const reader = this.#reader;
    if (reader === undefined) throw new InvariantError('read was kept and called after its derivation had ended');
    const node = nodeOf(this.#base, collection);
    if (node.order >= reader.order)
      throw new InvariantError(`${reader.name} reads ${node.name}, which is not declared before it`);
    let entry = this.overlays[node.order]?.get(key);
    let cell = entry === undefined ? node.cells.get(key) : entry.cell;
    if (key === this.#readerKey && reader.sources.includes(node)) {
      this.#leans = true;
    } else {
      if (cell === undefined) {
        entry = this.#entry(node, key);
        cell = entry.cell;
      }
      this.#record(cell);
    }
    if (node.sort === 'index') return entry === undefined ? membersOf(cell) : entry.members;
    return entry === undefined ? cell?.value : entry.value;
  };

  #record(cell: Cell): void {
    if (cell.seen === this.#run) return;
    cell.seen = this.#run;
    this.#reads[this.#readCount] = cell;
    this.#readCount += 1;
  }
}

const noKeys: readonly string[] = [];
const nothingToDo: Iterator<undefined> = { next: () => ({ done: true, value: undefined }) };

/** The keys that the adopted row stands under; those of `row` are known. */
function adoptedKeys(node: Node, key: string, row: unknown, known: readonly string[]): readonly string[] {
  let adopted: unknown;
  for (const source of node.sources) {
    const value = source.cells.get(key)?.value;
    adopted ??= source.sort === 'index' && value !== undefined ? true : value;
  }
  if (adopted === row) return known;
  if (adopted === undefined) return noKeys;
  try {
    return listOf(node.keysOf(adopted, key));
  } catch {
    // Told when it was put: it stands under none.
    return noKeys;
  }
}

function listOf(names: Iterable<string>): readonly string[] {
  return Array.isArray(names) ? names : [...names];
}

function distinct(names: readonly string[]): Iterable<string> {
  return names.length < 2 ? names : new Set(names);
}
