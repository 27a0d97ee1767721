import { describe, expect, it } from 'vitest';
import {
  type Budget,
  type Collection,
  type Fork,
  type Index,
  Kernel,
  type Table,
  type World,
} from '../../../src/view/index.ts';

/** Numbers, their doubles, the doubles by size, and the sum of each size: four steps, one behind the other. */
function sums() {
  const kernel = new Kernel();
  const numbers = kernel.table<number>('numbers');
  const factor = kernel.table<number>('factor');
  const products = kernel.derive(
    'products',
    numbers,
    (read, key) => (read(numbers, key) ?? 0) * (read(factor, 'f') ?? 2),
  );
  const sizes = kernel.index('sizes', products, (row) => [row < 10 ? 'small' : 'large']);
  const totals = kernel.derive('totals', sizes, (read, key) => {
    let sum = 0;
    for (const member of read(sizes, key)) sum += read(products, member) ?? 0;
    return sum;
  });
  return { kernel, numbers, factor, products, sizes, totals };
}

type Sums = ReturnType<typeof sums>;

/** Everything a world holds, in a form that can be compared. */
function look(world: World, { numbers, factor, products, sizes, totals }: Sums) {
  const rows = (collection: Collection) =>
    Object.fromEntries(
      [...world.keys(collection)].sort().map((key) => [key, world.get(collection as Table<unknown>, key)]),
    );
  const members = (index: Index) =>
    Object.fromEntries([...world.keys(index)].sort().map((key) => [key, [...world.members(index, key)].sort()]));
  return {
    numbers: rows(numbers),
    factor: rows(factor),
    products: rows(products),
    sizes: members(sizes),
    totals: rows(totals),
  };
}

function commit(kernel: Kernel, change: (fork: Fork) => void): void {
  const fork = kernel.fork();
  change(fork);
  fork.settleNow();
  kernel.adopt(fork);
}

function start(): Sums {
  const world = sums();
  commit(world.kernel, (fork) => {
    fork.put(world.numbers, 'a', 1);
    fork.put(world.numbers, 'b', 7);
    fork.put(world.numbers, 'c', 8);
  });
  return world;
}

describe('a fork as a world', () => {
  it('shows what would be, and leaves the kernel as it is', () => {
    const world = start();
    const before = look(world.kernel, world);
    const fork = world.kernel.fork();
    fork.put(world.numbers, 'd', 2);
    fork.put(world.numbers, 'a', 9);
    fork.remove(world.numbers, 'b');
    fork.settleNow();
    expect(look(fork, world)).toEqual({
      numbers: { a: 9, c: 8, d: 2 },
      factor: {},
      products: { a: 18, c: 16, d: 4 },
      sizes: { large: ['a', 'c'], small: ['d'] },
      totals: { large: 34, small: 4 },
    });
    expect(look(world.kernel, world)).toEqual(before);
  });

  it('has members with size and has, over what is adopted, added and removed', () => {
    const world = start();
    const fork = world.kernel.fork();
    fork.put(world.numbers, 'a', 6);
    fork.remove(world.numbers, 'c');
    fork.settleNow();
    const large = fork.members(world.sizes, 'large');
    expect([large.size, large.has('a'), large.has('b'), large.has('c'), [...large].sort()]).toEqual([
      2,
      true,
      true,
      false,
      ['a', 'b'],
    ]);
    expect(fork.members(world.sizes, 'small').size).toBe(0);
    expect([...fork.keys(world.sizes)]).toEqual(['large']);
  });

  it('is, once adopted, the world that it showed', () => {
    const world = start();
    const fork = world.kernel.fork();
    fork.put(world.numbers, 'a', 5);
    fork.settleNow();
    const shown = look(fork, world);
    world.kernel.adopt(fork);
    expect(look(world.kernel, world)).toEqual(shown);
  });
});

