import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Gathered, regathered, sameGathered } from '../../../src/view/gather.ts';
import { type Fork, Kernel } from '../../../src/view/index.ts';

/** People by town, each with a greeting: whoever is shy has none. */
function town() {
  const kernel = new Kernel();
  const people = kernel.table<{ readonly town: string; readonly shy?: boolean; readonly says?: string }>('people');
  const towns = kernel.index('towns', people, (row) => [row.town]);
  const greetings = kernel.derive('greetings', people, (read, key) => {
    const row = read(people, key);
    return row === undefined || row.shy === true ? undefined : `${row.says ?? 'hello'}, ${key}`;
  });
  const heard = kernel.gather('heard', towns, greetings);
  return { kernel, people, towns, greetings, heard };
}

type Town = ReturnType<typeof town>;

const settled = ({ kernel }: Town, change: (fork: Fork) => void): Fork => {
  const fork = kernel.fork();
  change(fork);
  fork.settleNow();
  return fork;
};

const commit = (world: Town, change: (fork: Fork) => void): void => world.kernel.adopt(settled(world, change));

function peopled(): Town {
  const world = town();
  commit(world, (fork) => {
    fork.put(world.people, 'bob', { town: 'Ulm' });
    fork.put(world.people, 'ann', { town: 'Ulm' });
    fork.put(world.people, 'eve', { town: 'Ulm', shy: true });
    fork.put(world.people, 'rex', { town: 'Jena' });
  });
  return world;
}

describe('rows that are gathered', () => {
  it('are those of the members, in the order of the members', () => {
    const { kernel, heard } = peopled();
    expect(kernel.get(heard, 'Ulm')).toEqual({ keys: ['ann', 'bob'], rows: ['hello, ann', 'hello, bob'] });
    expect(kernel.get(heard, 'Jena')?.rows).toEqual(['hello, rex']);
    expect(kernel.get(heard, 'Rome')).toBeUndefined();
  });

  it.each<[what: string, change: (world: Town, fork: Fork) => void, Record<string, readonly string[]>]>([
    [
      'a row that changed',
      (t, fork) => fork.put(t.people, 'bob', { town: 'Ulm', says: 'hi' }),
      { Ulm: ['hello, ann', 'hi, bob'] },
    ],
    [
      'a row that came',
      (t, fork) => fork.put(t.people, 'eve', { town: 'Ulm' }),
      { Ulm: ['hello, ann', 'hello, bob', 'hello, eve'] },
    ],
    ['a row that went', (t, fork) => fork.put(t.people, 'ann', { town: 'Ulm', shy: true }), { Ulm: ['hello, bob'] }],
    [
      'a member that moved',
      (t, fork) => fork.put(t.people, 'ann', { town: 'Jena' }),
      { Ulm: ['hello, bob'], Jena: ['hello, ann', 'hello, rex'] },
    ],
    [
      'the last member that moved',
      (t, fork) => fork.put(t.people, 'rex', { town: 'Bonn' }),
      { Jena: [], Bonn: ['hello, rex'] },
    ],
    ['the last row that went', (t, fork) => fork.put(t.people, 'rex', { town: 'Jena', shy: true }), { Jena: [] }],
    ['a member that is gone', (t, fork) => fork.remove(t.people, 'ann'), { Ulm: ['hello, bob'] }],
    ['a member without a row', (t, fork) => fork.remove(t.people, 'eve'), {}],
  ])('tell of %s, in the fork and once it is adopted', (_, change, want) => {
    const world = peopled();
    const fork = settled(world, (it) => change(world, it));
    const changes = fork.changes(world.heard).map(({ key, after }) => [key, after?.rows ?? []]);
    expect(Object.fromEntries(changes)).toEqual(want);
    world.kernel.adopt(fork);
    for (const [key, rows] of Object.entries(want))
      expect(world.kernel.get(world.heard, key)?.rows ?? []).toEqual(rows);
  });

  it('go by all rounds of a fork, and tell of no change that was taken back', () => {
    const world = peopled();
    const fork = settled(world, (it) => it.put(world.people, 'ann', { town: 'Jena' }));
    fork.put(world.people, 'ann', { town: 'Bonn' });
    fork.settleNow();
    expect(fork.get(world.heard, 'Jena')?.rows).toEqual(['hello, rex']);
    expect(fork.get(world.heard, 'Bonn')?.rows).toEqual(['hello, ann']);
    fork.put(world.people, 'ann', { town: 'Ulm' });
    fork.settleNow();
    expect(fork.changes(world.heard)).toEqual([]);
    expect(world.kernel.get(world.heard, 'Ulm')?.keys).toEqual(['ann', 'bob']);
  });

  it('can be gathered by an index only that is declared before them', () => {
    const { kernel, greetings, people } = town();
    const later = kernel.index('later', people, (row) => [row.town]);
    expect(() => kernel.gather('late', later, greetings)).toThrow('greetings, which is declared before later');
  });
});

describe('gathering anew', () => {
  const keys = fc.uniqueArray(fc.nat({ max: 400 }), { maxLength: 400 });
  const gather = (rows: ReadonlyMap<string, object>): Gathered<object> => {
    const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
    return { keys: sorted.map(([key]) => key), rows: sorted.map(([, row]) => row) };
  };

  it('is what gathering from nothing is, however many have changed', () => {
    fc.assert(
      fc.property(keys, keys, fc.nat({ max: 400 }), (before, after, limit) => {
        const was = new Map(before.map((key) => [String(key), {}]));
        const is = new Map(was);
        const changed = new Set<string>();
        for (const key of [...before, ...after].slice(0, limit).map(String)) {
          changed.add(key);
          if (after.includes(Number(key))) is.set(key, {});
          else is.delete(key);
        }
        const outcome = regathered(gather(was), changed, (key) => is.get(key));
        expect(outcome).toEqual(is.size === 0 ? undefined : gather(is));
        expect(outcome?.rows.every((row, at) => row === is.get(outcome.keys[at] as string)) ?? true).toBe(true);
      }),
    );
  });

  it('keeps the list of keys where only rows have changed', () => {
    const was = gather(new Map(Array.from({ length: 20 }, (_, at) => [`k${at}`, {}])));
    const is = regathered(was, new Set(['k3']), () => ({}));
    expect(is?.keys).toBe(was.keys);
    expect(is !== undefined && sameGathered(was, is)).toBe(false);
    expect(sameGathered(was, { keys: [...was.keys], rows: [...was.rows] })).toBe(true);
  });
});
