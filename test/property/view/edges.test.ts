import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Fork, Kernel } from '../../../src/view/index.ts';

/** Readers of a few shared rows, so many that every form in which readers are held is met, on the way up and down. */
const readers = 24;

function world() {
  const kernel = new Kernel();
  const shared = kernel.table<number>('shared');
  /** Which shared rows a reader reads, in this order. */
  const wanted = kernel.table<readonly string[]>('wanted');
  const sums = kernel.derive('sums', wanted, (read, key) =>
    (read(wanted, key) ?? []).reduce((sum, name) => sum + (read(shared, name) ?? 0), 0),
  );
  return { kernel, shared, wanted, sums };
}

function commit(kernel: Kernel, change: (fork: Fork) => void): ReadonlyMap<string, number> {
  const fork = kernel.fork();
  change(fork);
  fork.settleNow();
  kernel.adopt(fork);
  return fork.computed;
}

const names = ['a', 'b', 'c', 'd'];
const step = fc.record({
  reader: fc.integer({ min: 0, max: readers - 1 }),
  reads: fc.oneof(
    { weight: 2, arbitrary: fc.shuffledSubarray(names) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  ),
});
/** All of them come, some changes, some of them go. */
const steps = fc
  .tuple(
    fc.array(step, { minLength: 60, maxLength: 120 }),
    fc.array(fc.integer({ min: 0, max: readers - 1 }), { maxLength: 60 }),
  )
  .map(([changes, leaving]) => [...changes, ...leaving.map((reader) => ({ reader, reads: undefined }))]);

describe('edges', () => {
  it('lead to all that read a row, and to nothing else', () => {
    fc.assert(
      fc.property(steps, (changes) => {
        const { kernel, shared, wanted, sums } = world();
        commit(kernel, (fork) => fork.put(shared, 'a', 1));
        const model = new Map<string, readonly string[]>();
        let value = 1;
        for (const { reader, reads } of changes) {
          const key = `r${reader}`;
          if (reads === undefined) model.delete(key);
          else model.set(key, reads);
          commit(kernel, (fork) => (reads === undefined ? fork.remove(wanted, key) : fork.put(wanted, key, reads)));
          // "a" is there, "b" is not: what read the absent one is told too, and then it is gone again.
          value += 1;
          expect(commit(kernel, (fork) => fork.put(shared, 'a', value)).get('sums') ?? 0).toBe(readersOf(model, 'a'));
          expect(commit(kernel, (fork) => fork.put(shared, 'b', 1)).get('sums') ?? 0).toBe(readersOf(model, 'b'));
          commit(kernel, (fork) => fork.remove(shared, 'b'));
        }
        for (const [key, reads] of model) expect(kernel.get(sums, key)).toBe(reads.includes('a') ? value : 0);
        // A row each of `wanted` and `sums`, the row "a", and what is absent and read.
        const absent = ['b', 'c', 'd'].filter((name) => readersOf(model, name) > 0);
        expect(kernel.cells).toBe(2 * model.size + 1 + absent.length);
        commit(kernel, (fork) => {
          for (const key of model.keys()) fork.remove(wanted, key);
        });
        expect(kernel.cells).toBe(1);
      }),
      { numRuns: 30 },
    );
  });
});

function readersOf(model: ReadonlyMap<string, readonly string[]>, name: string): number {
  return [...model.values()].filter((reads) => reads.includes(name)).length;
}