describe('changes', () => {
  type Step = (fork: Fork, world: Sums) => void;
  const settle: Step = (fork) => fork.settleNow();
  const table: [string, Step[], unknown[], unknown[], unknown[]][] = [
    ['nothing put', [], [], [], []],
    [
      'a row that stays in its group',
      [(fork, w) => fork.put(w.numbers, 'c', 9)],
      [{ key: 'c', before: 16, after: 18 }],
      [],
      [{ key: 'large', before: 30, after: 32 }],
    ],
    [
      'a row that changes its group',
      [(fork, w) => fork.put(w.numbers, 'a', 5)],
      [{ key: 'a', before: 2, after: 10 }],
      [
        { key: 'large', added: ['a'], removed: [] },
        { key: 'small', added: [], removed: ['a'] },
      ],
      [
        { key: 'large', before: 30, after: 40 },
        { key: 'small', before: 2, after: undefined },
      ],
    ],
    [
      'put and put back before settling',
      [(fork, w) => fork.put(w.numbers, 'a', 5), (fork, w) => fork.put(w.numbers, 'a', 1)],
      [],
      [],
      [],
    ],
    [
      'put, settled, put back, settled',
      [(fork, w) => fork.put(w.numbers, 'a', 5), settle, (fork, w) => fork.put(w.numbers, 'a', 1)],
      [],
      [],
      [],
    ],
    [
      'added, settled, removed, settled',
      [(fork, w) => fork.put(w.numbers, 'z', 5), settle, (fork, w) => fork.remove(w.numbers, 'z')],
      [],
      [],
      [],
    ],
    [
      'removed, settled, put again, settled',
      [(fork, w) => fork.remove(w.numbers, 'a'), settle, (fork, w) => fork.put(w.numbers, 'a', 1)],
      [],
      [],
      [],
    ],
    ['a removal of what is not there', [(fork, w) => fork.remove(w.numbers, 'z')], [], [], []],
    [
      'two rounds count as one change',
      [(fork, w) => fork.put(w.numbers, 'a', 3), settle, (fork, w) => fork.put(w.numbers, 'a', 4)],
      [{ key: 'a', before: 2, after: 8 }],
      [],
      [{ key: 'small', before: 2, after: 8 }],
    ],
    [
      'a key added in the first round and changed in the second',
      [(fork, w) => fork.put(w.numbers, 'z', 3), settle, (fork, w) => fork.put(w.numbers, 'z', 4)],
      [{ key: 'z', before: undefined, after: 8 }],
      [{ key: 'small', added: ['z'], removed: [] }],
      [{ key: 'small', before: 2, after: 10 }],
    ],
    [
      'a new key whose absent read appears in the second round',
      [(fork, w) => fork.put(w.numbers, 'z', 4), settle, (fork, w) => fork.put(w.factor, 'f', 1)],
      [
        { key: 'a', before: 2, after: 1 },
        { key: 'b', before: 14, after: 7 },
        { key: 'c', before: 16, after: 8 },
        { key: 'z', before: undefined, after: 4 },
      ],
      [
        { key: 'large', added: [], removed: ['b', 'c'] },
        { key: 'small', added: ['b', 'c', 'z'], removed: [] },
      ],
      [
        { key: 'large', before: 30, after: undefined },
        { key: 'small', before: 2, after: 20 },
      ],
    ],
  ];

  const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);

  it.each(table)('%s', (_, steps, products, sizes, totals) => {
    const world = start();
    const fork = world.kernel.fork();
    for (const step of [...steps, settle]) step(fork, world);
    expect(fork.changes(world.products).sort(byKey)).toEqual(products);
    const sorted = fork
      .indexChanges(world.sizes)
      .map(({ key, added, removed }) => ({ key, added: [...added].sort(), removed: [...removed].sort() }));
    expect(sorted.sort(byKey)).toEqual(sizes);
    expect(fork.changes(world.totals).sort(byKey)).toEqual(totals);
  });

  it('put back as an equal row that is not the same object is none', () => {
    const kernel = new Kernel();
    const rows = kernel.table<{ n: number }>('rows', { same: (before, after) => before.n === after.n });
    const adopted = { n: 1 };
    commit(kernel, (fork) => fork.put(rows, 'a', adopted));
    const fork = kernel.fork();
    fork.put(rows, 'a', { n: 2 });
    fork.put(rows, 'a', { n: 1 });
    fork.settleNow();
    expect(fork.changes(rows)).toEqual([]);
    expect(fork.get(rows, 'a')).toBe(adopted);
  });
});

