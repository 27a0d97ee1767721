/** Whether two rows of plain values say the same. For small rows: both are written out. */
export function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
