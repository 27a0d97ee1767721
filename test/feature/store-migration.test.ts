/** Stores that earlier versions left behind, opened by this one; see test/support/stores. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { openSchema } from '../../src/server/schema.ts';
import { createMemoryStore, openSqliteStore, type Store, type Transaction } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { keyFragments, pem } from '../support/api.ts';
import { startFairway } from '../support/fairway.ts';
import { formerStores, makeFormerStore } from '../support/stores/index.ts';

/** Names of curves stand in the CA, too. */
const ca = pem('root').replaceAll('\n', '');
const fragments = keyFragments('p256', 'p384', 'p521').filter((fragment) => !ca.includes(fragment));

async function former(name: (typeof formerStores)[number]): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'fairway-former-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const data = join(parent, 'data');
  makeFormerStore(name, data);
  return data;
}

async function bytesIn(data: string): Promise<string> {
  const files = (await readdir(data)).filter((file) => file.startsWith('fairway.db'));
  return (await Promise.all(files.map((file) => readFile(join(data, file), 'latin1')))).join('\n');
}

const found = (text: string) => fragments.filter((fragment) => text.includes(fragment)).length;

let ids = 0;
const newId = () => `migration ${++ids}`;
const log = createLogger({ level: 'silent' });
const dataKey = newDataKey();
const open = (store: Store, text = dataKey) =>
  openSchema(store, { dataKeys: { text, file: '/nonexistent/data.key', otherwise: 'refuse' }, newId, log });

describe.each(formerStores)('a store of version 1, %s', (name) => {
  test('is served as before, with what was held back still held back', async () => {
    const fairway = await startFairway({ data: await former(name) });
    onTestFinished(() => fairway.close());
    const pool = await fairway.get('BackendPool', 'web');
    expect(pool.metadata.generation).toBe(2);
    const programmed = pool.status.conditions.find(({ type }) => type === 'Programmed');
    expect(programmed).toMatchObject({ status: 'False', reason: 'RejectedByProxy' });
    expect(programmed?.message).toMatch(/Invalid duration.*Generation 1 goes on/);
    expect((await fairway.get('BackendPool', 'other')).metadata.generation).toBe(1);
    expect((await fairway.get('Certificate', 'shop-tls')).metadata.generation).toBe(2);
    expect(fairway.logged()).toContain('"store_migrated"');
  });

  test('has no key in clear any more, in no file, and is not migrated twice', async () => {
    const data = await former(name);
    expect(found(await bytesIn(data))).toBeGreaterThan(100);
    const first = await startFairway({ data });
    const open = await bytesIn(data);
    await first.close();
    expect([found(open), found(await bytesIn(data))]).toEqual([0, 0]);
    const second = await startFairway({ data });
    await second.close();
    expect(second.logged()).not.toContain('"store_migrat');
  });

  test('is migrated to the end when each of the commits in between was the last of a process', async () => {
    const whole = await migrated(await inMemory(name));
    for (let commits = 0; ; commits++) {
      const store = await inMemory(name);
      const failure = await open(failingAfter(store, commits)).then(
        () => undefined,
        (error: Error) => error.message,
      );
      if (failure === undefined) {
        expect(commits).toBeGreaterThan(3);
        break;
      }
      expect(failure).toBe('the process ends here');
      expect(await migrated(store), `after ${commits} commits`).toEqual(whole);
    }
  });

  test('leaves nothing in clear on the disk when its migration was broken off', async () => {
    const data = await former(name);
    const broken = await openSqliteStore({ folder: data });
    await expect(open(failingAfter(broken, 3))).rejects.toThrow('the process ends here');
    await broken.close();
    const store = await openSqliteStore({ folder: data });
    await open(store);
    await store.close();
    expect(found(await bytesIn(data))).toBe(0);
  });
});

/** A former store, copied into memory. */
async function inMemory(name: (typeof formerStores)[number]): Promise<Store> {
  const db = new DatabaseSync(join(await former(name), 'fairway.db'));
  const rows = db.prepare('SELECT key, value FROM entries').all() as unknown as { key: string; value: string }[];
  db.close();
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  for (const { key, value } of rows) {
    await store.commit({ id: newId(), checks: [], puts: [{ key, value }], deletes: [] });
  }
  return store;
}

