import { describe, expect, onTestFinished, test } from 'vitest';
import { nextEvents, type OpenStore, put, untilTestEnds } from './store-fixture.ts';

/** Of stores that can; what cannot has nothing to keep here. */
export function compactContract(open: OpenStore): void {
  describe.each(['log', 'disk'] as const)('compact, depth %s', (depth) => {
    test('forgets all commits but the newest, and goes on after it', async () => {
      const store = await open({});
      onTestFinished(() => store.close());
      if (store.compact === undefined) return;
      const first = put('a', 'old');
      await store.commit(first);
      await store.commit(put('a', 'new'));
      await store.commit(put('b'));
      const before = await store.list('');
      await store.compact(depth);

      expect(await store.list('')).toEqual(before);
      await expect(nextEvents(store, 1, 1)).rejects.toMatchObject({ code: 'RevisionCompacted' });
      expect(await nextEvents(store, 2, 1)).toMatchObject([{ revision: 3, puts: [{ key: 'b' }] }]);
      // Its id is forgotten with it.
      expect(await store.commit(first)).toEqual({ committed: true, revision: 4 });
      expect(await store.get('a')).toEqual({ key: 'a', value: 'old', createRevision: 1, modRevision: 4 });
    });

    test('does not disturb a watch that has seen everything, and changes nothing when it is repeated', async () => {
      const store = await open({});
      onTestFinished(() => store.close());
      if (store.compact === undefined) return;
      await store.compact(depth);
      await store.commit(put('a'));
      const events = store.watch(1, untilTestEnds())[Symbol.asyncIterator]();
      const next = events.next();
      await store.compact(depth);
      await store.compact(depth);
      await store.commit(put('b'));
      expect(await next).toMatchObject({ value: { revision: 2 } });
    });
  });
}
