import { expect, test } from 'vitest';
import { backoffMs } from '../../../src/lib/backoff.ts';

const range = { baseMs: 100, maxMs: 5_000 };

test.each<[attempt: number, least: number, most: number]>([
  [0, 50, 100],
  [1, 100, 200],
  [2, 200, 400],
  [5, 1_600, 3_200],
  [6, 2_500, 5_000],
  [7, 2_500, 5_000],
  [1_000, 2_500, 5_000],
  [Number.MAX_SAFE_INTEGER, 2_500, 5_000],
])('attempt %i waits from %i to %i ms', (attempt, least, most) => {
  expect(backoffMs(attempt, { ...range, random: 0 })).toBe(least);
  expect(backoffMs(attempt, { ...range, random: 0.5 })).toBe((least + most) / 2);
  const highest = backoffMs(attempt, { ...range, random: 1 - Number.EPSILON });
  expect(highest).toBeGreaterThan((least + most) / 2);
  expect(highest).toBeLessThanOrEqual(most);
});
