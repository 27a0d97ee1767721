import { expect, test } from 'vitest';
import { createBuckets } from '../../../src/access/index.ts';

test('a burst is let through at once, and then one at a time', () => {
  const buckets = createBuckets({ perSecond: 2, burst: 3 });
  const at = (ms: number) => buckets.take('a', ms);
  expect([at(0), at(0), at(0), at(0)]).toEqual([0, 0, 0, 500]);
  // Asking in vain takes nothing.
  expect([at(100), at(499), at(500), at(500)]).toEqual([400, 1, 0, 500]);
  // A rest fills it to the burst and no further.
  expect([at(60_000), at(60_000), at(60_000), at(60_000)]).toEqual([0, 0, 0, 500]);
});

test('each key has its own', () => {
  const buckets = createBuckets({ perSecond: 1, burst: 1 });
  expect([buckets.take('a', 0), buckets.take('a', 0), buckets.take('b', 0)]).toEqual([0, 1000, 0]);
});

test('what is given back can be taken again, and no more than that', () => {
  const buckets = createBuckets({ perSecond: 1, burst: 2 });
  const at = (ms: number) => buckets.take('a', ms);
  expect([at(0), at(0), at(0)]).toEqual([0, 0, 1000]);
  buckets.giveBack('a');
  expect([at(0), at(0)]).toEqual([0, 1000]);
  for (let i = 0; i < 9; i++) buckets.giveBack('a');
  expect([at(0), at(0), at(0)]).toEqual([0, 0, 1000]);
});

test('a clock that goes back does not fill it', () => {
  const buckets = createBuckets({ perSecond: 1, burst: 1 });
  expect([buckets.take('a', 10_000), buckets.take('a', 0), buckets.take('a', 999)]).toEqual([0, 1000, 1]);
});

test('of too many keys the one used longest ago is forgotten', () => {
  const buckets = createBuckets({ perSecond: 1, burst: 1 }, 2);
  for (const key of ['a', 'b', 'a', 'c']) buckets.take(key, 0);
  expect([buckets.take('a', 0), buckets.take('c', 0), buckets.take('b', 0)]).toEqual([1000, 1000, 0]);
});