describe('misuse', () => {
  const table: [string, (world: Sums) => void, string][] = [
    [
      'adopting a fork that is not settled',
      ({ kernel, numbers }) => {
        const fork = kernel.fork();
        fork.put(numbers, 'a', 2);
        kernel.adopt(fork);
      },
      'not settled',
    ],
    [
      'adopting a fork that had a put after it settled',
      ({ kernel, numbers }) => {
        const fork = kernel.fork();
        fork.settleNow();
        fork.put(numbers, 'a', 2);
        kernel.adopt(fork);
      },
      'not settled',
    ],
    [
      'adopting a fork of a former world',
      (world) => {
        const fork = world.kernel.fork();
        commit(world.kernel, (other) => other.put(world.numbers, 'a', 3));
        world.kernel.adopt(fork);
      },
      'moved on',
    ],
    [
      'adopting a fork twice',
      ({ kernel }) => {
        const fork = kernel.fork();
        kernel.adopt(fork);
        kernel.adopt(fork);
      },
      'moved on',
    ],
    [
      'asking a fork of a former world what it changed',
      (world) => {
        const fork = world.kernel.fork();
        fork.put(world.numbers, 'a', 3);
        fork.settleNow();
        world.kernel.adopt(fork);
        fork.changes(world.products);
      },
      'moved on',
    ],
    [
      'putting into a derivation',
      ({ kernel, products }) => kernel.fork().put(products as unknown as Table<number>, 'a', 2),
      'is derived',
    ],
    ['a collection of another kernel', ({ kernel }) => kernel.fork().get(start().numbers, 'a'), 'another kernel'],
    [
      'adopting a fork of another kernel',
      ({ kernel }) => {
        const fork = start().kernel.fork();
        start().kernel.adopt(kernel.fork());
        kernel.adopt(fork);
      },
      'another kernel',
    ],
  ];

  it.each(table)('%s throws', (_, act, message) => {
    expect(() => act(start())).toThrow(message);
  });
});

