import { describe, expect, test } from 'vitest';
import { type Footprint, KeyOrder } from '../../../src/store/key-order.ts';

/** Work that says when it begins and ends when it is told to. */
function rig() {
  const order = new KeyOrder();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, footprint: Partial<Footprint>) =>
    order.run({ reads: [], writes: [], ...footprint }, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  /** Everything that can go on has gone on after this. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settle();
  };
  return { order, begun, start, end, settle };
}

describe('two pieces of work', () => {
  test.each<[string, Partial<Footprint>, Partial<Footprint>, boolean]>([
    ['that write one key', { writes: ['a'] }, { writes: ['a'] }, true],
    ['that write one key among others', { writes: ['a', 'b'] }, { writes: ['b', 'c'] }, true],
    ['of which the first reads what the second writes', { reads: ['a'] }, { writes: ['a'] }, true],
    ['of which the second reads what the first writes', { writes: ['a'] }, { reads: ['a'] }, true],
    ['that read one key', { reads: ['a'] }, { reads: ['a'] }, false],
    ['that have no key in common', { writes: ['a'] }, { writes: ['b'], reads: ['c'] }, false],
  ])('%s', async (_, first, second, meet) => {
    const { begun, start, end, settle } = rig();
    void start('first', first);
    void start('second', second);
    await settle();
    expect(begun).toEqual(meet ? ['first'] : ['first', 'second']);
    await end('first');
    expect(begun).toEqual(['first', 'second']);
  });
});

test('one that reads and writes a key does not wait for itself', async () => {
  const { begun, start, settle } = rig();
  void start('both', { reads: ['a'], writes: ['a'] });
  await settle();
  expect(begun).toEqual(['both']);
});

test('a writer waits for all readers since the last writer, and the next reader for it', async () => {
  const { begun, start, end, settle } = rig();
  void start('r1', { reads: ['a'] });
  void start('r2', { reads: ['a'] });
  void start('w', { writes: ['a'] });
  void start('r3', { reads: ['a'] });
  await settle();
  await end('r1');
  expect(begun).toEqual(['r1', 'r2']);
  await end('r2');
  expect(begun).toEqual(['r1', 'r2', 'w']);
  await end('w');
  expect(begun).toEqual(['r1', 'r2', 'w', 'r3']);
});

test('what fails lets the next go on, and tells its own caller alone', async () => {
  const order = new KeyOrder();
  const first = order.run({ reads: [], writes: ['a'] }, () => Promise.reject(new Error('no')));
  const second = order.run({ reads: [], writes: ['a'] }, async () => 'yes');
  await expect(first).rejects.toThrow('no');
  expect(await second).toBe('yes');
});
