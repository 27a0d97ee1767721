import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../../src/lib/duration.ts';

test.each<[string, number | undefined]>([
  ['0s', 0],
  ['250ms', 250],
  ['5s', 5000],
  ['1m30s', 90_000],
  ['2h', 7_200_000],
  ['1h1m1s1ms', 3_661_001],
  ['90s', 90_000],
  ['007s', 7000],
  ['', undefined],
  ['5', undefined],
  ['s', undefined],
  ['1.5s', undefined],
  ['-1s', undefined],
  ['+1s', undefined],
  ['1 s', undefined],
  ['1s ', undefined],
  ['1S', undefined],
  ['1d', undefined],
  ['1s1m', undefined],
  ['1s2s', undefined],
  ['5min', undefined],
  ['99999999999999999999h', undefined],
])('%s', (text, want) => {
  expect(parseDuration(text)).toBe(want);
});

test.each<[number, string]>([
  [0, '0s'],
  [1, '1ms'],
  [1000, '1s'],
  [90_000, '1m30s'],
  [3_600_000, '1h'],
  [3_661_001, '1h1m1s1ms'],
])('%d ms', (ms, want) => {
  expect(formatDuration(ms)).toBe(want);
});

test('any duration survives being written and read', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    }),
  );
});
