import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { createMemoryStore } from '../../src/store/index.ts';
import { certificate, pool } from '../support/api.ts';
import { runHere } from '../support/command-line.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';

// Saving a store and bringing it back, from the command line.

const dataKeys = newDataKey();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairway-cli-backup-'));
  return () => rm(folder, { recursive: true });
});

async function start(store = createMemoryStore()): Promise<TestFairway> {
  const fairway = await startFairway({ dataKeys, store });
  onTestFinished(() => fairway.close());
  return fairway;
}

const run = (fairway: TestFairway, ...argv: string[]) => runHere(argv, { env: { FAIRWAY_SERVER: fairway.url } });

test('what is saved is brought back, here or elsewhere', async () => {
  const source = await start();
  await source.put(pool('web'), certificate('shop-tls'));
  const file = join(folder, 'store.backup');
  const saved = await run(source, 'backup', file);
  expect(saved).toMatchObject({ code: 0, err: '' });
  expect(saved.out).toMatch(/store\.backup: \d+ entries of revision \d+\n$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['store.backup']);

  const target = await start();
  const restored = await run(target, 'restore', file);
  expect(restored).toMatchObject({ code: 0, err: '' });
  expect(restored.out).toMatch(/^\d+ entries restored as of revision \d+; the store is at revision \d+\n$/);
  expect((await target.get('BackendPool', 'web')).metadata.uid).toBe(
    (await source.get('BackendPool', 'web')).metadata.uid,
  );

  const again = await run(target, 'restore', file);
  expect(again.code).toBe(1);
  expect(again.err).toContain('the store holds 2 objects');
  expect(again.err).toContain('With --force everything in it is replaced');
  expect((await run(target, 'restore', file, '--force')).code).toBe(0);
});

test('standard output has it, too', async () => {
  const source = await start();
  await source.put(pool('web'));
  const { code, out } = await run(source, 'backup', '-');
  expect(code).toBe(0);
  await writeFile(join(folder, 'piped'), out);
  expect((await run(await start(), 'restore', join(folder, 'piped'))).code).toBe(0);
});

test('a server that waits for a restore is mended by one, and is ready when it ends', async () => {
  const source = await start();
  await source.put(pool('web'));
  const file = join(folder, 'store.backup');
  await run(source, 'backup', file);
  const store = createMemoryStore();
  await store.commit({ id: 'mark', checks: [], puts: [{ key: 'schema/restore', value: '{}' }], deletes: [] });
  const broken = await start(store);
  const status = await run(broken, 'status');
  expect(status.out).toContain('not ready');
  expect(status.out).toContain('a restore is under way, or was broken off and must be made again');
  expect((await run(broken, 'backup', join(folder, 'other'))).code).toBe(3);
  expect(await run(broken, 'restore', file)).toMatchObject({ code: 0, err: '' });
  expect((await run(broken, 'get', 'pool', 'web', '-o', 'name')).out).toBe('backend-pool/web\n');
});

test('a file that is not whole is not sent at all', async () => {
  const source = await start();
  await source.put(pool('web'));
  const file = join(folder, 'store.backup');
  await run(source, 'backup', file);
  const nobody = { env: { FAIRWAY_SERVER: 'http://127.0.0.1:1' } };
  await truncate(file, (await stat(file)).size - 10);
  expect(await runHere(['restore', file], nobody)).toMatchObject({
    code: 2,
    err: expect.stringContaining('reading the backup: it is damaged in line'),
  });
  expect(await runHere(['restore', join(folder, 'none')], nobody)).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no such file'),
  });
});

test('a backup that does not come to its end leaves the former one as it was', async () => {
  const file = join(folder, 'store.backup');
  await writeFile(file, 'the former one');
  const { code, err } = await runHere(['backup', file], { env: { FAIRWAY_SERVER: 'http://127.0.0.1:1' } });
  expect(code).toBe(3);
  expect(err).toContain('No server can be reached');
  expect(await readdir(folder)).toEqual(['store.backup']);
  expect(await readFile(file, 'utf8')).toBe('the former one');
});

test('a place where nothing can be saved is told', async () => {
  const source = await start();
  const { code, err } = await run(source, 'backup', join(folder, 'no', 'such', 'folder'));
  expect(code).toBe(2);
  expect(err).toContain('there is no such file');
});
