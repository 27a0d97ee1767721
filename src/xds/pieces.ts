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

/** Does all of it at once. */
export function finish<T>(pieces: Pieces<T>): T {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}
