/**
 * Random transactions, alone and several at once, against a store and against a model that is nothing but a map:
 * outcomes, snapshots and watches must be equal at every step. Since each store equals the model, they equal each
 * other. The embedded store is closed and opened again in between.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type CommitOutcome,
  createMemoryStore,
  type Entry,
  openSqliteStore,
  type Snapshot,
  type Store,
  type Transaction,
  type WatchEvent,
} from '../../src/store/index.ts';

/** Prefixes of each other, neighbours in the order of bytes, and pairs that UTF-16 orders the other way. */
const keys = ['a', 'a/', 'a/b', 'a/b/c', 'a0', 'a%', 'a_', 'b', 'ä', '\ue000', '～', '😀', '😀/x', '\u{10ffff}'];
const keyOrder = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

class Model {
  readonly events: WatchEvent[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #revisionOfId = new Map<string, number>();

  get head(): number {
    return this.events.length;
  }

  revisionOf(key: string): number {
    return this.#entries.get(key)?.modRevision ?? 0;
  }

  commit({ id, checks, puts, deletes }: Transaction): CommitOutcome {
    const known = this.#revisionOfId.get(id);
    if (known !== undefined) return { committed: true, revision: known };
    const failed = checks
      .filter(({ key, modRevision: want }) =>
        want === 'exists' ? this.revisionOf(key) === 0 : this.revisionOf(key) !== want,
      )
      .map(({ key }) => ({ key, entry: this.#entries.get(key) }));
    if (failed.length > 0) return { committed: false, failed };

    const revision = this.head + 1;
    const gone = deletes.filter((key) => this.#entries.delete(key));
    const written: Entry[] = [];
    for (const { key, value } of puts) {
      const createRevision = this.#entries.get(key)?.createRevision ?? revision;
      const entry = { key, value, createRevision, modRevision: revision };
      this.#entries.set(key, entry);
      written.push(entry);
    }
    this.#revisionOfId.set(id, revision);
    this.events.push({ revision, puts: written, deletes: gone });
    return { committed: true, revision };
  }

  list(prefix: string): Snapshot {
    const entries = [...this.#entries.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .sort((a, b) => keyOrder(a.key, b.key));
    return { revision: this.head, entries };
  }
}

type Step =
  | { readonly kind: 'commit'; readonly transactions: readonly Draft[] }
  | { readonly kind: 'list'; readonly prefix: string }
  | { readonly kind: 'watch'; readonly from: number }
  | { readonly kind: 'reopen' };

type Want = 'absent' | 'exists' | 'current' | 'older';

/** A transaction whose revisions and id depend on what was there before. */
interface Draft {
  readonly checks: readonly { readonly key: string; readonly want: Want }[];
  readonly puts: readonly { readonly key: string; readonly value: string }[];
  readonly deletes: readonly string[];
  /** Sends the id of an earlier transaction, so many back. */
  readonly repeat: number | undefined;
}

const key = fc.constantFrom(...keys);
const draft: fc.Arbitrary<Draft> = fc
  .record({
    checks: fc.array(
      fc.record({
        key,
        want: fc.constantFrom<Want>('absent', 'exists', 'current', 'older'),
      }),
      { maxLength: 2 },
    ),
    writes: fc.uniqueArray(fc.record({ key, value: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }) }), {
      selector: (write) => write.key,
      maxLength: 5,
    }),
    repeat: fc.option(fc.nat(5), { nil: undefined, freq: 8 }),
  })
  .map(({ checks, writes, repeat }) => ({
    checks,
    puts: writes.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }])),
    deletes: writes.flatMap(({ key, value }) => (value === undefined ? [key] : [])),
    repeat,
  }));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      transactions: fc.array(draft, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('list' as const), prefix: fc.oneof(fc.constant(''), key) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('watch' as const), from: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
);

/** Opens the one store of a run; called again after a close, it finds what was there. */
interface Subject {
  open(): Promise<Store>;
  /** Whether the store outlives its closing. */
  readonly durable: boolean;
  dispose(): Promise<void>;
}

async function run(subject: Subject, steps: readonly Step[]): Promise<void> {
  const model = new Model();
  const ids: string[] = [];
  let store = await subject.open();

  const finish = ({ checks, puts, deletes, repeat }: Draft): Transaction => {
    const id = (repeat === undefined ? undefined : ids.at(-1 - repeat)) ?? `id ${ids.length}`;
    ids.push(id);
    const revisionFor = (key: string, want: Want): number | 'exists' => {
      if (want === 'exists') return 'exists';
      if (want === 'absent') return 0;
      return want === 'current' ? model.revisionOf(key) : Math.max(0, model.revisionOf(key) - 1);
    };
    return { id, checks: checks.map(({ key, want }) => ({ key, modRevision: revisionFor(key, want) })), puts, deletes };
  };

  try {
    for (const each of steps) {
      if (each.kind === 'commit') {
        const transactions = each.transactions.map(finish);
        const outcomes = await Promise.all(transactions.map((transaction) => store.commit(transaction)));
        expect(outcomes).toEqual(transactions.map((transaction) => model.commit(transaction)));
      } else if (each.kind === 'list') {
        expect(await store.list(each.prefix)).toEqual(model.list(each.prefix));
      } else if (each.kind === 'watch') {
        await compareWatch(store, model, each.from % (model.head + 1));
      } else if (subject.durable) {
        await store.close();
        store = await subject.open();
      }
      expect(await store.head()).toBe(model.head);
    }
    expect(await store.list('')).toEqual(model.list(''));
    await compareWatch(store, model, 0);
  } finally {
    await store.close();
    await subject.dispose();
  }
}

async function compareWatch(store: Store, model: Model, after: number): Promise<void> {
  const events: WatchEvent[] = [];
  if (after < model.head) {
    for await (const event of store.watch(after, new AbortController().signal)) {
      events.push(event);
      if (event.revision === model.head) break;
    }
  }
  expect(events).toEqual(model.events.slice(after));
}

test('memory store = model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), (steps) =>
      run({ open: async () => createMemoryStore(), durable: false, dispose: async () => {} }, steps),
    ),
  );
});

test('sqlite store = model', async () => {
  // A run starts a thread and syncs a disk for each step: fewer runs than fast-check's own 100.
  const { numRuns = 10 } = fc.readConfigureGlobal();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const folder = await mkdtemp(join(tmpdir(), 'fairway-store-'));
      const open = () => openSqliteStore({ folder });
      await run({ open, durable: true, dispose: () => rm(folder, { recursive: true }) }, steps);
    }),
    { numRuns },
  );
});
