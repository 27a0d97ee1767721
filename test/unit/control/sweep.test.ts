import { expect, test } from 'vitest';
import { createSweep } from '../../../src/control/sweep.ts';

test('goes over all when asked, and only then', () => {
  const sweep = createSweep(() => ['a', 'b']);
  expect([sweep.pending, sweep.next()]).toEqual([false, undefined]);
  sweep.ask();
  sweep.ask();
  expect(sweep.pending).toBe(true);
  expect([sweep.next(), sweep.next(), sweep.next()]).toEqual(['a', 'b', undefined]);
  expect(sweep.pending).toBe(false);
});

test('asked on its way, it goes over all of it once more', () => {
  const sweep = createSweep(() => ['a', 'b']);
  sweep.ask();
  expect(sweep.next()).toBe('a');
  sweep.ask();
  expect([sweep.next(), sweep.next(), sweep.next(), sweep.next()]).toEqual(['b', 'a', 'b', undefined]);
});

test('what comes and goes on its way is and is not gone over', () => {
  const keys = new Set(['a', 'b', 'c']);
  const sweep = createSweep(() => keys);
  sweep.ask();
  expect(sweep.next()).toBe('a');
  keys.delete('b');
  keys.add('d');
  expect([sweep.next(), sweep.next(), sweep.next()]).toEqual(['c', 'd', undefined]);
});
