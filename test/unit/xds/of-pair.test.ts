import { expect, it } from 'vitest';
import { OfPair } from '../../../src/xds/of-pair.ts';

it('is found once for two things, and again when either is another', () => {
  const pairs = new OfPair<object, object, number>();
  const [a, b, c] = [{}, {}, {}];
  let count = 0;
  const asked = ([one, other]: readonly [object, object]) =>
    pairs.get(one, other, () => {
      count += 1;
      return count;
    });
  const questions = [
    [a, b],
    [a, b],
    [c, b],
    [a, b],
    [a, c],
    [a, c],
    [a, b],
  ] as const;
  expect(questions.map(asked)).toEqual([1, 1, 2, 1, 3, 3, 4]);
});
