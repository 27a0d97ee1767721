import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fork, Table } from '../../../src/view/index.ts';
import { contents, type Pool, plan, type Service, type SmallWorld, smallWorld } from './world.ts';

type Edit =
  | { readonly table: 'services' | 'attached'; readonly key: string; readonly row: Service | undefined }
  | { readonly table: 'pools'; readonly key: string; readonly row: Pool | undefined };

interface Change {
  /** Each is put and settled by itself, in one fork. */
  readonly rounds: readonly (readonly Edit[])[];
  readonly planned: boolean;
  readonly adopted: boolean;
}

// Few names, so that they collide: the same hosts claimed, pools removed that others refer to.
const service: fc.Arbitrary<Service> = fc.record({
  created: fc.integer({ min: 0, max: 3 }),
  hosts: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 }),
  port: fc.constantFrom(80, 443),
  pools: fc.array(fc.constantFrom('p0', 'p1', 'p2'), { maxLength: 3 }),
  fleet: fc.constantFrom('edge', 'core'),
  bug: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const pool: fc.Arbitrary<Pool> = fc.record({
  members: fc.array(fc.constantFrom('m', 'n'), { maxLength: 2 }),
  weight: fc.integer({ min: 0, max: 3 }),
});
const maybe = <R>(row: fc.Arbitrary<R>) => fc.option(row, { nil: undefined, freq: 3 });
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({
    table: fc.constant('services' as const),
    key: fc.constantFrom('s0', 's1', 's2', 's3'),
    row: maybe(service),
  }),
  fc.record({ table: fc.constant('attached' as const), key: fc.constantFrom('r0', 'r1'), row: maybe(service) }),
  fc.record({ table: fc.constant('pools' as const), key: fc.constantFrom('p0', 'p1', 'p2'), row: maybe(pool) }),
);
const change: fc.Arbitrary<Change> = fc.record({
  rounds: fc.array(fc.array(edit, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  planned: fc.boolean(),
  adopted: fc.oneof({ weight: 2, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});
const history = fc.array(change, { minLength: 1, maxLength: 8 });

function put(fork: Fork, { tables }: SmallWorld, { table, key, row }: Edit): void {
  if (row === undefined) fork.remove<unknown>(tables[table], key);
  else fork.put(tables[table] as Table<unknown>, key, row);
}

/** A fork with all rounds of the change, settled and neither adopted nor dropped. */
function forked(world: SmallWorld, { rounds, planned }: Change): Fork {
  const fork = world.kernel.fork();
  for (const edits of rounds) {
    for (const edit of edits) put(fork, world, edit);
    fork.settleNow();
  }
  if (planned) {
    plan(fork, world);
    fork.settleNow();
  }
  return fork;
}

/** A new kernel with the inputs that the given one has, put in an order and in portions of the caller's choice. */
function rebuilt(world: SmallWorld, order: readonly number[], portion: number): SmallWorld {
  const inputs = Object.entries(world.tables).flatMap(([name, table]) =>
    [...world.kernel.keys(table)].map((key) => ({
      name: name as keyof SmallWorld['tables'],
      key,
      row: world.kernel.get<unknown>(table, key),
    })),
  );
  const weight = (at: number): number => order[at % order.length] ?? 0;
  const shuffled = inputs.map((input, at) => ({ input, weight: weight(at) })).sort((a, b) => a.weight - b.weight);
  const fresh = smallWorld();
  for (let at = 0; at < shuffled.length; at += portion) {
    const fork = fresh.kernel.fork();
    for (const { input } of shuffled.slice(at, at + portion))
      fork.put(fresh.tables[input.name] as Table<unknown>, input.key, input.row);
    fork.settleNow();
    fresh.kernel.adopt(fork);
  }
  return fresh;
}

const shuffle = fc.array(fc.nat(), { minLength: 7, maxLength: 7 });
const portion = fc.constantFrom(1, 3, 1000);

function run(world: SmallWorld, changes: readonly Change[]): void {
  for (const change of changes) {
    const fork = forked(world, change);
    if (change.adopted) world.kernel.adopt(fork);
  }
}

describe('the laws of the kernel', () => {
  it('1 and 3: what it holds is what a new kernel holds, given the same inputs in another order; as many cells too', () => {
    fc.assert(
      fc.property(history, shuffle, portion, (changes, order, size) => {
        const world = smallWorld();
        run(world, changes);
        const fresh = rebuilt(world, order, size);
        expect(contents(world.kernel, world)).toEqual(contents(fresh.kernel, fresh));
        expect(world.kernel.cells).toBe(fresh.kernel.cells);
      }),
    );
  });

  it('1: its edges are those of a new kernel: the next change computes the same keys and changes the same rows', () => {
    fc.assert(
      fc.property(history, shuffle, portion, change, (changes, order, size, next) => {
        const world = smallWorld();
        run(world, changes);
        const fresh = rebuilt(world, order, size);
        const [here, there] = [forked(world, next), forked(fresh, next)];
        expect(contents(here, world)).toEqual(contents(there, fresh));
        expect(Object.fromEntries(here.computed)).toEqual(Object.fromEntries(there.computed));
      }),
    );
  });

  it('1: a fork tells what adopting it changes, and shows what then is', () => {
    fc.assert(
      fc.property(history, change, (changes, next) => {
        const world = smallWorld();
        run(world, changes);
        const before = contents(world.kernel, world);
        const fork = forked(world, next);
        const shown = contents(fork, world);
        const told = toldBy(fork, world);
        world.kernel.adopt(fork);
        const after = contents(world.kernel, world);
        expect(shown).toEqual(after);
        expect(told).toEqual(difference(before, after, world));
      }),
    );
  });

  it('1: rounds and slices are of no consequence: one round in one go gives the same world', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (changes) => {
        const [rounds, slices] = [smallWorld(), smallWorld()];
        for (const { rounds: edits, adopted } of changes) {
          const first = forked(rounds, { rounds: edits, planned: false, adopted });
          const second = slices.kernel.fork();
          for (const edit of edits.flat()) put(second, slices, edit);
          let looks = 0;
          await second.settle({
            sliceMs: 1,
            now: () => {
              looks += 1;
              return looks;
            },
            pause: () => Promise.resolve(),
          });
          expect(toldBy(first, rounds)).toEqual(toldBy(second, slices));
          if (!adopted) continue;
          rounds.kernel.adopt(first);
          slices.kernel.adopt(second);
        }
        expect(contents(rounds.kernel, rounds)).toEqual(contents(slices.kernel, slices));
        expect(rounds.kernel.cells).toBe(slices.kernel.cells);
      }),
    );
  });

  it('2: a dropped fork changes nothing: neither rows nor cells, nor what later forks compute', () => {
    fc.assert(
      fc.property(history, (changes) => {
        const [dropping, without] = [smallWorld(), smallWorld()];
        for (const change of changes) {
          const before = contents(dropping.kernel, dropping);
          const cells = dropping.kernel.cells;
          const fork = forked(dropping, change);
          expect(contents(dropping.kernel, dropping)).toEqual(before);
          expect(dropping.kernel.cells).toBe(cells);
          if (!change.adopted) continue;
          const twin = forked(without, change);
          expect(Object.fromEntries(fork.computed)).toEqual(Object.fromEntries(twin.computed));
          expect(toldBy(fork, dropping)).toEqual(toldBy(twin, without));
          dropping.kernel.adopt(fork);
          without.kernel.adopt(twin);
        }
        expect(contents(dropping.kernel, dropping)).toEqual(contents(without.kernel, without));
        expect(dropping.kernel.cells).toBe(without.kernel.cells);
      }),
    );
  });

  it('3: removing everything leaves no cell', () => {
    fc.assert(
      fc.property(history, (changes) => {
        const world = smallWorld();
        run(world, changes);
        const fork = world.kernel.fork();
        for (const table of Object.values(world.tables))
          for (const key of [...fork.keys(table)]) fork.remove<unknown>(table, key);
        fork.settleNow();
        world.kernel.adopt(fork);
        expect(world.kernel.cells).toBe(0);
        expect(world.kernel.failures()).toEqual([]);
      }),
    );
  });

  it('4: a key is computed at most once per settle, and counted; an index is asked once of each row', () => {
    fc.assert(
      fc.property(history, (changes) => {
        const calls = new Map<string, number>();
        const totals = new Map<string, number>();
        // The row that stood and the one that is to stand are told apart by what they are, not by what they say.
        const rows = new Map<unknown, number>();
        const world = smallWorld((collection, key, row) => {
          if (!rows.has(row)) rows.set(row, rows.size);
          const call = `${collection}/${key}/${rows.get(row)}`;
          calls.set(call, (calls.get(call) ?? 0) + 1);
          totals.set(collection, (totals.get(collection) ?? 0) + 1);
        });
        for (const { rounds, planned, adopted } of changes) {
          const fork = world.kernel.fork();
          totals.clear();
          const settle = () => {
            calls.clear();
            fork.settleNow();
            expect([...calls].filter(([, count]) => count > 1)).toEqual([]);
          };
          for (const edits of rounds) {
            for (const edit of edits) put(fork, world, edit);
            settle();
          }
          if (planned) plan(fork, world);
          settle();
          // What only gathers calls nobody.
          const { gathered: _, ...called } = world.rows;
          for (const name of Object.keys(called)) expect(fork.computed.get(name)).toBe(totals.get(name));
          if (adopted) world.kernel.adopt(fork);
        }
      }),
    );
  });
});

/** What a fork says has changed, by collection and key. */
function toldBy(fork: Fork, { rows, indexes }: SmallWorld): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const [name, collection] of Object.entries(rows)) {
    for (const { key, before, after } of fork.changes<unknown>(collection as Table<unknown>))
      told[`${name}/${key}`] = { before, after };
  }
  for (const [name, index] of Object.entries(indexes)) {
    for (const { key, added, removed } of fork.indexChanges(index))
      told[`${name}/${key}`] = { added: [...added].sort(), removed: [...removed].sort() };
  }
  return told;
}

type Contents = ReturnType<typeof contents>;

/** The same, from two worlds looked at as a whole. */
function difference(before: Contents, after: Contents, { rows, indexes }: SmallWorld): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const keysOf = (name: string) => new Set([...Object.keys(before[name] ?? {}), ...Object.keys(after[name] ?? {})]);
  for (const name of Object.keys(rows)) {
    for (const key of keysOf(name)) {
      const [was, is] = [before[name]?.[key], after[name]?.[key]];
      if (was !== is) found[`${name}/${key}`] = { before: was, after: is };
    }
  }
  for (const name of Object.keys(indexes)) {
    for (const key of keysOf(name)) {
      const [was, is] = [(before[name]?.[key] ?? []) as string[], (after[name]?.[key] ?? []) as string[]];
      const [added, removed] = [is.filter((one) => !was.includes(one)), was.filter((one) => !is.includes(one))];
      if (added.length > 0 || removed.length > 0) found[`${name}/${key}`] = { added, removed };
    }
  }
  return found;
}
