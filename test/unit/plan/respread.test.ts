import { expect, test } from 'vitest';
import { planRespread, type SpreadMember } from '../../../src/plan/index.ts';

const members = (streams: Readonly<Record<string, number>>, unready: readonly string[] = []): SpreadMember[] =>
  Object.entries(streams).map(([id, count]) => ({ id, streams: count, isReady: !unready.includes(id) }));

test.each<[string, Readonly<Record<string, number>>, readonly string[], number]>([
  ['ends some when it has clearly more than its share', { a: 40, b: 20, c: 0 }, [], 10],
  ['ends no more than it has too many', { a: 25, b: 20, c: 15 }, [], 5],
  ['ends none within the tolerance', { a: 22, b: 20, c: 18 }, [], 0],
  ['ends none when another has more', { a: 30, b: 31, c: 0 }, [], 0],
  ['is the one to begin when two have the same', { a: 30, b: 30, c: 0 }, [], 10],
  ['ends none while another is not ready', { a: 40, b: 20, c: 0 }, ['c'], 0],
  ['ends none while it is not ready itself', { a: 40, b: 20, c: 0 }, ['a'], 0],
  ['ends none when it is alone', { a: 40 }, [], 0],
  ['ends none of a few that do not divide', { a: 2, b: 2, c: 0 }, [], 0],
  ['ends one of a few that could be elsewhere', { a: 3, b: 1, c: 0 }, [], 1],
  ['ends none when nobody has any', { a: 0, b: 0, c: 0 }, [], 0],
  ['ends none when it is not among them', { b: 40, c: 0 }, [], 0],
])('%s', (_, streams, unready, want) => {
  expect(planRespread('a', members(streams, unready), 10)).toBe(want);
});
