/**
 * A change moves a member of a pool to an address that says which change it was, so that a client sees in the bytes
 * of a resource how new it is: 100.64.0.0/10 holds four million numbers.
 */
const maxMark = 2 ** 22;

export function mark(change: number): string {
  if (change >= maxMark) throw new RangeError(`change ${change}: there are only ${maxMark} marks`);
  return `100.${64 + (change >> 16)}.${(change >> 8) & 255}.${change & 255}`;
}
