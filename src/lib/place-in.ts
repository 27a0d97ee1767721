/** The place of a key in a list that is sorted by keys, by code units: of its own, or where it would stand. */
export function placeIn<T>(sorted: readonly T[], key: string, keyOf: (item: T) => string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(sorted[middle] as T) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The item of that key. */
export function findIn<T>(sorted: readonly T[], key: string, keyOf: (item: T) => string): T | undefined {
  const item = sorted[placeIn(sorted, key, keyOf)];
  return item !== undefined && keyOf(item) === key ? item : undefined;
}
