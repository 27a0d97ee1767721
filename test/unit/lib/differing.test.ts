import { expect, it } from 'vitest';
import { differing } from '../../../src/lib/differing.ts';

it.each<[what: string, list: string, other: string, between: string, otherBetween: string]>([
  ['nothing', 'abc', 'abc', '', ''],
  ['one changed', 'aXc', 'abc', 'X', 'b'],
  ['one more', 'abXc', 'abc', 'X', ''],
  ['one more at the end', 'abcX', 'abc', 'X', ''],
  ['one less', 'ac', 'abc', '', 'b'],
  ['one of equal ones less', 'aa', 'aaa', '', 'a'],
  ['two far apart', 'XbcdY', 'abcde', 'XbcdY', 'abcde'],
  ['all', 'xyz', 'abc', 'xyz', 'abc'],
  ['from nothing', 'abc', '', 'abc', ''],
])('%s', (_, list, other, between, otherBetween) => {
  const { start, end, otherEnd } = differing([...list], [...other]);
  expect([list.slice(start, end), other.slice(start, otherEnd)]).toEqual([between, otherBetween]);
  expect(list.slice(0, start)).toBe(other.slice(0, start));
  expect(list.slice(end)).toBe(other.slice(otherEnd));
});

it('goes by what is said to be the same', () => {
  expect(differing(['A', 'x'], ['a', 'y'], (a, b) => a.toLowerCase() === b.toLowerCase())).toEqual({
    start: 1,
    end: 2,
    otherEnd: 2,
  });
});
