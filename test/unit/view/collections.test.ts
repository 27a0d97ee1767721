import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../src/lib/errors.ts';
import { type Fork, type Index, Kernel, type Read, type World } from '../../../src/view/index.ts';

interface Person {
  readonly town: string;
  readonly hobbies: readonly string[];
  readonly friend?: string;
}

/** People, a second source of the same shape, and one of each sort of collection over them. */
function town() {
  const kernel = new Kernel();
  const people = kernel.table<Person>('people');
  const robots = kernel.table<Person>('robots');
  const hobbies = kernel.index('hobbies', people, (row) => row.hobbies);
  const towns = kernel.index('towns', [people, robots], (row) => [row.town]);
  const census = kernel.derive('census', towns, (read, key) => read(towns, key).size);
  const labels = kernel.derive('labels', [people, robots], (read, key) => {
    const row = read(people, key) ?? read(robots, key);
    const friend = row?.friend === undefined ? undefined : read(people, row.friend);
    return `${key} of ${row?.town}${friend === undefined ? '' : `, friend in ${friend.town}`}`;
  });
  return { kernel, people, robots, hobbies, towns, census, labels };
}

type Town = ReturnType<typeof town>;

function commit(kernel: Kernel, change: (fork: Fork) => void): void {
  const fork = kernel.fork();
  change(fork);
  fork.settleNow();
  kernel.adopt(fork);
}

function members(world: World, index: Index): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const key of world.keys(index)) found[key] = [...world.members(index, key)].sort();
  return found;
}

const ann: Person = { town: 'Ulm', hobbies: ['chess', 'go'] };
const bob: Person = { town: 'Ulm', hobbies: ['go'], friend: 'cy' };
const rex: Person = { town: 'Jena', hobbies: [] };

describe('what the three sorts of collection hold', () => {
  const put = ({ people, robots }: Town, fork: Fork) => {
    fork.put(people, 'ann', ann);
    fork.put(people, 'bob', bob);
    fork.put(robots, 'rex', rex);
  };

  const table: [string, ((town: Town, fork: Fork) => void)[], (town: Town) => unknown, unknown][] = [
    ['a table: the rows', [put], (t) => [...t.kernel.keys(t.people)].sort(), ['ann', 'bob']],
    ['a table: one row', [put], (t) => t.kernel.get(t.people, 'ann'), ann],
    ['a table: no row', [put], (t) => t.kernel.get(t.people, 'eve'), undefined],
    [
      'an index: its keys and members',
      [put],
      (t) => members(t.kernel, t.hobbies),
      { chess: ['ann'], go: ['ann', 'bob'] },
    ],
    ['an index over two tables', [put], (t) => members(t.kernel, t.towns), { Ulm: ['ann', 'bob'], Jena: ['rex'] }],
    ['an index: no members', [put], (t) => [...t.kernel.members(t.towns, 'Rome')], []],
    [
      'a derivation over an index',
      [put],
      (t) => [t.kernel.get(t.census, 'Ulm'), t.kernel.get(t.census, 'Jena')],
      [2, 1],
    ],
    ['a derivation over two tables', [put], (t) => [...t.kernel.keys(t.labels)].sort(), ['ann', 'bob', 'rex']],
    ['a derivation that reads an absent key', [put], (t) => t.kernel.get(t.labels, 'bob'), 'bob of Ulm'],
    [
      'the absent key, once there',
      [put, (t, fork) => fork.put(t.people, 'cy', { town: 'Bonn', hobbies: [] })],
      (t) => t.kernel.get(t.labels, 'bob'),
      'bob of Ulm, friend in Bonn',
    ],
    [
      'the key that was there, once gone',
      [put, (t, fork) => fork.put(t.people, 'cy', rex), (t, fork) => fork.remove(t.people, 'cy')],
      (t) => t.kernel.get(t.labels, 'bob'),
      'bob of Ulm',
    ],
    [
      'the rows of a source key that went',
      [put, (t, fork) => fork.remove(t.people, 'ann')],
      (t) => [[...t.kernel.keys(t.labels)].sort(), t.kernel.get(t.census, 'Ulm'), members(t.kernel, t.hobbies)],
      [['bob', 'rex'], 1, { go: ['bob'] }],
    ],
    [
      'a derivation over an index key that lost its last member',
      [put, (t, fork) => fork.remove(t.robots, 'rex')],
      (t) => [[...t.kernel.keys(t.census)], members(t.kernel, t.towns)],
      [['Ulm'], { Ulm: ['ann', 'bob'] }],
    ],
    [
      'a key that went from one source to the other in one change',
      [
        put,
        (t, fork) => {
          fork.remove(t.robots, 'rex');
          fork.put(t.people, 'rex', { town: 'Bonn', hobbies: ['chess'] });
        },
      ],
      (t) => [t.kernel.get(t.labels, 'rex'), members(t.kernel, t.towns)],
      ['rex of Bonn', { Ulm: ['ann', 'bob'], Bonn: ['rex'] }],
    ],
    [
      'everything removed again: nothing, not even an absent key',
      [
        put,
        (t, fork) => {
          for (const key of ['ann', 'bob']) fork.remove(t.people, key);
          fork.remove(t.robots, 'rex');
        },
      ],
      (t) => t.kernel.cells,
      0,
    ],
  ];

  it.each(table)('%s', (_, changes, look, want) => {
    const t = town();
    for (const change of changes) commit(t.kernel, (fork) => change(t, fork));
    expect(look(t)).toEqual(want);
    expect(t.kernel.failures()).toEqual([]);
  });
});

