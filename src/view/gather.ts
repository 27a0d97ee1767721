import { placeIn } from '../lib/place-in.ts';

/** Rows that belong together, in the order of their keys. Immutable. */
export interface Gathered<R> {
  readonly keys: readonly string[];
  readonly rows: readonly R[];
}

/** So many keys are put in their places one by one; of more, and of a large share, all are put in order anew. */
const maxPlaced = 64;

/** The rows after some keys have changed: `rowOf` says which row belongs to them now, if any. Undefined: none is left. */
export function regathered<R>(
  was: Gathered<R> | undefined,
  changed: ReadonlySet<string>,
  rowOf: (key: string) => R | undefined,
): Gathered<R> | undefined {
  const { keys, rows } = was ?? nothing;
  const gathered =
    changed.size > Math.min(maxPlaced, keys.length / 8)
      ? sorted({ keys, rows }, changed, rowOf)
      : placed({ keys, rows }, changed, rowOf);
  return gathered.keys.length === 0 ? undefined : gathered;
}

const nothing: Gathered<never> = { keys: [], rows: [] };

function placed<R>(was: Gathered<R>, changed: ReadonlySet<string>, rowOf: (key: string) => R | undefined): Gathered<R> {
  let keys: string[] | undefined;
  const rows = [...was.rows];
  for (const key of changed) {
    const row = rowOf(key);
    const at = placeIn(keys ?? was.keys, key, itself);
    const known = (keys ?? was.keys)[at] === key;
    if (known && row !== undefined) {
      rows[at] = row;
    } else if (known || row !== undefined) {
      // The list of keys is shared for as long as they are the same.
      keys ??= [...was.keys];
      keys.splice(at, known ? 1 : 0, ...(known ? [] : [key]));
      rows.splice(at, known ? 1 : 0, ...(row === undefined ? [] : [row]));
    }
  }
  return { keys: keys ?? was.keys, rows };
}

function sorted<R>(was: Gathered<R>, changed: ReadonlySet<string>, rowOf: (key: string) => R | undefined): Gathered<R> {
  const all: [string, R][] = [];
  for (const [at, key] of was.keys.entries()) if (!changed.has(key)) all.push([key, was.rows[at] as R]);
  for (const key of changed) {
    const row = rowOf(key);
    if (row !== undefined) all.push([key, row]);
  }
  all.sort(([a], [b]) => (a < b ? -1 : 1));
  return { keys: all.map(([key]) => key), rows: all.map(([, row]) => row) };
}

const itself = (key: string): string => key;

/** Whether the two are made of the same rows. */
export function sameGathered(a: Gathered<unknown>, b: Gathered<unknown>): boolean {
  return sameItems(a.keys, b.keys) && sameItems(a.rows, b.rows);
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}
