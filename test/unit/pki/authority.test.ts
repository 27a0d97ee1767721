import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openAuthority } from '../../../src/pki/index.ts';
import { createMemoryStore, type Store } from '../../../src/store/index.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const open = (store: Store) => openAuthority({ store, now: () => now, newId: () => randomUUID() });
const input = { issued: [], uidOf: () => undefined, now, followMs: 0 };
const keys = async (store: Store) => (await store.list('')).entries.map(({ key }) => key);

describe('the authority', () => {
  it('is made once, by whoever is first', async () => {
    const store = createMemoryStore();
    const all = await Promise.all([open(store), open(store), open(store)]);
    expect(new Set(all.map(({ state }) => state.record.trustDomain)).size).toBe(1);
    expect(new Set(all.map(({ state }) => state.signing.key)).size).toBe(1);
    expect(await keys(store)).toHaveLength(2);
    expect((await open(store)).state.pin).toBe(all[0]?.state.pin);
  });

  it('keeps its keys apart from what everybody may know', async () => {
    const store = createMemoryStore();
    await open(store);
    const secret = (await store.list('')).entries.filter(({ value }) => value.includes('PRIVATE KEY'));
    expect(secret.map(({ key }) => key)).toEqual([expect.stringMatching(/^secret\/authority\//)]);
  });

  it('replaces its root, and forgets the key of the old one', async () => {
    const store = createMemoryStore();
    const [one, other] = [await open(store), await open(store)];
    let told = 0;
    other.onChange(() => (told += 1));
    const before = one.state;
    expect(await one.rotate()).toBe(true);
    expect(await other.rotate()).toBe(false);
    expect(one.state.bundle).toContain(before.signing.certificate);
    expect(one.state.bundle).toContain(one.state.signing.certificate);
    expect(one.state.signing.id).not.toBe(before.signing.id);
    expect(one.state.serving.id).toBe(before.signing.id);
    expect(await keys(store)).toHaveLength(3);
    expect((await one.advance(input, store)).kind).toBe('write');
    expect(one.state.serving.id).toBe(one.state.signing.id);
    expect((await other.advance(input, store)).kind).toBe('write');
    expect((await one.advance(input, store)).kind).toBe('steady');
    await other.refresh();
    expect(other.state.bundle).toBe(one.state.signing.certificate);
    expect(await keys(store)).toHaveLength(2);
    // It began, controllers followed, it ended.
    expect(told).toBe(3);
  });

  it('is replaced once by two who want it at the same time', async () => {
    const store = createMemoryStore();
    const all = [await open(store), await open(store)];
    const begun = await Promise.all(all.map((one) => one.rotate()));
    expect(begun.filter(Boolean)).toHaveLength(1);
    expect(await keys(store)).toHaveLength(3);
  });
});