describe('what an index tells about a change', () => {
  const go = ['go'];
  const table: [string, Person | undefined, Person | undefined, unknown][] = [
    [
      'a new row',
      undefined,
      ann,
      [
        { key: 'chess', added: ['x'], removed: [] },
        { key: 'go', added: ['x'], removed: [] },
      ],
    ],
    ['a row gone', { ...ann, hobbies: go }, undefined, [{ key: 'go', added: [], removed: ['x'] }]],
    ['only the difference', { ...ann, hobbies: go }, ann, [{ key: 'chess', added: ['x'], removed: [] }]],
    ['nothing, when the keys stay', ann, { ...ann, town: 'Bonn' }, []],
    ['nothing, when only their order changes', ann, { ...ann, hobbies: ['go', 'chess'] }, []],
    ['nothing, when a key is named twice', ann, { ...ann, hobbies: ['go', 'chess', 'go', 'chess'] }, []],
    [
      'no keys at all',
      ann,
      { ...ann, hobbies: [] },
      [
        { key: 'chess', added: [], removed: ['x'] },
        { key: 'go', added: [], removed: ['x'] },
      ],
    ],
  ];

  it.each(table)('%s', (_, before, after, want) => {
    const { kernel, people, hobbies } = town();
    commit(kernel, (fork) => {
      fork.put(people, 'other', { town: 'Ulm', hobbies: ['go', 'chess'] });
      if (before !== undefined) fork.put(people, 'x', before);
    });
    const fork = kernel.fork();
    if (after === undefined) fork.remove(people, 'x');
    else fork.put(people, 'x', after);
    fork.settleNow();
    expect(fork.indexChanges(hobbies).sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual(want);
  });

  it('costs one key of the index per name that differs, however many members there are', () => {
    const { kernel, people, hobbies, census } = town();
    commit(kernel, (fork) => {
      for (let at = 0; at < 1000; at += 1) fork.put(people, `p${at}`, ann);
    });
    const fork = kernel.fork();
    fork.put(people, 'p7', { ...ann, hobbies: ['go'] });
    fork.settleNow();
    expect(fork.indexChanges(hobbies)).toEqual([{ key: 'chess', added: [], removed: ['p7'] }]);
    expect(Object.fromEntries(fork.computed)).toEqual({ hobbies: 1, towns: 1, labels: 1 });
    expect(fork.changes(census)).toEqual([]);
  });
});

describe('a grouping', () => {
  const build = () => {
    const kernel = new Kernel();
    const people = kernel.table<Person>('people');
    const hobbies = kernel.index('hobbies', people, (row) => row.hobbies);
    const initials = kernel.grouping('initials', hobbies, (key) => [key.slice(0, 1)]);
    const count = kernel.derive('count', initials, (read, key) => read(initials, key).size);
    commit(kernel, (fork) => {
      fork.put(people, 'ann', { ...ann, hobbies: ['chess', 'go', 'golf'] });
      fork.put(people, 'bob', bob);
    });
    return { kernel, people, initials, count };
  };

  it('holds the keys of an index, each once', () => {
    const { kernel, initials } = build();
    expect(members(kernel, initials)).toEqual({ c: ['chess'], g: ['go', 'golf'] });
  });

  it('is asked when a key of the index comes or goes, and not when its members change', () => {
    const { kernel, people, initials, count } = build();
    const fork = kernel.fork();
    fork.put(people, 'ann', { ...ann, hobbies: ['chess', 'golf'] });
    fork.settleNow();
    expect(fork.computed.get('initials')).toBeUndefined();
    fork.remove(people, 'bob');
    fork.settleNow();
    expect(fork.computed.get('initials')).toBe(1);
    kernel.adopt(fork);
    expect([members(kernel, initials), kernel.get(count, 'g')]).toEqual([{ c: ['chess'], g: ['golf'] }, 1]);
    commit(kernel, (last) => last.remove(people, 'ann'));
    expect([members(kernel, initials), kernel.cells]).toEqual([{}, 0]);
  });
});

describe('a derivation over sources that have keys in common', () => {
  it('has a row as long as one of them has the key, and follows both', () => {
    const kernel = new Kernel();
    const wishes = kernel.table<number>('wishes');
    const orders = kernel.table<number>('orders');
    const best = kernel.derive('best', [wishes, orders], (read, key) => read(orders, key) ?? read(wishes, key));
    const steps: [(fork: Fork) => void, number | undefined][] = [
      [(fork) => fork.put(wishes, 'a', 1), 1],
      [(fork) => fork.put(orders, 'a', 2), 2],
      [(fork) => fork.put(wishes, 'a', 3), 2],
      [(fork) => fork.put(orders, 'a', 4), 4],
      [(fork) => fork.remove(orders, 'a'), 3],
      [(fork) => fork.remove(wishes, 'a'), undefined],
    ];
    for (const [change, want] of steps) {
      commit(kernel, change);
      expect(kernel.get(best, 'a')).toBe(want);
    }
    expect(kernel.cells).toBe(0);
  });
});

describe('a derivation that finds nothing to say', () => {
  const build = () => {
    const kernel = new Kernel();
    const numbers = kernel.table<number>('numbers');
    const limit = kernel.table<number>('limit');
    const large = kernel.derive('large', numbers, (read, key) => {
      const number = read(numbers, key) ?? 0;
      return number > 10 ? number : undefined;
    });
    // What another one has read of it makes a cell that knows nothing of its last computation.
    const label = kernel.derive('label', limit, (read, key) => `${read(large, key) ?? 'small'}`);
    return { kernel, numbers, limit, large, label };
  };

  it('keeps no cell for what it saw of its source, and is asked again when that changes', () => {
    const { kernel, numbers, large } = build();
    commit(kernel, (fork) => fork.put(numbers, 'a', 1));
    expect(kernel.cells).toBe(1);
    commit(kernel, (fork) => fork.put(numbers, 'a', 11));
    expect([kernel.get(large, 'a'), kernel.cells]).toEqual([11, 2]);
    commit(kernel, (fork) => fork.put(numbers, 'a', 2));
    expect([kernel.get(large, 'a'), kernel.cells]).toEqual([undefined, 1]);
  });

  it('is asked again also where others have read that it is absent', () => {
    const { kernel, numbers, limit, label } = build();
    commit(kernel, (fork) => fork.put(numbers, 'a', 1));
    commit(kernel, (fork) => fork.put(limit, 'a', 1));
    expect(kernel.get(label, 'a')).toBe('small');
    commit(kernel, (fork) => fork.put(numbers, 'a', 12));
    expect(kernel.get(label, 'a')).toBe('12');
    const fork = kernel.fork();
    fork.put(numbers, 'a', 1);
    fork.settleNow();
    fork.put(numbers, 'a', 13);
    fork.settleNow();
    expect(fork.get(label, 'a')).toBe('13');
  });
});

describe('same', () => {
  const build = () => {
    const kernel = new Kernel();
    const same = (before: { n: number }, after: { n: number }) => before.n === after.n;
    const numbers = kernel.table<{ n: number }>('numbers', { same });
    const parity = kernel.derive('parity', numbers, (read, key) => ({ n: (read(numbers, key)?.n ?? 0) % 2 }), { same });
    const text = kernel.derive('text', parity, (read, key) => `parity ${read(parity, key)?.n}`);
    commit(kernel, (fork) => fork.put(numbers, 'a', { n: 1 }));
    return { kernel, numbers, parity, text };
  };

  it('stops an equal row at the table', () => {
    const { kernel, numbers } = build();
    const fork = kernel.fork();
    fork.put(numbers, 'a', { n: 1 });
    expect(fork.settled).toBe(true);
    fork.settleNow();
    expect(fork.changes(numbers)).toEqual([]);
    expect(fork.computed.size).toBe(0);
  });

  it('stops an equal result where it is derived, and keeps the row that stood', () => {
    const { kernel, numbers, parity } = build();
    const before = kernel.get(parity, 'a');
    commit(kernel, (fork) => {
      fork.put(numbers, 'a', { n: 3 });
      fork.settleNow();
      expect(Object.fromEntries(fork.computed)).toEqual({ parity: 1 });
    });
    expect(kernel.get(parity, 'a')).toBe(before);
  });
});

describe('a derivation that does not read the row of its source', () => {
  it('is computed when the key comes, and not when the row changes', () => {
    const kernel = new Kernel();
    const rows = kernel.table<number>('rows');
    const names = kernel.derive('names', rows, (_, key) => `name of ${key}`);
    const nothing = kernel.derive('nothing', rows, () => undefined);
    commit(kernel, (fork) => fork.put(rows, 'a', 1));
    const fork = kernel.fork();
    fork.put(rows, 'a', 2);
    fork.put(rows, 'b', 2);
    fork.settleNow();
    expect(fork.changes(names)).toEqual([{ key: 'b', before: undefined, after: 'name of b' }]);
    expect(fork.computed.get('names')).toBe(1);
    kernel.adopt(fork);
    commit(kernel, (last) => {
      last.remove(rows, 'a');
      last.remove(rows, 'b');
    });
    expect([...kernel.keys(names), ...kernel.keys(nothing), kernel.cells]).toEqual([0]);
  });
});

describe('declaring', () => {
  it('refuses a collection after the first fork', () => {
    const kernel = new Kernel();
    kernel.fork();
    expect(() => kernel.table('late')).toThrow(InvariantError);
  });

  it('refuses a second collection of the same name', () => {
    const kernel = new Kernel();
    kernel.table('people');
    expect(() => kernel.table('people')).toThrow('people is declared twice');
  });

  it('refuses a source of another kernel', () => {
    const strange = new Kernel().table('strange');
    expect(() => new Kernel().derive('d', strange, () => 1)).toThrow('strange belongs to another kernel');
  });
});

describe('read', () => {
  it('throws for a collection that is not declared earlier: the key fails, and says why', () => {
    const kernel = new Kernel();
    const source = kernel.table<string>('source');
    const early = kernel.derive('early', source, (read, key): number => read(late, key)?.length ?? 0);
    const late = kernel.derive('late', source, (read, key) => read(source, key));
    const itself = kernel.derive('itself', source, (read, key): string | undefined => read(itself, key));
    commit(kernel, (fork) => fork.put(source, 'a', 'x'));
    expect(kernel.failures().map(({ collection, error }) => [collection, (error.cause as Error).message])).toEqual([
      ['early', 'early reads late, which is not declared before it'],
      ['itself', 'itself reads itself, which is not declared before it'],
    ]);
    expect(kernel.get(late, 'a')).toBe('x');
    expect(kernel.get(early, 'a')).toBeUndefined();
  });

  it('throws when it is kept and called later', () => {
    const kernel = new Kernel();
    const source = kernel.table<string>('source');
    let kept: Read | undefined;
    kernel.derive('thief', source, (read) => {
      kept = read;
      return 1;
    });
    commit(kernel, (fork) => fork.put(source, 'a', 'x'));
    expect(() => kept?.(source, 'a')).toThrow(InvariantError);
  });

  it('is recorded up to the throw, so that a failure heals', () => {
    const kernel = new Kernel();
    const source = kernel.table<string>('source');
    const target = kernel.table<number>('target');
    const strict = kernel.derive('strict', source, (read, key) => {
      const value = read(target, read(source, key) ?? '');
      if (value === undefined) throw new Error('no target');
      return value;
    });
    commit(kernel, (fork) => fork.put(source, 'a', 't'));
    expect(kernel.failures()).toHaveLength(1);
    commit(kernel, (fork) => fork.put(target, 't', 5));
    expect(kernel.failures()).toEqual([]);
    expect(kernel.get(strict, 'a')).toBe(5);
  });
});
