import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTogether } from '../../../src/observe/together.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { createFaultyStore, type FaultyStore, unavailable } from '../../support/mirrored.ts';

let store: FaultyStore;
let ids = 0;

beforeEach(() => {
  vi.useFakeTimers();
  store = createFaultyStore();
});
afterEach(async () => {
  await store.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const newId = () => `id-${++ids}`;
const together = (more: object = {}) => createTogether({ store, newId, atMost: 4, perSecond: 2, burst: 2, ...more });
const put = (key: string, modRevision: number | 'exists' = 0): Omit<Transaction, 'id'> => ({
  checks: [{ key, modRevision }],
  puts: [{ key, value: 'x' }],
  deletes: [],
});
const keys = async () => (await store.list('')).entries.map(({ key }) => key);

test('what is asked for in one step is one commit', async () => {
  const { commit } = together();
  const outcomes = await Promise.all(['a', 'b', 'c'].map((key) => commit(put(key))));
  expect(outcomes).toEqual(outcomes.map(() => outcomes[0]));
  expect(outcomes[0]?.committed).toBe(true);
  expect([store.commits, await keys()]).toEqual([1, ['a', 'b', 'c']]);
});

test('checks that do not hold keep back their own transaction alone', async () => {
  await store.commit({ id: 'before', ...put('c') });
  const { commit } = together();
  const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((key) => commit(put(key))));
  expect(outcomes.map(({ committed }) => committed)).toEqual([true, true, false, true]);
  expect(outcomes[2]).toMatchObject({ failed: [{ key: 'c' }] });
  expect([store.commits, await keys()]).toEqual([3, ['a', 'b', 'c', 'd']]);
});

test('a store that is away fails those that were asked for, and no later ones', async () => {
  store.fail('commit', unavailable, 1);
  const { commit } = together();
  const outcomes = await Promise.allSettled([commit(put('a')), commit(put('b'))]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect((await commit(put('a'))).committed).toBe(true);
});

test('after a few at once there are so many a second; at the end nothing waits', async () => {
  const { commit, hurry } = together();
  const all = Promise.all(Array.from({ length: 32 }, (_, n) => commit(put(`k${n}`))));
  await vi.advanceTimersByTimeAsync(0);
  expect(store.commits).toBe(2);
  await vi.advanceTimersByTimeAsync(500);
  expect(store.commits).toBe(3);
  await vi.advanceTimersByTimeAsync(500);
  expect(store.commits).toBe(4);
  hurry();
  await all;
  expect(store.commits).toBe(8);
});
