/** Secrets as they lie on the disk, and what a server says to data keys that are not its store's. */
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { certificate, keyFragments, pem } from '../support/api.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

async function makeFolder(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'fairway-sealed-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  return join(parent, 'data');
}

async function start(data: string, options: { dataKeys?: string } = {}): Promise<TestFairway> {
  const fairway = await startFairway({ data, ...options });
  onTestFinished(() => fairway.close());
  return fairway;
}

/** All bytes of all files of a folder, those of the WAL too. */
async function bytesIn(folder: string): Promise<string> {
  const files = await readdir(folder);
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'latin1')))).join('\n');
}

function expectNone(fragments: readonly string[], text: string): void {
  expect(fragments.filter((fragment) => text.includes(fragment))).toEqual([]);
}

/** A store with a certificate that was replaced once. */
async function writtenStore(): Promise<string> {
  const data = await makeFolder();
  const fairway = await start(data);
  await fairway.put(certificate('shop-tls', 'p256'), certificate('shop-tls', 'p384'));
  await fairway.close();
  return data;
}

const keyFile = (data: string) => join(data, 'data.key');

test('no key is in the database, its WAL, the log or an answer, now or in history', async () => {
  const data = await makeFolder();
  const fragments = keyFragments('p256', 'p384', 'p521');
  const fairway = await start(data);
  const answers = await fairway.put(
    certificate('shop-tls', 'p256'),
    certificate('shop-tls', 'p384'),
    certificate('gone', 'p521'),
  );
  answers.push(await fairway.call('DELETE', '/v1/scopes/default/certificates/gone'));
  answers.push(await fairway.call('GET', '/v1/certificates'));
  expect(await readdir(data)).toContain('fairway.db-wal');
  const open = await bytesIn(data);
  expect(open).toContain('history/Certificate/default/shop-tls/0000000001');
  // What is no secret is found there: this is the place to look.
  expect(open).toContain(pem('p384').split('\n')[1]);
  expectNone(fragments, open);
  await fairway.close();
  expectNone(fragments, await bytesIn(data));
  expectNone(fragments, fairway.logged());
  expectNone(fragments, JSON.stringify(answers.map(({ body }) => body)));
});

test('a server that starts again has the keys: a write without one keeps it', async () => {
  const data = await writtenStore();
  const fairway = await start(data);
  const { spec, ...rest } = certificate('shop-tls', 'p384');
  const { key: _key, ...withoutKey } = spec as Record<string, unknown>;
  const [answer] = await fairway.put({ ...rest, spec: { ...withoutKey, allowedScopes: ['*'] } });
  expect(answer?.body.metadata.generation).toBe(3);
});

test('the first start makes a file of keys that nobody else may read, and later ones leave it as it is', async () => {
  const data = await makeFolder();
  const before = process.umask(0);
  onTestFinished(() => {
    process.umask(before);
  });
  const fairway = await start(data);
  await fairway.close();
  const made = await readFile(keyFile(data), 'utf8');
  expect((await stat(keyFile(data))).mode & 0o777).toBe(0o600);
  await (await start(data)).close();
  expect(await readFile(keyFile(data), 'utf8')).toBe(made);
  expect(fairway.logged()).not.toContain(made.trim().split('\n').at(-1));
});

/** Starts on a store and gives the words of the refusal; nothing in the folder may have changed. */
async function refusal(data: string, options: { dataKeys?: string } = {}): Promise<string> {
  const dump = () => {
    const db = new DatabaseSync(join(data, 'fairway.db'));
    const rows = db.prepare('SELECT * FROM entries ORDER BY key').all();
    db.close();
    return rows;
  };
  const files = await readdir(data);
  const rows = dump();
  const words = await startFairway({ data, ...options }).then(
    async (fairway) => {
      await fairway.close();
      throw new Error('it started');
    },
    (error: Error) => error.message,
  );
  expect(await readdir(data)).toEqual(files);
  expect(dump()).toEqual(rows);
  return words;
}

test('a store whose file of keys is gone is not opened, and no other file is made', async () => {
  const data = await writtenStore();
  await rm(keyFile(data));
  const words = await refusal(data);
  expect(words).toContain(`${keyFile(data)} is not there`);
  expect(words).toMatch(/sealed with data key [0-9a-f]{16}; put the file back/);
});

