/**
 * Milliseconds to wait before attempt `attempt` (0 is the first retry): doubling from `baseMs` up to `maxMs`, with
 * full jitter from `random` (0 ≤ random < 1) over the upper half, so that many who failed together do not come back
 * together.
 */
export function backoffMs(attempt: number, options: { baseMs: number; maxMs: number; random: number }): number {
  const full = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(attempt, 30));
  return full / 2 + (full / 2) * options.random;
}
