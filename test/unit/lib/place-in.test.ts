import { expect, it } from 'vitest';
import { findIn, placeIn } from '../../../src/lib/place-in.ts';

const sorted = ['B', 'a', 'c', 'e'];
const self = (text: string): string => text;

it.each([
  ['A', 0],
  ['B', 0],
  ['a', 1],
  ['b', 2],
  ['e', 3],
  ['f', 4],
])('%s has the place %i', (key, place) => {
  expect(placeIn(sorted, key, self)).toBe(place);
  expect(findIn(sorted, key, self)).toBe(sorted.includes(key) ? key : undefined);
});

it('is the first in an empty list', () => {
  expect(placeIn<string>([], 'a', self)).toBe(0);
});
