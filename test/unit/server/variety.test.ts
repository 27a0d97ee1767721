import { describe, expect, test } from 'vitest';
import { createVariety } from '../../../src/server/variety.ts';

const variety = () => createVariety({ limit: 2, windowMs: 1_000, subjects: 2 });

describe('of one subject', () => {
  test('the first few things are told, however often, and no others', () => {
    const { takes } = variety();
    expect(['a', 'b', 'c', 'a', 'd', 'b'].map((thing) => takes('x', thing, 0))).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
    ]);
  });

  test('others are in the next window, which begins with its first thing', () => {
    const { takes } = variety();
    for (const thing of ['a', 'b']) takes('x', thing, 100);
    expect(takes('x', 'c', 1_099)).toBe(false);
    expect(takes('x', 'c', 1_100)).toBe(true);
    expect(takes('x', 'd', 2_099)).toBe(true);
    expect(takes('x', 'e', 2_099)).toBe(false);
  });
});

test('subjects have no part in the bounds of others', () => {
  const { takes } = variety();
  for (const thing of ['a', 'b', 'c']) takes('x', thing, 0);
  expect(takes('y', 'c', 0)).toBe(true);
});

test('the oldest subject is forgotten when there are too many', () => {
  const { takes } = variety();
  for (const thing of ['a', 'b']) takes('x', thing, 0);
  takes('y', 'a', 0);
  expect(takes('x', 'c', 0)).toBe(false);
  takes('z', 'a', 0);
  expect(takes('x', 'c', 0)).toBe(true);
});
