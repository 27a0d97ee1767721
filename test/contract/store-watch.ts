import { describe, expect, onTestFinished, test } from 'vitest';
import type { Entry, Store, WatchEvent } from '../../src/store/index.ts';
import { nextEvents, type OpenStore, put, remove, transaction, untilTestEnds } from './store-fixture.ts';

const revisionsOf = (events: readonly WatchEvent[]) => events.map(({ revision }) => revision);
const upTo = (count: number, first = 1) => Array.from({ length: count }, (_, i) => first + i);

export function watchContract(open: OpenStore): void {
  const opened = async (...options: Parameters<OpenStore>): Promise<Store> => {
    const store = await open(...options);
    onTestFinished(() => store.close());
    return store;
  };

  describe('watch', () => {
    test('from 0 tells every commit with its entries', async () => {
      const store = await opened({});
      await store.commit(transaction({ puts: [put('a', '1'), put('b', '1')].flatMap(({ puts }) => puts) }));
      await store.commit(transaction({ puts: put('a', '2').puts, deletes: ['b', 'absent'] }));
      await store.commit(remove('a'));
      expect(await nextEvents(store, 0, 3)).toEqual([
        {
          revision: 1,
          puts: [
            { key: 'a', value: '1', createRevision: 1, modRevision: 1 },
            { key: 'b', value: '1', createRevision: 1, modRevision: 1 },
          ],
          deletes: [],
        },
        { revision: 2, puts: [{ key: 'a', value: '2', createRevision: 1, modRevision: 2 }], deletes: ['b'] },
        { revision: 3, puts: [], deletes: ['a'] },
      ]);
    });

    test('from a revision begins after it', async () => {
      const store = await opened({});
      for (const i of upTo(5)) await store.commit(put('a', String(i)));
      expect(revisionsOf(await nextEvents(store, 3, 2))).toEqual([4, 5]);
    });

    test('from the head, and from the future, waits', async () => {
      const store = await opened({});
      await store.commit(put('a'));
      const fromHead = nextEvents(store, 1, 1);
      const fromFuture = nextEvents(store, 3, 1);
      for (const i of upTo(3)) await store.commit(put('a', String(i)));
      expect(revisionsOf(await fromHead)).toEqual([2]);
      expect(revisionsOf(await fromFuture)).toEqual([4]);
    });

    test('is in order and without gaps under many writers, never shows half a commit, and replays to the state', async () => {
      const store = await opened({});
      const writers = 10;
      const each = 20;
      const writer = async (_: unknown, w: number): Promise<void> => {
        for (let i = 0; i < each; i++) {
          const value = `${w}.${i}`;
          const other = `single/${(w + i) % 7}`;
          const pair = [put('pair/left', value), put('pair/right', value)].flatMap(({ puts }) => puts);
          await store.commit(
            i % 3 === 0
              ? transaction({ puts: pair, deletes: [other] })
              : transaction({ puts: [...pair, ...put(other).puts] }),
          );
        }
      };
      const watched = nextEvents(store, 0, writers * each);
      await Promise.all(Array.from({ length: writers }, writer));
      const events = await watched;
      expect(revisionsOf(events)).toEqual(upTo(writers * each));

      const state = new Map<string, Entry>();
      for (const { puts, deletes } of events) {
        for (const entry of puts) state.set(entry.key, entry);
        for (const key of deletes) state.delete(key);
        expect(state.get('pair/left')?.value).toBe(state.get('pair/right')?.value);
      }
      const { entries } = await store.list('');
      expect(new Map(entries.map((entry) => [entry.key, entry]))).toEqual(state);
    });

    test('serves several watchers, each at its own pace', async () => {
      const store = await opened({});
      const slow = store.watch(0, untilTestEnds())[Symbol.asyncIterator]();
      await store.commit(put('a', '1'));
      expect((await slow.next()).value).toMatchObject({ revision: 1 });
      for (const i of upTo(3000, 2)) {
        const commit = store.commit(put('a', String(i)));
        if (i % 100 === 0) await commit;
      }
      expect(revisionsOf(await nextEvents(store, 0, 3000))).toEqual(upTo(3000));
      for (const revision of upTo(2999, 2)) expect((await slow.next()).value).toMatchObject({ revision });
    });

    test('from a listed revision misses nothing and tells nothing twice', async () => {
      const store = await opened({});
      const total = 60;
      const commits = upTo(total).map((i) => store.commit(put(`k${i}`)));
      const { revision, entries } = await store.list('');
      const events = revision === total ? [] : await nextEvents(store, revision, total - revision);
      await Promise.all(commits);
      const told = [...entries.map(({ key }) => key), ...events.flatMap(({ puts }) => puts.map(({ key }) => key))];
      expect(new Set(told).size).toBe(total);
      expect(told).toHaveLength(total);
    });

    test('tells nothing of a refused transaction', async () => {
      const store = await opened({});
      await store.commit({ ...put('a'), checks: [{ key: 'a', modRevision: 'exists' }] });
      await store.commit(put('b'));
      expect(await nextEvents(store, 0, 1)).toMatchObject([{ revision: 1, puts: [{ key: 'b' }] }]);
    });
  });

  describe('the end of a watch', () => {
    test('comes with abort, while it waits', async () => {
      const store = await opened({});
      const controller = new AbortController();
      const iterator = store.watch(0, controller.signal)[Symbol.asyncIterator]();
      const next = iterator.next();
      controller.abort();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
    });

    test('comes with abort, in the middle of what is there', async () => {
      const store = await opened({});
      for (const i of upTo(3)) await store.commit(put('a', String(i)));
      const controller = new AbortController();
      const seen: number[] = [];
      for await (const { revision } of store.watch(0, controller.signal)) {
        seen.push(revision);
        controller.abort();
      }
      expect(seen).toEqual([1]);
    });

    test('comes at once when the signal is aborted already', async () => {
      const store = await opened({});
      await store.commit(put('a'));
      const iterator = store.watch(0, AbortSignal.abort())[Symbol.asyncIterator]();
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
    });

    test('comes as StoreUnavailable when the store is closed', async () => {
      const store = await open({});
      const next = store.watch(0, untilTestEnds())[Symbol.asyncIterator]().next();
      const ended = expect(next).rejects.toMatchObject({ code: 'StoreUnavailable' });
      await store.close();
      await ended;
    });
  });

  describe('compaction', () => {
    const retain = { revisions: 10 };
    const commits = 25;
    /** Ten and no more are kept of 25. */
    const floor = commits - retain.revisions;
    const compactedStore = async () => {
      const store = await opened({ retain });
      for (const i of upTo(commits)) await store.commit({ ...put('a', String(i)), id: `commit ${i}` });
      return store;
    };

    test.each([0, floor - 1])('makes a watch from %i fail with RevisionCompacted', async (after) => {
      const store = await compactedStore();
      const next = store.watch(after, untilTestEnds())[Symbol.asyncIterator]().next();
      await expect(next).rejects.toMatchObject({
        name: 'FairwayError',
        code: 'RevisionCompacted',
        extra: { compactedRevision: floor },
      });
    });

    test('keeps what is within the bounds', async () => {
      const store = await compactedStore();
      expect(revisionsOf(await nextEvents(store, floor, retain.revisions))).toEqual(upTo(retain.revisions, floor + 1));
    });

    test('stops a watcher that has fallen behind', async () => {
      const store = await opened({ retain });
      await store.commit(put('a', '0'));
      const slow = store.watch(0, untilTestEnds())[Symbol.asyncIterator]();
      expect((await slow.next()).value).toMatchObject({ revision: 1 });
      for (const i of upTo(commits)) await store.commit(put('a', String(i)));
      await expect(slow.next()).rejects.toMatchObject({ code: 'RevisionCompacted' });
    });

    test('forgets the ids of the commits that it drops, and no others', async () => {
      const store = await compactedStore();
      const again = (i: number) => store.commit({ ...put('again'), id: `commit ${i}` });
      expect(await again(floor + 1)).toEqual({ committed: true, revision: floor + 1 });
      expect(await again(floor)).toEqual({ committed: true, revision: commits + 1 });
    });

    test('goes by size too, and keeps the newest commit whatever its size', async () => {
      const store = await opened({ retain: { bytes: 50_000 } });
      for (const i of upTo(10)) await store.commit(put('a', String(i).repeat(20_000)));
      await expect(nextEvents(store, 0, 1)).rejects.toMatchObject({ code: 'RevisionCompacted' });
      expect(revisionsOf(await nextEvents(store, 9, 1))).toEqual([10]);
      await store.commit(put('a', 'x'.repeat(100_000)));
      await expect(nextEvents(store, 9, 1)).rejects.toMatchObject({ code: 'RevisionCompacted' });
      expect(revisionsOf(await nextEvents(store, 10, 1))).toEqual([11]);
    });

    test('touches no entry', async () => {
      const store = await opened({ retain });
      await store.commit(put('old'));
      for (const i of upTo(commits)) await store.commit(put('a', String(i)));
      expect(await store.get('old')).toMatchObject({ createRevision: 1, modRevision: 1 });
      expect(await store.list('')).toMatchObject({ revision: commits + 1, entries: [{ key: 'a' }, { key: 'old' }] });
    });
  });
}
