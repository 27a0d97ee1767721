/** What is left after kill -9, and who may have a data folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type Entry, openSqliteStore, type Store } from '../../src/store/index.ts';
import { numberedEntry } from './sqlite-writer.ts';

const writes = 10_000;

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fairway-store-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function open(folder: string): Promise<Store> {
  const store = await openSqliteStore({ folder });
  onTestFinished(() => store.close());
  return store;
}

/** The child, with the lines it prints; killed when the test is over. */
function startWriter(
  folder: string,
  first: number,
  count: number,
): { child: ChildProcess; lines: AsyncIterable<string> } {
  const script = fileURLToPath(new URL('sqlite-writer.ts', import.meta.url));
  const child = spawn(process.execPath, [script, folder, String(first), String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  return { child, lines: createInterface({ input: child.stdout as NodeJS.ReadableStream }) };
}

/** Kills the child once it has acknowledged `killAt` writes; gives all that it acknowledged until it was dead. */
async function writeUntilKilled(folder: string, first: number, killAt: number): Promise<Map<number, number>> {
  const { child, lines } = startWriter(folder, first, writes);
  const acknowledged = new Map<number, number>();
  for await (const line of lines) {
    const [i, revision] = line.split(' ').map(Number);
    if (i === undefined || revision === undefined) continue;
    acknowledged.set(i, revision);
    if (acknowledged.size === killAt) child.kill('SIGKILL');
  }
  return acknowledged;
}

function integrityOf(folder: string): unknown {
  const db = new DatabaseSync(join(folder, 'fairway.db'), { readOnly: true });
  try {
    return db.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  } finally {
    db.close();
  }
}

test('kill -9 among 10,000 writes loses no acknowledged one and leaves a database that opens', {
  timeout: 120_000,
}, async ({ annotate }) => {
  const folder = await makeFolder();
  // Another moment in each run, and the one of a failed run again with its seed.
  const seed = Number(process.env['FAIRWAY_FUZZ_SEED'] ?? Date.now() % 2 ** 31);
  const killPoints = fc.sample(fc.integer({ min: 1, max: 4000 }), { numRuns: 2, seed });
  await annotate(`seed ${seed}: killed after ${killPoints.join(' and ')} acknowledged writes`);

  // The second child goes on with the folder as the first has left it.
  const acknowledged = new Map<number, number>();
  for (const [round, killAt] of killPoints.entries()) {
    const ofRound = await writeUntilKilled(folder, round * writes, killAt);
    expect(ofRound.size).toBeGreaterThanOrEqual(killAt);
    expect(ofRound.size).toBeLessThan(writes);
    for (const [i, revision] of ofRound) acknowledged.set(i, revision);
  }

  const store = await open(folder);
  const { revision: head, entries } = await store.list('');
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const lost = [...acknowledged].filter(([i, revision]) => {
    const { key, value } = numberedEntry(i);
    const entry = byKey.get(key);
    return entry?.value !== value || entry.modRevision !== revision || entry.createRevision !== revision;
  });
  expect(lost).toEqual([]);

  // Every write has a key of its own: as many commits as entries, and the log replays to them.
  expect(entries).toHaveLength(head);
  const replayed: Entry[] = [];
  for await (const { puts, revision } of store.watch(0, new AbortController().signal)) {
    replayed.push(...puts);
    if (revision === head) break;
  }
  expect(new Map(replayed.map((entry) => [entry.key, entry]))).toEqual(byKey);

  // A write that was acknowledged is still known by its id, and the store takes new ones.
  const [[last, lastRevision] = [0, 0]] = [...acknowledged].slice(-1);
  const again = { id: `write ${last}`, checks: [], puts: [numberedEntry(last)], deletes: [] };
  expect(await store.commit(again)).toEqual({ committed: true, revision: lastRevision });
  expect(await store.commit({ ...again, id: 'new' })).toEqual({ committed: true, revision: head + 1 });

  await store.close();
  expect(integrityOf(folder)).toBe('ok');
});

test('a data folder that another process has open is refused, and free when that process is killed', async () => {
  const folder = await makeFolder();
  const { child, lines } = startWriter(folder, 0, 1);
  for await (const line of lines) {
    if (line === 'open') break;
  }
  await expect(openSqliteStore({ folder })).rejects.toMatchObject({
    name: 'FairwayError',
    code: 'StoreUnavailable',
    message: expect.stringContaining('is in use by another process'),
  });
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await (await open(folder)).head()).toBeLessThanOrEqual(1);
});

test('a data folder is open once in one process too, also after a second try', async () => {
  const folder = await makeFolder();
  const store = await open(folder);
  for (let i = 0; i < 2; i++)
    await expect(openSqliteStore({ folder })).rejects.toMatchObject({ code: 'StoreUnavailable' });

  // The refused tries must not have taken the lock away: to another process the folder is still in use.
  const { child, lines } = startWriter(folder, 0, 1);
  const printed: string[] = [];
  for await (const line of lines) printed.push(line);
  if (child.exitCode === null) await once(child, 'exit');
  expect([printed, child.exitCode]).toEqual([['refused StoreUnavailable'], 1]);

  await store.close();
  await (await openSqliteStore({ folder })).close();
});
