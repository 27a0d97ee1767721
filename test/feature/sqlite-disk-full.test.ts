/** A write for which there is no room fails alone; nothing is lost, and writes work again when there is room. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore, type Store, type Transaction } from '../../src/store/index.ts';

const run = promisify(execFile);
const mebibyte = 1024 * 1024;

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fairway-store-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

let ids = 0;
function write(parts: Partial<Transaction>): Transaction {
  ids += 1;
  return { id: `id ${ids}`, checks: [], puts: [], deletes: [], ...parts };
}

const put = (key: string, bytes: number) => write({ puts: [{ key, value: key.padEnd(bytes, 'x') }] });
const noRoom = { name: 'FairwayError', code: 'StoreUnavailable', message: expect.stringContaining('the disk is full') };

/** Writes until it is refused; gives the keys that were acknowledged. Bounded: the room is some MiB. */
async function fill(store: Store, prefix: string, bytes: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < 1000; i++) {
    const key = `${prefix}/${String(i).padStart(4, '0')}`;
    const error = await store.commit(put(key, bytes)).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined) {
      expect(error).toMatchObject(noRoom);
      return keys;
    }
    keys.push(key);
  }
  throw new Error('the disk was never full');
}

const keysOf = async (store: Store) => (await store.list('')).entries.map(({ key }) => key);

test('at the size limit of the database', async () => {
  const folder = await makeFolder();
  const limited = await openSqliteStore({ folder, maxSizeBytes: mebibyte });
  const keys = await fill(limited, 'a', 20_000);
  expect(keys.length).toBeGreaterThan(10);
  expect(await keysOf(limited)).toEqual(keys);
  expect(await limited.head()).toBe(keys.length);

  // One that does not fit takes none of its neighbours with it, whatever the order.
  await expect(
    Promise.all([
      limited.commit(write({ deletes: keys.slice(0, 5) })),
      limited.commit(put('big', 300_000)).catch((error: unknown) => error),
      limited.commit(put('small', 100)),
    ]),
  ).resolves.toMatchObject([
    { committed: true, revision: keys.length + 1 },
    noRoom,
    { committed: true, revision: keys.length + 2 },
  ]);
  const want = [...keys.slice(5), 'small'];
  expect(await keysOf(limited)).toEqual(want);
  await limited.close();
  expect((await stat(join(folder, 'fairway.db'))).size).toBeLessThanOrEqual(mebibyte);

  const store = await openSqliteStore({ folder });
  onTestFinished(() => store.close());
  expect(await keysOf(store)).toEqual(want);
  expect(await store.commit(put('big', 300_000))).toMatchObject({ committed: true, revision: keys.length + 3 });
});

/** A disk of two MiB in `folder`; skips the test by name where there can be none. */
async function mountSmallDisk(folder: string, skip: (note: string) => never): Promise<void> {
  if (process.getuid?.() !== 0) skip('needs root for tmpfs');
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]);
  } catch {
    skip('a tmpfs cannot be mounted here');
  }
  onTestFinished(async () => {
    await run('umount', [folder]);
  });
}

test('on a disk that is really full', async ({ skip }) => {
  const folder = await makeFolder();
  await mountSmallDisk(folder, skip);
  const ballast = join(folder, 'ballast');
  await writeFile(ballast, Buffer.alloc(mebibyte / 2));
  const store = await openSqliteStore({ folder: join(folder, 'data') });

  const keys = await fill(store, 'a', 20_000);
  expect(keys.length).toBeGreaterThan(10);
  expect(await keysOf(store)).toEqual(keys);
  await expect(store.commit(put('again', 300_000))).rejects.toMatchObject(noRoom);
  expect(await store.head()).toBe(keys.length);

  await rm(ballast);
  const more = await fill(store, 'b', 20_000);
  expect(more.length).toBeGreaterThan(0);
  expect(await store.head()).toBe(keys.length + more.length);
  await store.close();

  // The disk is full again: what there was no room for in the database stands in the WAL, and is read from there.
  const reopened = await openSqliteStore({ folder: join(folder, 'data') });
  try {
    expect(await keysOf(reopened)).toEqual([...keys, ...more]);
  } finally {
    await reopened.close();
  }
});

test('a small database fits a small disk, however often it is written', async ({ skip }) => {
  const folder = await makeFolder();
  await mountSmallDisk(folder, skip);
  const options = { folder: join(folder, 'data'), retain: { revisions: 5 } };
  // Closed once, so that the database file has its size.
  const first = await openSqliteStore(options);
  for (let i = 1; i <= 20; i++) await first.commit(put('a', 20_000));
  await first.close();

  const store = await openSqliteStore(options);
  try {
    // 10 MB of writes, all of one entry: if the WAL only grew, the disk would hold none of the later ones.
    for (let i = 21; i <= 520; i++) {
      expect(await store.commit(put('a', 20_000))).toEqual({ committed: true, revision: i });
    }
    expect(await store.list('')).toMatchObject({ revision: 520, entries: [{ key: 'a', createRevision: 1 }] });
  } finally {
    await store.close();
  }
});