/** Opens a store and gives what it holds then, with secrets in clear. */
async function migrated(below: Store): Promise<readonly (readonly [string, string])[]> {
  const { store } = await open(below);
  return (await store.list('')).entries.map(({ key, value }) => [key, value] as const);
}

function failingAfter(store: Store, commits: number): Store {
  let left = commits;
  return {
    commit: (transaction: Transaction) => {
      if (left-- > 0) return store.commit(transaction);
      return Promise.reject(new Error('the process ends here'));
    },
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    head: () => store.head(),
    watch: (after, signal) => store.watch(after, signal),
    compact: async (depth) => store.compact?.(depth),
    close: () => store.close(),
  };
}

test('two controllers that open one store at once migrate it as one does', async () => {
  const whole = await migrated(await inMemory('pins-by-object'));
  const shared = await inMemory('pins-by-object');
  const opened = await Promise.all([open(shared), open(shared), open(shared)]);
  for (const { store } of opened) {
    expect((await store.list('')).entries.map(({ key, value }) => [key, value])).toEqual(whole);
  }
});

test('an empty store is made as one of this version', async () => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  await Promise.all([open(store), open(store)]);
  expect((await store.get('schema/version'))?.value).toBe('{"version":2}');
  expect((await store.list('')).entries).toHaveLength(2);
});

test('a store of a newer version is refused before anything is written', async () => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  await open(store);
  const puts = [{ key: 'schema/version', value: '{"version":3}' }];
  await store.commit({ id: newId(), checks: [], puts, deletes: [] });
  const before = await store.list('');
  await expect(open(store)).rejects.toThrow(
    'it is of version 3, written by a newer Fairway; this one knows versions up to 2. Run the newer one',
  );
  expect(await store.list('')).toEqual(before);
});

describe('data keys of several controllers', () => {
  const [older, newer] = [newDataKey(), newDataKey()];
  const secret = (value: string) => ({
    id: newId(),
    checks: [],
    puts: [{ key: 'secret/a', value }],
    deletes: [],
  });

  test('one that still seals with a retired key writes no secret any more, and is told why', async () => {
    const shared = createMemoryStore();
    onTestFinished(() => shared.close());
    const behind = await open(shared, older);
    await behind.store.commit(secret('one'));
    const ahead = await open(shared, `${older} ${newer}`);
    await ahead.retireDataKeys();
    await expect(behind.store.commit(secret('two'))).rejects.toThrow('was replaced by a newer one');
    await behind.store.commit({ ...secret('plain'), puts: [{ key: 'plain', value: 'plain' }] });
    expect((await ahead.store.get('secret/a'))?.value).toBe('one');
    expect((await shared.list('schema/data-key/')).entries).toHaveLength(1);
    await expect(behind.store.get('secret/a')).rejects.toThrow(/sealed with data key/);
  });

  test('all that the former key has sealed is sealed anew, also what is written meanwhile', async () => {
    const shared = createMemoryStore();
    onTestFinished(() => shared.close());
    const both = `${newer} ${older}`;
    const behind = await open(shared, both);
    const puts = Array.from({ length: 300 }, (_, i) => ({ key: `secret/${i}`, value: `value ${i}` }));
    for (let at = 0; at < puts.length; at += 100) {
      await behind.store.commit({ ...secret(''), id: newId(), puts: puts.slice(at, at + 100) });
    }
    const ahead = await open(shared, `${older} ${newer}`);
    const retiring = ahead.retireDataKeys();
    const written: string[] = [];
    for (let i = 0; i < 300; i += 7) {
      const outcome = await behind.store
        .commit({ ...secret(''), id: newId(), puts: [{ key: `secret/${i}`, value: 'new' }] })
        .then(
          () => `secret/${i}`,
          () => undefined,
        );
      if (outcome !== undefined) written.push(outcome);
    }
    await retiring;
    const alone = await open(shared, newer);
    for (const { key, value } of (await alone.store.list('secret/')).entries) {
      expect(value).toBe(written.includes(key) ? 'new' : `value ${key.slice('secret/'.length)}`);
    }
  });
});
