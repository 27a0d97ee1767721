/** Units from long to short; a duration names each at most once, in this order. */
const units = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** The text form of a duration as a regular expression, for schemas. It also matches the empty text. */
export const durationPattern = '^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$';
const duration = new RegExp(durationPattern);

/**
 * Milliseconds of a duration such as `250ms`, `5s`, `1m30s` or `0s`; undefined when the text is none: no unit, a
 * fraction, a sign, units out of order, or more than can be counted exactly.
 */
export function parseDuration(text: string): number | undefined {
  const parts = duration.exec(text);
  if (parts === null || text === '') return undefined;
  let totalMs = 0;
  for (const [i, [, unitMs]] of units.entries()) {
    const part = parts[i + 1];
    if (part !== undefined) totalMs += Number.parseInt(part, 10) * unitMs;
  }
  return Number.isSafeInteger(totalMs) ? totalMs : undefined;
}

/** The shortest text that `parseDuration` reads as `ms` (a whole number, 0 or more): `90000` is `1m30s`. */
export function formatDuration(ms: number): string {
  let rest = ms;
  let text = '';
  for (const [unit, unitMs] of units) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}
