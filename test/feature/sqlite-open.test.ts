/** What is on the disk, and what the embedded store says to what it finds there. */
import { chmod, mkdir, mkdtemp, open as openFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSqliteStore, type SqliteStoreOptions, type Store, type WatchEvent } from '../../src/store/index.ts';

async function makeFolder(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'fairway-store-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  return join(parent, 'data');
}

async function open(folder: string, options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ folder, ...options });
  onTestFinished(() => store.close());
  return store;
}

async function write(store: Store, first: number, last: number, bytes = 10): Promise<void> {
  for (let i = first; i <= last; i++) {
    const puts = [{ key: `k${i % 7}`, value: String(i).padEnd(bytes, 'x') }];
    await store.commit({ id: `id ${i}`, checks: [], puts, deletes: i % 5 === 0 ? [`k${(i + 1) % 7}`] : [] });
  }
}

async function events(store: Store, after: number): Promise<WatchEvent[]> {
  const head = await store.head();
  const seen: WatchEvent[] = [];
  for await (const event of store.watch(after, new AbortController().signal)) {
    seen.push(event);
    if (event.revision === head) break;
  }
  return seen;
}

/** Changes a closed database behind the store's back. */
function edit(folder: string, sql: string): void {
  const db = new DatabaseSync(join(folder, 'fairway.db'));
  db.exec(sql);
  db.close();
}

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe('files', () => {
  test('are for nobody else, whatever the umask', async () => {
    const folder = await makeFolder();
    const before = process.umask(0);
    onTestFinished(() => {
      process.umask(before);
    });
    const store = await open(folder);
    await write(store, 1, 3);
    expect(await modeOf(folder)).toBe(0o700);
    const files = await readdir(folder);
    expect(files).toEqual(expect.arrayContaining(['fairway.db', 'fairway.db-wal']));
    for (const file of files) expect([file, await modeOf(join(folder, file))]).toEqual([file, 0o600]);
  });

  test('that others could read are closed to them at the next start', async () => {
    const folder = await makeFolder();
    await (await open(folder)).close();
    await chmod(join(folder, 'fairway.db'), 0o644);
    await write(await open(folder), 1, 1);
    for (const file of await readdir(folder)) expect([file, await modeOf(join(folder, file))]).toEqual([file, 0o600]);
  });

  test('are one database alone after close', async () => {
    const folder = await makeFolder();
    const store = await open(folder);
    await write(store, 1, 20);
    await store.close();
    expect(await readdir(folder)).toEqual(['fairway.db']);
  });
});

describe('after a restart', () => {
  test('entries, revision, ids and the log are as before', async () => {
    const folder = await makeFolder();
    const first = await open(folder);
    await write(first, 1, 30);
    const [list, log] = [await first.list(''), await events(first, 0)];
    await first.close();

    const second = await open(folder);
    expect(await second.head()).toBe(30);
    expect(await second.list('')).toEqual(list);
    expect(await events(second, 0)).toEqual(log);
    expect(await events(second, 17)).toEqual(log.slice(17));
    const again = { id: 'id 12', checks: [], puts: [{ key: 'new', value: '' }], deletes: [] };
    expect(await second.commit(again)).toEqual({ committed: true, revision: 12 });
    expect(await second.commit({ ...again, id: 'new' })).toEqual({ committed: true, revision: 31 });
  });

  test('the log is compacted where it was', async () => {
    const folder = await makeFolder();
    const first = await open(folder, { retain: { revisions: 10 } });
    await write(first, 1, 30);
    await first.close();
    const second = await open(folder);
    expect(await events(second, 20)).toHaveLength(10);
    await expect(events(second, 19)).rejects.toMatchObject({ code: 'RevisionCompacted' });
  });

  test('a watch reads old commits from the disk and new ones as they come', async () => {
    const folder = await makeFolder();
    const first = await open(folder);
    // More than a page of the log, 512 KiB.
    await write(first, 1, 30, 50_000);
    await first.close();

    const second = await open(folder);
    const seen: number[] = [];
    for await (const { revision } of second.watch(0, new AbortController().signal)) {
      seen.push(revision);
      if (revision === 10 || revision === 30) await write(second, revision + 100, revision + 101);
      if (revision === 34) break;
    }
    expect(seen).toEqual(Array.from({ length: 34 }, (_, i) => i + 1));
  });
});

describe('open refuses', () => {
  test('a file that is no database', async () => {
    const folder = await makeFolder();
    await mkdir(folder);
    await writeFile(join(folder, 'fairway.db'), 'no database '.repeat(1000));
    await expect(open(folder)).rejects.toMatchObject({
      name: 'FairwayError',
      code: 'Internal',
      message: expect.stringContaining('damaged'),
    });
  });

  test('a database with a damaged page in the middle', async () => {
    const folder = await makeFolder();
    const store = await open(folder);
    await write(store, 1, 200, 3000);
    await store.close();
    const file = await openFile(join(folder, 'fairway.db'), 'r+');
    const { size } = await file.stat();
    // Each tenth page, the first left alone: whichever of them the check reads first is found out.
    for (let at = 4096 * 10; at < size; at += 4096 * 10) await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, at);
    await file.close();
    await expect(open(folder)).rejects.toMatchObject({
      name: 'FairwayError',
      code: 'Internal',
      message: expect.stringContaining('damaged'),
    });
  });

  test.each<[string, string, string]>([
    ['a newer schema', 'PRAGMA user_version = 99', 'schema version 99'],
    ['a database of another program', 'PRAGMA application_id = 7', 'another program'],
  ])('%s, and leaves it as it is', async (_, sql, words) => {
    const folder = await makeFolder();
    const store = await open(folder);
    await write(store, 1, 3);
    await store.close();
    edit(folder, `PRAGMA journal_mode = DELETE; ${sql}`);
    await expect(open(folder)).rejects.toMatchObject({ code: 'Internal', message: expect.stringContaining(words) });
    const db = new DatabaseSync(join(folder, 'fairway.db'), { readOnly: true });
    expect(db.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'delete' });
    db.close();
  });

  test('a database of another program that has no mark', async () => {
    const folder = await makeFolder();
    await mkdir(folder);
    edit(folder, 'CREATE TABLE theirs (x)');
    await expect(open(folder)).rejects.toMatchObject({
      code: 'Internal',
      message: expect.stringContaining('another program'),
    });
  });

  test('a folder that is a file', async () => {
    const folder = await makeFolder();
    await writeFile(folder, '');
    await expect(open(folder)).rejects.toMatchObject({
      name: 'FairwayError',
      code: 'StoreUnavailable',
      message: expect.stringContaining('data folder'),
    });
  });

  test('and its messages hold no path', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'fairway.db'), { recursive: true });
    const error = await open(folder).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'StoreUnavailable' });
    expect(String(error)).not.toContain(folder);
  });
});
