/** Where two lists differ: between an equal beginning and an equal end. */
export interface Differing {
  /** Length of the beginning that both have. */
  readonly start: number;
  /** Where the common end begins, in the one list and in the other. */
  readonly end: number;
  readonly otherEnd: number;
}

/** One change among thousands is found by comparing what stands at the same places, which is cheap for identical values. */
export function differing<T>(
  list: readonly T[],
  other: readonly T[],
  same: (a: T, b: T) => boolean = Object.is,
): Differing {
  const shorter = Math.min(list.length, other.length);
  let start = 0;
  while (start < shorter && same(list[start] as T, other[start] as T)) start += 1;
  let end = list.length;
  let otherEnd = other.length;
  while (end > start && otherEnd > start && same(list[end - 1] as T, other[otherEnd - 1] as T)) {
    end -= 1;
    otherEnd -= 1;
  }
  return { start, end, otherEnd };
}