describe('settling in slices', () => {
  /** A clock that advances with every look, so that every look is the end of a slice. */
  function impatient(pause: () => Promise<void>): Budget {
    let now = 0;
    return {
      sliceMs: 1,
      now: () => {
        now += 1;
        return now;
      },
      pause,
    };
  }

  const fill = ({ numbers }: Sums, fork: Fork) => {
    for (let at = 0; at < 500; at += 1) fork.put(numbers, `n${at}`, at);
  };

  it('gives what settling in one go gives', async () => {
    const sliced = start();
    const whole = start();
    const fork = sliced.kernel.fork();
    fill(sliced, fork);
    await fork.settle(impatient(() => Promise.resolve()));
    sliced.kernel.adopt(fork);
    commit(whole.kernel, (other) => fill(whole, other));
    expect(look(sliced.kernel, sliced)).toEqual(look(whole.kernel, whole));
    expect(sliced.kernel.cells).toBe(whole.kernel.cells);
  });

  it('lets others run after every few keys, derived or indexed', async () => {
    const kernel = new Kernel();
    const rows = kernel.table<number>('rows');
    const work = { derived: 0, indexed: 0 };
    kernel.derive('derived', rows, () => {
      work.derived += 1;
    });
    kernel.index('indexed', rows, () => {
      work.indexed += 1;
      return [];
    });
    const fork = kernel.fork();
    for (let at = 0; at < 500; at += 1) fork.put(rows, `${at}`, at);
    const slices: { derived: number; indexed: number }[] = [];
    await fork.settle(
      impatient(async () => {
        slices.push({ ...work });
        Object.assign(work, { derived: 0, indexed: 0 });
      }),
    );
    expect(Math.max(...slices.map(({ derived }) => derived))).toBeLessThanOrEqual(16);
    expect(Math.max(...slices.map(({ indexed }) => indexed))).toBeLessThanOrEqual(16);
    expect(slices.filter(({ derived }) => derived > 0).length).toBeGreaterThan(30);
  });

  it('passes on what changed in slices too', async () => {
    const kernel = new Kernel();
    const rows = kernel.table<number>('rows');
    const fork = kernel.fork();
    for (let at = 0; at < 1000; at += 1) fork.put(rows, `${at}`, at);
    let pauses = 0;
    await fork.settle(
      impatient(async () => {
        pauses += 1;
      }),
    );
    expect(pauses).toBeGreaterThan(60);
  });

  it('begins a second round in slices too', async () => {
    const world = start();
    const fork = world.kernel.fork();
    fill(world, fork);
    fork.settleNow();
    fork.put(world.numbers, 'n3', 1000);
    let pauses = 0;
    await fork.settle(
      impatient(async () => {
        pauses += 1;
      }),
    );
    // One key alone is computed again, but the edges of 500 are gathered before.
    expect(pauses).toBeGreaterThan(30);
  });

  it('does not pause while the time is not over', async () => {
    const world = start();
    const fork = world.kernel.fork();
    fill(world, fork);
    await fork.settle({ sliceMs: 4, now: () => 0, pause: () => Promise.reject(new Error('paused')) });
    expect(fork.settled).toBe(true);
  });

  it('shows readers the former world until it is adopted', async () => {
    const world = start();
    const before = look(world.kernel, world);
    const fork = world.kernel.fork();
    fill(world, fork);
    const seen: unknown[] = [];
    await fork.settle(
      impatient(async () => {
        seen.push(look(world.kernel, world));
      }),
    );
    expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(before)]));
    expect(look(world.kernel, world)).toEqual(before);
  });

  it('takes no put and no second settle meanwhile, and cannot be adopted', async () => {
    const world = start();
    const fork = world.kernel.fork();
    fill(world, fork);
    let settles: unknown;
    const errors: unknown[] = [];
    await fork.settle(
      impatient(async () => {
        settles ??= await fork.settle(impatient(async () => {})).catch((error) => error);
        for (const act of [() => fork.put(world.numbers, 'x', 1), () => world.kernel.adopt(fork)]) {
          try {
            act();
          } catch (error) {
            errors.push(error);
          }
        }
      }),
    );
    expect(String(settles)).toContain('settling');
    expect(errors.length).toBeGreaterThan(2);
    expect(fork.get(world.numbers, 'x')).toBeUndefined();
  });

  it('can be broken off and taken up again', async () => {
    const world = start();
    const whole = start();
    const fork = world.kernel.fork();
    fill(world, fork);
    let pauses = 0;
    const broken = fork.settle(
      impatient(async () => {
        pauses += 1;
        if (pauses === 20) throw new Error('stop');
      }),
    );
    await expect(broken).rejects.toThrow('stop');
    expect(() => world.kernel.adopt(fork)).toThrow('not settled');
    fork.put(world.numbers, 'n3', 1000);
    fork.settleNow();
    world.kernel.adopt(fork);
    commit(whole.kernel, (other) => {
      fill(whole, other);
      other.put(whole.numbers, 'n3', 1000);
    });
    expect(look(world.kernel, world)).toEqual(look(whole.kernel, whole));
    expect(world.kernel.cells).toBe(whole.kernel.cells);
  });

  it('stops when the world moves on under it', async () => {
    const world = start();
    const fork = world.kernel.fork();
    fill(world, fork);
    const settled = fork.settle(
      impatient(async () => commit(world.kernel, (other) => other.put(world.numbers, 'a', 2))),
    );
    await expect(settled).rejects.toThrow('moved on');
  });
});

describe('computed', () => {
  it('counts each key once per settle, even when several of its reads changed', () => {
    const world = start();
    const fork = world.kernel.fork();
    fork.put(world.numbers, 'b', 8);
    fork.put(world.numbers, 'c', 9);
    fork.settleNow();
    expect(Object.fromEntries(fork.computed)).toEqual({ products: 2, sizes: 2, totals: 1 });
  });

  it('counts in a second round only what the second round concerns', () => {
    const world = start();
    const fork = world.kernel.fork();
    fork.put(world.numbers, 'b', 8);
    fork.settleNow();
    const first = new Map(fork.computed);
    fork.put(world.numbers, 'a', 2);
    fork.settleNow();
    expect(Object.fromEntries(first)).toEqual({ products: 1, sizes: 1, totals: 1 });
    expect(Object.fromEntries(fork.computed)).toEqual({ products: 2, sizes: 2, totals: 2 });
    fork.settleNow();
    expect(Object.fromEntries(fork.computed)).toEqual({ products: 2, sizes: 2, totals: 2 });
  });
});