test('a store with the keys of another is not opened', async () => {
  const data = await writtenStore();
  await writeFile(keyFile(data), newDataKey(), { mode: 0o600 });
  expect(await refusal(data)).toMatch(
    /sealed with data key [0-9a-f]{16}, which is not in .*data\.key \(it has data key/,
  );
});

test('a file of keys that others may read is refused with what to do', async () => {
  const data = await writtenStore();
  await chmod(keyFile(data), 0o640);
  expect(await refusal(data)).toContain(`(its mode is 0640): chmod 600 ${keyFile(data)}`);
});

test('a file that holds no keys is refused, without a word of what is in it', async () => {
  const data = await writtenStore();
  await writeFile(keyFile(data), 'hunter2\n');
  const words = await refusal(data);
  expect(words).toContain(`${keyFile(data)}: key 1 of 1 is not 32 bytes in base64`);
  expect(words).not.toContain('hunter2');
});

test('keys from the environment go before the file, and are refused by their variable', async () => {
  const data = await makeFolder();
  const key = newDataKey();
  const fairway = await start(data, { dataKeys: key });
  await fairway.put(certificate('shop-tls'));
  await fairway.close();
  expect(await readdir(data)).not.toContain('data.key');
  expect(await refusal(data, { dataKeys: newDataKey() })).toContain('which is not in FAIRWAY_DATA_KEYS');
  expect(await refusal(data, { dataKeys: 'short' })).toContain('FAIRWAY_DATA_KEYS: key 1 of 1 is not 32 bytes');
  await (await start(data, { dataKeys: key })).close();
});

test('a newer key seals all anew, and then the former one can be taken away', async () => {
  const data = await writtenStore();
  const former = await readFile(keyFile(data), 'utf8');
  const formerId = /"id":"([0-9a-f]{16})|fw1\.([0-9a-f]{16})\./.exec(await bytesIn(data))?.[2] as string;
  await writeFile(keyFile(data), `${former}${newDataKey()}\n`);
  const rotating = await start(data);
  await until('the former key to be retired', () => rotating.logged().includes('"data_key_retired"'));
  expect(rotating.logged()).toContain(`"keyId":"${formerId}"`);
  expect(rotating.logged()).toContain(`"origin":"${keyFile(data)}"`);
  const { body } = await rotating.call('GET', '/v1/scopes/default/certificates/shop-tls');
  expect(body.metadata.generation).toBe(2);
  await rotating.close();

  const newest = (await readFile(keyFile(data), 'utf8')).trim().split('\n').at(-1) as string;
  await writeFile(keyFile(data), `${newest}\n`);
  const fairway = await start(data);
  await fairway.put({ ...certificate('shop-tls', 'p256') });
  // The former key alone is one that the store has forgotten.
  await fairway.close();
  await writeFile(keyFile(data), former);
  expect(await refusal(data)).toContain('which is not in');
});

describe('a file of keys that changes while the server runs', () => {
  const p384 = () => {
    const { spec, ...rest } = certificate('shop-tls', 'p384');
    const { key: _key, ...withoutKey } = spec as Record<string, unknown>;
    return { ...rest, spec: { ...withoutKey, allowedScopes: ['*'] } };
  };
  const idsIn = async (data: string) => new Set(/fw1\.[0-9a-f]{16}\./g[Symbol.match](await bytesIn(data)) ?? []);

  test('has the newer key seal all anew, without a restart, and lets the former one be taken away', async () => {
    const data = await writtenStore();
    const fairway = await start(data);
    const former = await readFile(keyFile(data), 'utf8');
    const newer = newDataKey();
    await writeFile(keyFile(data), `${former}${newer}\n`);
    await until('the former key to be retired', () => fairway.logged().includes('"data_key_retired"'));
    expect(fairway.logged().split('"data_keys_renewed"')).toHaveLength(2);
    await writeFile(keyFile(data), `${newer}\n`);
    await until('the former key to be forgotten', () => fairway.logged().split('"data_keys_renewed"').length === 3);
    // Its key is kept, which takes opening it, and a further one is sealed.
    await fairway.put(p384(), certificate('other-tls', 'p256'));
    const backup = await (await fetch(`${fairway.url}/v1/backup`)).text();
    const { dataKeys } = JSON.parse(backup.split('\n', 1)[0] as string);
    expect(dataKeys).toHaveLength(1);
    expect(fairway.logged()).not.toContain(newer);
    await fairway.close();
    const again = await start(data);
    expect((await again.get('Certificate', 'shop-tls')).metadata.generation).toBe(3);
    expect(await idsIn(data)).toContain(`fw1.${dataKeys[0]}.`);
  });

  test.each<[string, (former: string) => string, RegExp]>([
    ['lacks the key in use', () => `${newDataKey()}\n`, /sealed with data key [0-9a-f]{16}, which is not in/],
    ['has no keys', () => '# nothing\n', /there is no key in it/],
    ['is broken', (former) => `${former}abc\n`, /key 2 of 2 is not 32 bytes in base64/],
  ])('and %s is told once, and what is in use stays so', async (_name, content, words) => {
    const data = await writtenStore();
    const fairway = await start(data);
    const former = await readFile(keyFile(data), 'utf8');
    await writeFile(keyFile(data), content(former));
    const told = () =>
      fairway
        .logged()
        .split('\n')
        .filter((line) => line.includes('"data_keys_unusable"'));
    await until('the fault', () => told().length > 0);
    expect(JSON.parse(told()[0] as string).err.message).toMatch(words);
    await fairway.put(p384());
    // Something that is read later than the fault, so that it was looked at again meanwhile.
    await writeFile(keyFile(data), `${former}${newDataKey()}\n`);
    await until('the next keys', () => fairway.logged().includes('"data_keys_renewed"'));
    expect(told()).toHaveLength(1);
  });

  test('and is not there any more is told with what to do', async () => {
    const data = await writtenStore();
    const fairway = await start(data);
    await rm(keyFile(data));
    await until('the fault', () => fairway.logged().includes('put the file back'));
    expect((await fairway.put(p384()))[0]?.status).toBe(200);
  });
});
