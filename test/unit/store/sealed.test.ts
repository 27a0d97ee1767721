import { expect, onTestFinished, test } from 'vitest';
import { createSealer, newDataKey, parseDataKeys, type Sealer } from '../../../src/lib/sealer.ts';
import { secretKeyPrefixes, secretsAt } from '../../../src/model/index.ts';
import { createMemoryStore, createSealedStore, type Store, sealAnew, sealingOf } from '../../../src/store/index.ts';

function sealer(): Sealer {
  const keys = parseDataKeys(newDataKey());
  if (!keys.ok) throw new Error(keys.error);
  return createSealer(keys.value);
}

function stores(sealing = sealer()) {
  const below = createMemoryStore();
  onTestFinished(() => below.close());
  return { below, store: createSealedStore(below, { sealer: sealing, secretsAt }), sealing };
}

let ids = 0;
const newId = () => `id ${++ids}`;
const write = (store: Store, key: string, value: string) =>
  store.commit({ id: newId(), checks: [], puts: [{ key, value }], deletes: [] });

const certificate = (spec: object) =>
  JSON.stringify({ kind: 'Certificate', metadata: { name: 'a' }, spec, history: [] });
const key = 'spec/Certificate/default/a';

test.each<[string, string, string, sealed: readonly string[]]>([
  ['the key of a certificate', key, certificate({ chain: 'public', key: 'private' }), ['private']],
  [
    'the key in history',
    'history/Certificate/default/a/0000000001',
    certificate({ chain: 'public', key: 'private' }),
    ['private'],
  ],
  ['nothing of a CA', key, certificate({ ca: 'public' }), []],
  ['all below secret/', 'secret/authority/nodes', 'any text, private', ['any text', 'private']],
  ['nothing else', 'spec/BackendPool/default/a', certificate({ key: 'public' }), []],
  [
    'what looks sealed, as what it is',
    key,
    certificate({ key: { sealed: 'fw1.0123456789abcdef.private' } }),
    ['private'],
  ],
])('%s is sealed below, and as it was above', async (_, at, value, secrets) => {
  const { below, store } = stores();
  await write(store, at, value);
  const stored = (await below.get(at))?.value ?? '';
  for (const secret of secrets) expect(stored).not.toContain(secret);
  if (secrets.length === 0) expect(stored).toBe(value);
  else expect(stored).toContain('{"sealed":"fw1.');
  expect((await store.get(at))?.value).toBe(value);
  expect((await store.list('')).entries.map((entry) => entry.value)).toEqual([value]);
  for await (const { puts } of store.watch(0, AbortSignal.timeout(5_000))) {
    expect(puts.map((entry) => entry.value)).toEqual([value]);
    break;
  }
});

test('a sealed value that was copied to another key of the store does not open there', async () => {
  const { below, store } = stores();
  await write(store, key, certificate({ key: 'private' }));
  await write(below, `${key}-copy`, (await below.get(key))?.value ?? '');
  await expect(store.get(`${key}-copy`)).rejects.toThrow('it was changed, or moved from elsewhere');
  await expect(store.list('')).rejects.toMatchObject({ code: 'Internal' });
});

test('a check that does not hold tells what stands there in clear', async () => {
  const { store } = stores();
  const value = certificate({ key: 'private' });
  await write(store, key, value);
  const outcome = await store.commit({ id: newId(), checks: [{ key, modRevision: 0 }], puts: [], deletes: [] });
  expect(outcome).toMatchObject({ committed: false, failed: [{ key, entry: { value } }] });
});

/** Turns of the event loop while something is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await work();
  done = true;
  return turns;
}

test('thousands of secrets are sealed and opened in slices, with turns for others between them', async () => {
  const { below, store, sealing } = stores();
  const count = 2_000;
  const value = certificate({ chain: 'public'.repeat(500), key: 'private'.repeat(200) });
  for (let at = 0; at < count; at += 100) {
    const puts = Array.from({ length: 100 }, (_, i) => ({ key: `${key}${at + i}`, value }));
    await below.commit({ id: newId(), checks: [], puts, deletes: [] });
  }
  const anew = () => sealAnew(below, { sealer: sealing, secretsAt, prefixes: secretKeyPrefixes, newId });
  expect(await turnsDuring(async () => expect(await anew()).toBe(count))).toBeGreaterThan(100);
  for (const entry of (await below.list('')).entries) {
    const { keyIds, isClear } = sealingOf(entry.key, entry.value, secretsAt(entry.key));
    expect([[...keyIds], isClear]).toEqual([[sealing.keyId], false]);
  }
  expect(await anew()).toBe(0);
  // 2,000 of them take more than ten slices of 4 ms.
  expect(await turnsDuring(() => store.list(''))).toBeGreaterThan(3);
  expect((await store.get(`${key}7`))?.value).toBe(value);
});
