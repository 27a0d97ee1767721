import { describe, expect, it } from 'vitest';
import { type Fork, Kernel } from '../../../src/view/index.ts';

/** Each sort of function that a declaration takes, throwing where the row says so. */
function fragile() {
  const kernel = new Kernel();
  const rows = kernel.table<string>('rows');
  const derived = kernel.derive('derived', rows, (read, key) => {
    const row = read(rows, key);
    if (row === 'derive') throw new Error('derive threw');
    return row;
  });
  const blind = kernel.derive('blind', rows, (_, key) => {
    if (key === 'blind') throw new Error('threw before the first read');
    return 1;
  });
  const letters = kernel.index('letters', rows, function* (row) {
    for (const letter of row) {
      yield letter;
      if (row === 'index') throw new Error('index threw');
    }
  });
  const compared = kernel.derive('compared', rows, (read, key) => read(rows, key), {
    same: (before, after) => {
      if (after === 'same') throw new Error('same threw');
      return before === after;
    },
  });
  return { kernel, rows, derived, blind, letters, compared };
}

function commit(kernel: Kernel, change: (fork: Fork) => void): void {
  const fork = kernel.fork();
  change(fork);
  fork.settleNow();
  kernel.adopt(fork);
}

const told = (world: Pick<Kernel, 'failures'>) =>
  world.failures().map(({ collection, key, error }) => `${collection}/${key}: ${(error.cause as Error).message}`);

describe('a declaration that throws', () => {
  const table: [string, string, string, string[]][] = [
    ['a derivation', 'a', 'derive', ['derived/a: derive threw']],
    ['a derivation that has read nothing', 'blind', 'x', ['blind/blind: threw before the first read']],
    ['the keys of an index', 'a', 'index', ['letters/a: index threw']],
    ['the comparison with the former row', 'a', 'same', ['compared/a: same threw']],
  ];

  describe.each(table)('%s', (_, key, row, want) => {
    const start = () => {
      const world = fragile();
      commit(world.kernel, (fork) => {
        fork.put(world.rows, 'other', 'go');
        if (key !== 'blind') fork.put(world.rows, key, 'fine');
      });
      const before = world.kernel.cells;
      commit(world.kernel, (fork) => fork.put(world.rows, key, row));
      return { ...world, before };
    };

    it('is a failure of its key', () => {
      expect(told(start().kernel)).toEqual(want);
    });

    it('leaves every other key alone', () => {
      const { kernel, derived, blind, letters, compared } = start();
      expect([kernel.get(derived, 'other'), kernel.get(blind, 'other'), kernel.get(compared, 'other')]).toEqual([
        'go',
        1,
        'go',
      ]);
      expect([...kernel.members(letters, 'g')]).toContain('other');
    });

    it('has no row and no members while it fails', () => {
      const { kernel, derived, blind, letters, compared } = start();
      const [collection] = want[0]?.split('/') ?? [];
      const row = {
        derived: kernel.get(derived, key),
        blind: kernel.get(blind, key),
        compared: kernel.get(compared, key),
      };
      if (collection === 'letters') expect([...kernel.members(letters, 'i')]).toEqual([]);
      else expect(row[collection as keyof typeof row]).toBeUndefined();
    });

    it('heals when the row does', () => {
      const { kernel, rows } = start();
      if (key === 'blind') return;
      commit(kernel, (fork) => fork.put(rows, key, 'fine'));
      expect(told(kernel)).toEqual([]);
    });

    it('goes with its key and leaves no cell behind', () => {
      const { kernel, rows } = start();
      commit(kernel, (fork) => {
        fork.remove(rows, key);
        fork.remove(rows, 'other');
      });
      expect(told(kernel)).toEqual([]);
      expect(kernel.cells).toBe(0);
    });

    it('is told by the fork before it is the world', () => {
      const { kernel, rows } = fragile();
      const fork = kernel.fork();
      fork.put(rows, key, 'fine');
      fork.settleNow();
      fork.put(rows, key, row);
      fork.settleNow();
      expect(told(fork)).toEqual(want);
      expect(told(kernel)).toEqual([]);
    });
  });
});
