import { describe, expect, onTestFinished, test } from 'vitest';
import { createMemoryStore, openContinuedStore, type Store } from '../../src/store/index.ts';
import { until } from '../support/until.ts';
import { storeContract } from './store.ts';
import { put, transaction, untilTestEnds } from './store-fixture.ts';

const keys = { marker: 'schema/restore', origin: 'schema/origin' };

// Each commit has one check more, that no restore is under way.
storeContract('continued memory', async (options) => openContinuedStore(createMemoryStore(options), keys), {
  checks: 1,
  bytes: keys.marker.length,
});

/** A store that holds one key, with the revisions of a restore that were `offset` ahead. */
async function restored(
  offset: number,
): Promise<{ below: Store; opened: Awaited<ReturnType<typeof openContinuedStore>> }> {
  const below = createMemoryStore();
  onTestFinished(() => below.close());
  await below.commit(put('kept'));
  await below.commit(transaction({ puts: [{ key: keys.origin, value: JSON.stringify({ offset }) }] }));
  return { below, opened: await openContinuedStore(below, keys) };
}

describe('after a restore', () => {
  test('all revisions are greater by the offset, and checks are of what is shown', async () => {
    const { below, opened } = await restored(1000);
    expect(opened.wholeSince).toBe(1002);
    expect(await opened.head()).toBe(1002);
    expect(await opened.get('kept')).toMatchObject({ createRevision: 1001, modRevision: 1001 });
    const checked = (modRevision: number) => ({ ...put('kept', 'new'), checks: [{ key: 'kept', modRevision }] });
    for (const wrong of [1, 1000, 1002]) {
      expect(await opened.commit(checked(wrong))).toMatchObject({
        committed: false,
        failed: [{ key: 'kept', entry: { modRevision: 1001 } }],
      });
    }
    expect(await opened.commit(checked(1001))).toEqual({ committed: true, revision: 1003 });
    expect((await below.get('kept'))?.modRevision).toBe(3);
    expect(await opened.list('kept')).toMatchObject({ revision: 1003, entries: [{ modRevision: 1003 }] });
  });

  test('a watch goes on from what was shown since, and from nothing before', async () => {
    const { opened } = await restored(1000);
    await opened.commit(put('a'));
    for await (const event of opened.watch(1002, untilTestEnds())) {
      expect(event).toMatchObject({ revision: 1003, puts: [{ key: 'a', createRevision: 1003, modRevision: 1003 }] });
      break;
    }
    for (const before of [0, 2, 1001]) {
      const watch = opened.watch(before, untilTestEnds())[Symbol.asyncIterator]();
      await expect(watch.next()).rejects.toMatchObject({
        code: 'RevisionCompacted',
        extra: { compactedRevision: 1002 },
      });
    }
  });
});

describe('while a restore is under way', () => {
  test('nothing is read and nothing is written, and then all is read anew', async () => {
    const below = createMemoryStore();
    onTestFinished(() => below.close());
    const [opened, other] = [await openContinuedStore(below, keys), await openContinuedStore(below, keys)];
    await opened.commit(put('before'));
    const watch = opened.watch(1, untilTestEnds())[Symbol.asyncIterator]();
    const next = watch.next();
    next.catch(() => undefined);
    await below.commit(transaction({ puts: [{ key: keys.marker, value: '{}' }] })); // 2
    // Whoever has not heard of it cannot write either.
    await expect(other.commit(put('late'))).rejects.toMatchObject({ code: 'NotReady' });
    await below.commit(transaction({ puts: [{ key: 'half', value: '' }], deletes: ['before'] })); // 3
    const list = other.list('');
    await until('it to be noticed', () => opened.wholeSince === undefined && other.wholeSince === undefined);
    await below.commit(transaction({ puts: [{ key: 'whole', value: '' }] })); // 4
    const origin = { key: keys.origin, value: JSON.stringify({ offset: 10 }) };
    await below.commit(transaction({ puts: [origin], deletes: [keys.marker] })); // 5

    await expect(next).rejects.toMatchObject({ code: 'RevisionCompacted' });
    const { revision, entries } = await list;
    expect(revision).toBe(15);
    expect(entries.map(({ key }) => key)).toEqual(['half', keys.origin, 'whole']);
    expect([opened.wholeSince, other.wholeSince]).toEqual([15, 15]);
    expect(await opened.commit(put('after'))).toEqual({ committed: true, revision: 16 });
  });

  test('who opens the store sees that it is not whole', async () => {
    const below = createMemoryStore();
    onTestFinished(() => below.close());
    await below.commit(transaction({ puts: [{ key: keys.marker, value: '{}' }] }));
    const opened = await openContinuedStore(below, keys);
    expect(opened.wholeSince).toBeUndefined();
    const closing = new AbortController();
    const waiting = opened.untilWhole(closing.signal);
    closing.abort();
    await waiting;
    expect(opened.wholeSince).toBeUndefined();
    await below.commit(transaction({ deletes: [keys.marker] }));
    await opened.untilWhole(untilTestEnds());
    expect(opened.wholeSince).toBe(0);
  });
});
