import { describe, expect, onTestFinished, test } from 'vitest';
import { InvariantError } from '../../src/lib/errors.ts';
import type { Store, Transaction } from '../../src/store/index.ts';
import { nextEvents, type OpenStore, put, remove, transaction } from './store-fixture.ts';

export function commitContract(open: OpenStore): void {
  const opened = async (...options: Parameters<OpenStore>): Promise<Store> => {
    const store = await open(...options);
    onTestFinished(() => store.close());
    return store;
  };

  describe('commit', () => {
    // Revisions may be skipped where a store shares them with others; in this suite it is alone.
    test('gives each commit the next revision, starting with 1', async () => {
      const store = await opened({});
      expect(await store.head()).toBe(0);
      expect(await store.commit(put('a'))).toEqual({ committed: true, revision: 1 });
      expect(await store.commit(put('b'))).toEqual({ committed: true, revision: 2 });
      expect(await store.head()).toBe(2);
    });

    test('writes all of a transaction at one revision', async () => {
      const store = await opened({});
      await store.commit(transaction({ puts: ['gone', 'kept'].map((key) => ({ key, value: 'old' })) }));
      const outcome = await store.commit(
        transaction({
          puts: [
            { key: 'kept', value: 'new' },
            { key: 'added', value: 'new' },
          ],
          deletes: ['gone'],
        }),
      );
      expect(outcome).toEqual({ committed: true, revision: 2 });
      expect(await store.list('')).toEqual({
        revision: 2,
        entries: [
          { key: 'added', value: 'new', createRevision: 2, modRevision: 2 },
          { key: 'kept', value: 'new', createRevision: 1, modRevision: 2 },
        ],
      });
    });

    test('counts the create revision anew after a deletion', async () => {
      const store = await opened({});
      await store.commit(put('a', '1'));
      await store.commit(put('a', '2'));
      expect(await store.get('a')).toMatchObject({ createRevision: 1, modRevision: 2 });
      await store.commit(remove('a'));
      expect(await store.get('a')).toBeUndefined();
      await store.commit(put('a', '3'));
      expect(await store.get('a')).toEqual({ key: 'a', value: '3', createRevision: 4, modRevision: 4 });
    });

    test.each<[string, Transaction]>([
      ['nothing', transaction({})],
      ['a check only', transaction({ checks: [{ key: 'absent', modRevision: 0 }] })],
      ['the deletion of an absent key', remove('absent')],
    ])('gives a revision and an empty event to %s', async (_, empty) => {
      const store = await opened({});
      await store.commit(put('a'));
      expect(await store.commit(empty)).toEqual({ committed: true, revision: 2 });
      expect(await nextEvents(store, 1, 1)).toEqual([{ revision: 2, puts: [], deletes: [] }]);
    });

    test.each<[string, Partial<Transaction>]>([
      ['two puts', { puts: [put('twice'), put('twice')].flatMap(({ puts }) => puts) }],
      ['two deletes', { deletes: ['twice', 'twice'] }],
      ['a put and a delete', { puts: put('twice').puts, deletes: ['twice'] }],
    ])('refuses a transaction with %s of one key', async (_, parts) => {
      const store = await opened({});
      await expect(store.commit(transaction(parts))).rejects.toThrow(InvariantError);
      expect(await store.list('')).toEqual({ revision: 0, entries: [] });
    });

    test.each<[string, Transaction]>([
      ['an empty key', put('')],
      ['an empty id', { ...put('a'), id: '' }],
      ['half a surrogate pair in a key', put('a\ud83d')],
      ['half a surrogate pair in a value', put('a', '\udc00')],
      ['half a surrogate pair in a checked key', transaction({ checks: [{ key: '\ud83d', modRevision: 0 }] })],
    ])('refuses %s', async (_, malformed) => {
      const store = await opened({});
      await expect(store.commit(malformed)).rejects.toThrow(InvariantError);
      expect(await store.head()).toBe(0);
    });

    test('loses no update of concurrent writers', async () => {
      const store = await opened({});
      const writers = 8;
      const each = 25;
      const increment = async (): Promise<void> => {
        for (;;) {
          const entry = await store.get('counter');
          const checks = [{ key: 'counter', modRevision: entry?.modRevision ?? 0 }];
          const puts = [{ key: 'counter', value: String(Number(entry?.value ?? 0) + 1) }];
          if ((await store.commit(transaction({ checks, puts }))).committed) return;
        }
      };
      const writer = async (): Promise<void> => {
        for (let i = 0; i < each; i++) await increment();
      };
      await Promise.all(Array.from({ length: writers }, writer));
      expect(await store.get('counter')).toEqual({
        key: 'counter',
        value: String(writers * each),
        createRevision: 1,
        modRevision: writers * each,
      });
    });

    test('orders transactions that wait together, each with its own outcome', async () => {
      const store = await opened({});
      const claim = (value: string) =>
        transaction({ checks: [{ key: 'lock', modRevision: 0 }], puts: [{ key: 'lock', value }] });
      const outcomes = await Promise.all(['a', 'b', 'c'].map((value) => store.commit(claim(value))));
      const held = { key: 'lock', value: 'a', createRevision: 1, modRevision: 1 };
      const refused = { committed: false, failed: [{ key: 'lock', entry: held }] };
      expect(outcomes).toEqual([{ committed: true, revision: 1 }, refused, refused]);
      expect(await store.head()).toBe(1);
    });
  });

  describe('checks', () => {
    test.each<[string, string, number | 'exists', boolean]>([
      ['0 on an absent key', 'absent', 0, true],
      ['0 on a key that is there', 'present', 0, false],
      ['0 on a deleted key', 'deleted', 0, true],
      ['the exact revision', 'present', 3, true],
      ['an older revision', 'present', 1, false],
      ['a revision to come', 'present', 99, false],
      ['a revision of an absent key', 'absent', 1, false],
      ['the last revision of a deleted key', 'deleted', 2, false],
      ['exists on a key that is there', 'present', 'exists', true],
      ['exists on an absent key', 'absent', 'exists', false],
      ['exists on a deleted key', 'deleted', 'exists', false],
    ])('%s', async (_, key, modRevision, holds) => {
      const store = await opened({});
      await store.commit(put('present', '1')); // 1
      await store.commit(put('deleted')); // 2
      await store.commit(put('present', '2')); // 3
      await store.commit(remove('deleted')); // 4
      const outcome = await store.commit(transaction({ checks: [{ key, modRevision }], puts: put('new').puts }));
      expect(outcome.committed).toBe(holds);
      expect(await store.head()).toBe(holds ? 5 : 4);
      expect((await store.get('new')) !== undefined).toBe(holds);
    });

    test('names the failed ones with what stands there, and writes nothing', async () => {
      const store = await opened({});
      await store.commit(put('a'));
      await store.commit(put('b'));
      const before = await store.list('');
      const outcome = await store.commit(
        transaction({
          checks: [
            { key: 'a', modRevision: 1 },
            { key: 'b', modRevision: 1 },
            { key: 'c', modRevision: 'exists' },
          ],
          puts: put('d').puts,
          deletes: ['a'],
        }),
      );
      expect(outcome).toEqual({
        committed: false,
        failed: [
          { key: 'b', entry: { key: 'b', value: 'value of b', createRevision: 2, modRevision: 2 } },
          { key: 'c', entry: undefined },
        ],
      });
      expect(await store.list('')).toEqual(before);
    });

    test('may name a key that the transaction writes', async () => {
      const store = await opened({});
      await store.commit(put('a', '1'));
      const checks = [{ key: 'a', modRevision: 1 }];
      expect(await store.commit({ ...put('a', '2'), checks })).toEqual({ committed: true, revision: 2 });
      expect(await store.commit({ ...remove('a'), checks })).toMatchObject({ committed: false });
    });
  });

  describe('a transaction id', () => {
    test('that is committed is answered with its first outcome and not written again', async () => {
      const store = await opened({});
      const first = put('a', 'first');
      await store.commit(first);
      await store.commit(put('a', 'second'));
      expect(await store.commit(first)).toEqual({ committed: true, revision: 1 });
      expect(await store.commit({ ...put('b'), id: first.id })).toEqual({ committed: true, revision: 1 });
      expect(await store.list('')).toMatchObject({ revision: 2, entries: [{ key: 'a', value: 'second' }] });
    });

    test('that waits twice is committed once', async () => {
      const store = await opened({});
      const one = put('a');
      const outcomes = await Promise.all([store.commit(one), store.commit(one), store.commit({ ...one, id: 'other' })]);
      expect(outcomes.map((outcome) => outcome.committed && outcome.revision)).toEqual([1, 1, 2]);
    });

    test('that was refused is free', async () => {
      const store = await opened({});
      const late = transaction({ checks: [{ key: 'a', modRevision: 'exists' }], puts: put('b').puts });
      expect(await store.commit(late)).toMatchObject({ committed: false });
      await store.commit(put('a'));
      expect(await store.commit(late)).toEqual({ committed: true, revision: 2 });
    });
  });
}
