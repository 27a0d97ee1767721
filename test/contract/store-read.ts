import { describe, expect, onTestFinished, test } from 'vitest';
import { InvariantError } from '../../src/lib/errors.ts';
import type { Store } from '../../src/store/index.ts';
import { type OpenStore, put, remove, transaction, untilTestEnds } from './store-fixture.ts';

/** In the order of their UTF-8 bytes. U+1F600 comes after U+FF5E, other than in the order of UTF-16. */
const orderedKeys = [
  '\u0000',
  'A',
  'a',
  'a\u0000b',
  'a%',
  'a%b',
  'a*',
  'a/',
  'a/b',
  'a/b/c',
  'a/\u{10ffff}',
  'a0',
  'a_',
  'a_b',
  'aa',
  "b'",
  'b\\%',
  'ä',
  '\ud7ff',
  '\ud7ffx',
  '\ue000',
  '～',
  '😀',
  '😀x',
  '\u{10ffff}',
  '\u{10ffff}x',
];

export function readContract(open: OpenStore): void {
  const opened = async (): Promise<Store> => {
    const store = await open({});
    onTestFinished(() => store.close());
    return store;
  };
  const filled = async (): Promise<Store> => {
    const store = await opened();
    // Written in another order than they are read in.
    const puts = orderedKeys.map((key) => ({ key, value: `value of ${key}` })).reverse();
    await store.commit(transaction({ puts }));
    return store;
  };

  describe('get', () => {
    test('finds each key, and it alone', async () => {
      const store = await filled();
      for (const key of orderedKeys) {
        expect(await store.get(key)).toEqual({ key, value: `value of ${key}`, createRevision: 1, modRevision: 1 });
        expect(await store.get(`${key}~`)).toBeUndefined();
      }
    });

    test('gives every text back as it was', async () => {
      const store = await opened();
      const values = [
        '',
        ' ',
        '\u0000',
        'a\u0000b',
        '{"a":"\\u0000"}',
        'é',
        'e\u0301',
        '😀',
        '\r\n',
        "'; --",
        '0012',
        '1e3',
      ];
      await store.commit(transaction({ puts: values.map((value, i) => ({ key: `k${i}`, value })) }));
      const read = await Promise.all(values.map((_, i) => store.get(`k${i}`)));
      expect(read.map((entry) => entry?.value)).toEqual(values);
    });

    test('sees every commit that was acknowledged before', async () => {
      const store = await opened();
      for (let i = 1; i <= 50; i++) {
        await store.commit(put('a', String(i)));
        expect(await store.get('a')).toMatchObject({ value: String(i), modRevision: i });
      }
    });
  });

  describe('list', () => {
    test('is in the order of the bytes of the keys', async () => {
      const store = await filled();
      expect((await store.list('')).entries.map(({ key }) => key)).toEqual(orderedKeys);
    });

    test.each([
      'a',
      'a/',
      'a/b',
      'a%',
      'a_',
      'a0',
      'a*',
      'b\\',
      "b'",
      '\ud7ff',
      '\ue000',
      '😀',
      '\u{10ffff}',
      'a/\u{10ffff}',
      'none',
    ])('of the prefix %j has the keys that start with it', async (prefix) => {
      const store = await filled();
      const want = orderedKeys.filter((key) => key.startsWith(prefix));
      expect((await store.list(prefix)).entries.map(({ key }) => key)).toEqual(want);
    });

    test('refuses a prefix that ends in half a character', async () => {
      const store = await filled();
      await expect(store.list('\ud83d')).rejects.toThrow(InvariantError);
    });

    test('of an empty store is empty at revision 0', async () => {
      expect(await (await opened()).list('')).toEqual({ revision: 0, entries: [] });
    });

    test('is of one revision, however large and whatever is written meanwhile', async () => {
      const store = await opened();
      const value = 'x'.repeat(20_000);
      const key = (i: number) => `k/${String(i).padStart(4, '0')}`;
      const count = 300;
      await Promise.all(Array.from({ length: count }, (_, i) => store.commit(put(key(i), value))));
      // Each commit renames one entry: any single revision has `count` of them.
      const [, first, , second] = await Promise.all([
        store.commit(transaction({ puts: put(key(count), value).puts, deletes: [key(0)] })),
        store.list('k/'),
        store.commit(transaction({ puts: put(key(count + 1), value).puts, deletes: [key(1)] })),
        store.list('k/'),
      ]);
      // A list sees what was acknowledged before it; of what is under way it may see this or that, but never half.
      const last = await store.list('k/');
      for (const snapshot of [first, second, last]) {
        expect(snapshot.entries).toHaveLength(count);
        expect(Math.max(...snapshot.entries.map(({ modRevision }) => modRevision))).toBeLessThanOrEqual(
          snapshot.revision,
        );
      }
      expect(last.revision).toBe(count + 2);
      expect(last.entries.at(0)?.key).toBe(key(2));
    });
  });

  describe('close', () => {
    test('waits for the commits under way', async () => {
      const store = await open({});
      const commits = Promise.all(Array.from({ length: 20 }, (_, i) => store.commit(put(`k${i}`))));
      await store.close();
      // None meets another at a key: their order is the store's own.
      const revisions = (await commits).map((outcome) => (outcome.committed ? outcome.revision : 0));
      expect(revisions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    });

    test('waits for a list under way', async () => {
      const store = await open({});
      const count = 40;
      await Promise.all(Array.from({ length: count }, (_, i) => store.commit(put(`k${i}`, 'x'.repeat(100_000)))));
      const list = store.list('');
      await store.close();
      expect((await list).entries).toHaveLength(count);
    });

    test('can be called again', async () => {
      const store = await open({});
      await Promise.all([store.close(), store.close()]);
      await store.close();
    });

    test.each<[string, (store: Store) => Promise<unknown>]>([
      ['commit', (store) => store.commit(put('a'))],
      ['get', (store) => store.get('a')],
      ['list', (store) => store.list('')],
      ['head', (store) => store.head()],
      ['watch', (store) => store.watch(0, untilTestEnds())[Symbol.asyncIterator]().next()],
    ])('makes a later %s fail', async (_, call) => {
      const store = await open({});
      await store.commit(put('a'));
      await store.commit(remove('a'));
      await store.close();
      await expect(call(store)).rejects.toMatchObject({ name: 'FairwayError', code: 'StoreUnavailable' });
    });
  });
}
