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

/** What a declared function threw: a bug, told and confined to its key. Of an index the key is that of the source. */
export interface Failure {
  readonly collection: string;
  readonly key: string;
  /** Its `cause` is what was thrown. */
  readonly error: Error;
}

/** A world to read, the adopted one or a fork's. Rows may be kept, what iterates may not outlive the next adoption. */
export interface World {
  get<R>(rows: Rows<R>, key: string): R | undefined;
  members(index: Index, key: string): Members;
  /** Every key that has a row, or a member. */
  keys(collection: Collection): Iterable<string>;
  /** What threw and has not healed; empty when there is no bug. */
  failures(): Failure[];
}
