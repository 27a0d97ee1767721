/**
 * Work that is done in pieces: each `yield` is a place to let others go on. A piece is about a millisecond's worth, by
 * count and not by the clock, so that the machines stay without one.
 */
export type Pieces<T = void> = Generator<void, T>;

/** Names, or streams, in one piece. */
export const perPiece = 1_024;

/** Bytes of a request that are read in one piece: some hundred names. Shorter ones are read at once. */
export const bytesPerPiece = 32 * 1024;

/** Visits everything, in pieces. What `items` gains meanwhile is visited, too. */
export function* each<T>(items: Iterable<T>, visit: (item: T) => void): Pieces {
  let visited = 0;
  for (const item of items) {
    visit(item);
    visited += 1;
    if (visited % perPiece === 0) yield;
  }
}

/** Texts in order, as `sort` has them. */
export function* sorted(items: Iterable<string>): Pieces<readonly string[]> {
  let runs: string[][] = [[]];
  yield* each(items, (item) => {
    const last = runs.at(-1);
    if (last === undefined || last.length === perPiece) runs.push([item]);
    else last.push(item);
  });
  for (const run of runs) {
    run.sort();
    yield;
  }
  while (runs.length > 1) {
    const longer: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? []));
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged(a: readonly string[], b: readonly string[]): Pieces<string[]> {
  const all: string[] = [];
  let nextA = 0;
  let nextB = 0;
  while (all.length < a.length + b.length) {
    const [itemA, itemB] = [a[nextA], b[nextB]];
    const isA = itemB === undefined || (itemA !== undefined && itemA <= itemB);
    all.push((isA ? itemA : itemB) as string);
    if (isA) nextA += 1;
    else nextB += 1;
    if (all.length % perPiece === 0) yield;
  }
  return all;
}

/** Does all of it at once. */
export function finish<T>(pieces: Pieces<T>): T {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}
