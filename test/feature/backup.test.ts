/** Backups of one store, restored in another; what is refused; and what becomes of a restore that is broken off. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import {
  createMemoryStore,
  openEtcdStore,
  openSqliteStore,
  type Store,
  type Transaction,
} from '../../src/store/index.ts';
import { certificate, keyFragments, pem, pool } from '../support/api.ts';
import { startEtcd } from '../support/etcd.ts';
import { type Answer, startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

const dataKeys = newDataKey();

let etcdFolder: string;
let etcd: Awaited<ReturnType<typeof startEtcd>>;

beforeAll(async () => {
  etcdFolder = await mkdtemp(join(tmpdir(), 'fairway-backup-etcd-'));
  etcd = await startEtcd(etcdFolder);
});

afterAll(async () => {
  if ('stop' in etcd) await etcd.stop();
  await rm(etcdFolder, { recursive: true });
});

/** Stores that a backup must work between. */
const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => createMemoryStore(),
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fairway-backup-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    return openSqliteStore({ folder });
  },
  etcd: async () => {
    if ('missing' in etcd) throw new Error(etcd.missing);
    return openEtcdStore({ endpoints: [etcd.url], prefix: `/test/${randomUUID()}` });
  },
};
const kinds = Object.keys(stores);
const pairs = kinds.flatMap((from) => kinds.map((to) => [from, to] as const));

async function start(store: Store, keys = dataKeys): Promise<TestFairway> {
  const fairway = await startFairway({ store, dataKeys: keys });
  onTestFinished(() => fairway.close());
  return fairway;
}

const on = async (kind: string, keys?: string) => start(await (stores[kind] as () => Promise<Store>)(), keys);

async function backupOf(fairway: TestFairway): Promise<string> {
  const answer = await fetch(`${fairway.url}/v1/backup`);
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return text;
}

function restore(fairway: TestFairway, backup: string, query = ''): Promise<Answer> {
  return fairway.call('POST', `/v1/restore${query}`, backup, { 'content-type': 'application/x-ndjson' });
}

const lists = ['scopes', 'fleets', 'certificates', 'backend-pools', 'virtual-services'];

type Listed = { metadata: Record<string, unknown>; [part: string]: unknown };

/** All objects as the API shows them, without the revision of their last write. */
async function objectsOf(fairway: TestFairway): Promise<Listed[]> {
  const objects: Listed[] = [];
  for (const plural of lists) {
    const { status, body } = await fairway.call('GET', `/v1/${plural}`);
    expect(status, JSON.stringify(body)).toBe(200);
    for (const { metadata, status: _status, ...rest } of body.items) {
      const { revision: _revision, ...kept } = metadata;
      objects.push({ ...rest, metadata: kept });
    }
  }
  return objects;
}

const service = (name: string, host: string) => ({
  kind: 'VirtualService',
  metadata: { name },
  spec: {
    fleet: 'edge',
    listeners: [
      { name: 'web', port: 10080, protocol: 'HTTP', hosts: [host], defaultAction: { forward: [{ pool: 'web' }] } },
    ],
  },
});

/** A store with some history: objects that were changed, deleted, and one that was first where another is by name. */
async function fill(fairway: TestFairway): Promise<void> {
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    pool('web'),
    pool('zebra'),
    pool('gone'),
    pool('apple'),
    pool('web', { connectTimeout: '2s' }),
    certificate('shop-tls', 'p256'),
    certificate('shop-tls', 'p384'),
  );
  await fairway.call('DELETE', '/v1/scopes/default/backend-pools/gone');
}

describe.each(pairs)('from %s to %s', (from, to) => {
  beforeEach((context) => {
    if ([from, to].includes('etcd') && 'missing' in etcd) context.skip(etcd.missing);
  });

  test('everything is as it was: uids, generations, ages, history and keys', async () => {
    const source = await on(from);
    await fill(source);
    const before = await objectsOf(source);
    const backup = await backupOf(source);
    const target = await on(to);
    const answer = await restore(target, backup);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(await objectsOf(target)).toEqual(before);

    // The key is there without being sent again, and history goes on.
    const { spec, ...rest } = certificate('shop-tls', 'p384');
    const { key: _key, ...withoutKey } = spec as Record<string, unknown>;
    const [written] = await target.put({ ...rest, spec: { ...withoutKey, allowedScopes: ['*'] } });
    expect(written?.body.metadata.generation).toBe(3);
    expect(written?.body.metadata.createdRevision).toBe(
      before.find(({ kind }) => kind === 'Certificate')?.metadata['createdRevision'],
    );
    // A backup of the copy holds what the first one holds.
    const again = await backupOf(target);
    const keys = (text: string) =>
      text
        .split('\n')
        .slice(1, -2)
        .map((line) => JSON.parse(line).key as string);
    expect(keys(again)).toEqual(expect.arrayContaining(keys(backup)));
  });

  test('revisions go on after those of the backup, so that what is made later is younger', async () => {
    const source = await on(from);
    await fill(source);
    const backup = await backupOf(source);
    const revision = Number(JSON.parse(backup.slice(0, backup.indexOf('\n'))).revision);
    const target = await on(to);
    const { body } = await restore(target, backup);
    expect(Number(body.revision)).toBeGreaterThan(revision);
    const [made] = await target.put(pool('new'));
    const shown = await target.get('BackendPool', 'new');
    expect(Number(shown.metadata.revision)).toBeGreaterThan(Number(body.revision));
    expect(made?.body.metadata.createdRevision).toBe(shown.metadata.revision);
    // What was read before is no longer what stands there.
    const stale = await target.call('PUT', '/v1/scopes/default/backend-pools/web', pool('web'), {
      'if-match': `"${revision}"`,
    });
    expect(stale.status).toBe(409);
    const limit = AbortSignal.timeout(5_000);
    const watch = await fetch(`${target.url}/v1/backend-pools?watch=true&after=${revision}`, { signal: limit });
    expect(watch.status).toBe(410);
  });
});

test('who has a host keeps it: the older object, and not the first one by name', async () => {
  const source = await on('memory');
  await source.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, pool('web'));
  const loser = async (fairway: TestFairway) => {
    const names = ['zebra', 'apple', 'mango'];
    const objects = await Promise.all(names.map((name) => fairway.get('VirtualService', name)));
    return objects
      .filter(({ status }) => status.conditions.some(({ status }) => status === 'False'))
      .map(({ metadata }) => metadata.name);
  };
  await source.put(service('zebra', 'shop.example'), service('apple', 'shop.example'));
  const target = await on('memory');
  await restore(target, await backupOf(source));
  // Made after the restore, it is younger than both, whatever the number of the store's commits.
  await target.put(service('mango', 'shop.example'));
  expect(await loser(target)).toEqual(['apple', 'mango']);
});

describe('a backup', () => {
  test('has no secret in clear, and names the keys that open them, not the keys', async () => {
    const source = await on('sqlite');
    await fill(source);
    const backup = await backupOf(source);
    const fragments = keyFragments('p256', 'p384').filter((fragment) => backup.includes(fragment));
    expect(fragments).toEqual([]);
    expect(backup).toContain(pem('p384').split('\n')[1]);
    const header = JSON.parse(backup.slice(0, backup.indexOf('\n')));
    expect(header).toMatchObject({
      fairwayBackup: 1,
      storeVersion: 2,
      dataKeys: [expect.stringMatching(/^[0-9a-f]{16}$/)],
    });
    expect(header.about).toContain('SHA-256 of all bytes before it');
    expect(backup).not.toContain(dataKeys);
    expect(source.logged()).not.toContain(dataKeys);
    expect(backup).not.toContain('"key":"schema/');
  });

  test('is of one revision, whatever is written meanwhile', async () => {
    const source = await on('sqlite');
    await fill(source);
    let stop = false;
    const writing = (async () => {
      for (let i = 0; !stop; i++)
        await source.put(
          pool('left', { connectTimeout: `${i + 1}ms` }),
          pool('right', { connectTimeout: `${i + 1}ms` }),
        );
    })();
    for (let i = 0; i < 10; i++) {
      const lines = (await backupOf(source))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const revision = lines[0].revision as number;
      expect(Math.max(...lines.slice(1, -1).map(({ modRevision }) => modRevision))).toBeLessThanOrEqual(revision);
      const timeouts = ['left', 'right'].map((name) => {
        const found = lines.find(({ key }) => key === `spec/BackendPool/default/${name}`);
        return found === undefined ? 0 : Number.parseInt(JSON.parse(found.value).spec.connectTimeout, 10);
      }) as [number, number];
      expect(timeouts[0] - timeouts[1]).toBeOneOf([0, 1]);
    }
    stop = true;
    await writing;
  });

  test('with secrets that are sealed by a key of this process alone is not made', async () => {
    const source = await startFairway();
    onTestFinished(() => source.close());
    expect((await fetch(`${source.url}/v1/backup`)).status).toBe(200);
    await source.put(certificate('shop-tls'));
    const answer = await fetch(`${source.url}/v1/backup`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('a key that ends with this process');
  });
});

describe('is refused before anything is written:', () => {
  async function made(): Promise<string> {
    const source = await on('memory');
    await fill(source);
    return backupOf(source);
  }

  async function refused(target: TestFairway, backup: string, query = ''): Promise<Answer> {
    const before = await backupOf(target);
    const answer = await restore(target, backup, query);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect((await target.call('GET', '/readyz')).status).toBe(200);
    // Times of conditions are written by the way.
    const rows = (text: string) =>
      text
        .split('\n')
        .slice(1, -2)
        .filter((line) => !line.startsWith('{"key":"status/'));
    expect(rows(await backupOf(target))).toEqual(rows(before));
    return answer;
  }

  /** The backup with another last line, so that only what is wrong in it can be seen. */
  function signed(lines: readonly string[]): string {
    const content = lines.map((line) => `${line}\n`).join('');
    const sha256 = createHash('sha256').update(content).digest('hex');
    return `${content}${JSON.stringify({ entries: lines.length - 1, sha256 })}\n`;
  }

  const linesOf = (backup: string) => backup.trimEnd().split('\n');
  const content = (backup: string) => linesOf(backup).slice(0, -1);

  test.each<[string, (backup: string) => string, want: string]>([
    ['nothing', () => '', 'it is not the backup of a Fairway store'],
    ['another file', () => '{"kind":"Certificate"}\n', 'it is not the backup of a Fairway store'],
    ['no text', () => '\0\x01\x02\n', 'it is not the backup of a Fairway store'],
    ['one without its end', (backup) => `${content(backup).join('\n')}\n`, 'it is cut off after'],
    ['one that was cut off in a line', (backup) => backup.slice(0, backup.length / 2), 'it is damaged in line'],
    ['one that lacks its last line feed', (backup) => backup.slice(0, -1), 'it is damaged in line'],
    [
      'one with a changed value',
      (backup) => backup.replace('connectTimeout\\":\\"2s', 'connectTimeout\\":\\"3s'),
      'its checksum is wrong, so it was damaged',
    ],
    [
      'one that lacks an entry',
      (backup) =>
        linesOf(backup)
          .toSpliced(3, 1)
          .map((line) => `${line}\n`)
          .join(''),
      'its checksum is wrong',
    ],
    ['one with more behind its end', (backup) => `${backup}x\n`, 'something was added behind its end'],
    [
      'one of a newer form',
      (backup) => backup.replace('"fairwayBackup":1', '"fairwayBackup":2'),
      'it has form 2, made by a newer Fairway; this one reads forms up to 1',
    ],
    [
      'one of a newer store',
      (backup) => signed(content(backup).map((line) => line.replace('"storeVersion":2', '"storeVersion":3'))),
      'it is of a store of version 3, of a newer Fairway; this one has version 2',
    ],
    [
      'one with entries in another order',
      (backup) => signed([0, 2, 1].map((i) => content(backup)[i] as string)),
      'its entries are not in order',
    ],
    [
      "one with a store's own records",
      (backup) =>
        signed([
          content(backup)[0] as string,
          JSON.stringify({ key: 'schema/version', value: '', createRevision: 1, modRevision: 1 }),
        ]),
      'it has an entry that no backup has',
    ],
    [
      'one with a secret of another place',
      (backup) =>
        signed(
          content(backup).map((line) =>
            line.replace('spec/Certificate/default/shop-tls', 'spec/Certificate/default/stolen'),
          ),
        ),
      'a secret in spec/Certificate/default/stolen cannot be opened',
    ],
  ])('%s', async (_, change, want) => {
    const target = await on('memory');
    const answer = await refused(target, change(await made()));
    expect(answer.body).toMatchObject({ code: 'InvalidBackup', status: 422 });
    expect(answer.body.detail).toContain(want);
  });

  test('one whose data key is not there, with what to do', async () => {
    const backup = await made();
    const target = await on('memory', newDataKey());
    const { body } = await refused(target, backup);
    expect(body.detail).toMatch(
      /sealed with data key [0-9a-f]{16}, which this server does not have; add it above the last line/,
    );
    const both = await on('memory', `${dataKeys} ${newDataKey()}`);
    expect((await restore(both, backup)).status).toBe(200);
  });

  test('any, where there are objects already, unless it is forced', async () => {
    const backup = await made();
    const target = await on('sqlite');
    await target.put(pool('mine'));
    expect((await refused(target, backup)).body).toMatchObject({ code: 'StoreNotEmpty', status: 409, objects: 1 });
    expect((await restore(target, backup, '?force=true')).status).toBe(200);
    expect((await target.call('GET', '/v1/scopes/default/backend-pools/mine')).status).toBe(404);
    expect((await target.get('BackendPool', 'web')).metadata.generation).toBe(2);
  });

  test('one of another media type', async () => {
    const target = await on('memory');
    const answer = await target.call('POST', '/v1/restore', '{}');
    expect(answer.status).toBe(415);
  });
});

/** A store whose commits fail after some of a restore, as when the process ends there. */
class Breaking implements Store {
  readonly store: Store;
  left = Number.POSITIVE_INFINITY;

  constructor(store: Store) {
    this.store = store;
  }

  commit(transaction: Transaction) {
    const key = 'schema/restore';
    const isOfRestore =
      transaction.puts.some((put) => put.key === key) ||
      transaction.checks.some((check) => check.key === key && check.modRevision !== 0);
    if (this.left === 0) return Promise.reject(new Error('the process ends here'));
    if (isOfRestore) this.left -= 1;
    return this.store.commit(transaction);
  }

  get: Store['get'] = (key) => this.store.get(key);
  list: Store['list'] = (prefix) => this.store.list(prefix);
  head: Store['head'] = () => this.store.head();
  watch: Store['watch'] = (after, signal) => this.store.watch(after, signal);
  async close(): Promise<void> {}
}

describe('a restore that is broken off', () => {
  test('leaves nobody ready, here or on another controller, until it was made again', async () => {
    const source = await on('memory');
    await fill(source);
    const backup = await backupOf(source);

    const shared = createMemoryStore();
    onTestFinished(() => shared.close());
    const breaking = new Breaking(shared);
    const other = await start(new Breaking(shared));
    const target = await start(breaking);
    await target.put(pool('mine'));
    const ready = async (fairway: TestFairway) => (await fairway.call('GET', '/readyz')).status === 200;
    // The mark is set, and nothing else.
    breaking.left = 1;
    expect((await restore(target, backup, '?force=true')).status).toBe(500);
    breaking.left = Number.POSITIVE_INFINITY;
    for (const fairway of [target, other]) {
      await until('it to be unready', async () => !(await ready(fairway)));
      expect((await fairway.call('GET', '/readyz')).body.detail).toContain('being restored from a backup');
      expect((await fairway.call('PUT', '/v1/scopes/default/backend-pools/late', pool('late'))).status).toBe(503);
      expect((await fairway.call('GET', '/v1/backend-pools')).status).toBe(503);
    }
    // One that starts now is not ready either, and takes the backup.
    const third = await start(new Breaking(shared));
    expect((await third.call('GET', '/readyz')).body.detail).toContain('broken off and must be made again');
    expect((await third.call('GET', '/healthz')).status).toBe(200);
    expect((await third.call('GET', '/v1/backend-pools')).status).toBe(503);
    expect((await restore(third, backup)).status).toBe(200);
    for (const fairway of [target, other, third]) {
      await until('it to be ready', () => ready(fairway));
      expect(await objectsOf(fairway)).toEqual(await objectsOf(source));
    }
  });

  test('is noticed at the next start, at every commit that may have been its last', async () => {
    const source = await on('memory');
    await fill(source);
    const backup = await backupOf(source);
    for (let commits = 1; ; commits++) {
      const shared = createMemoryStore();
      const breaking = new Breaking(shared);
      const target = await startFairway({ store: breaking, dataKeys });
      breaking.left = commits;
      const { status } = await restore(target, backup);
      breaking.left = Number.POSITIVE_INFINITY;
      await target.close();
      const next = await startFairway({ store: new Breaking(shared), dataKeys });
      const isReady = (await next.call('GET', '/readyz')).status === 200;
      expect(isReady, `after ${commits} commits`).toBe(status === 200);
      if (status !== 200) expect((await restore(next, backup)).status).toBe(200);
      await until('it to be ready', async () => (await next.call('GET', '/readyz')).status === 200);
      expect(await objectsOf(next)).toEqual(await objectsOf(source));
      await next.close();
      await shared.close();
      if (status === 200) {
        expect(commits).toBeGreaterThan(2);
        break;
      }
    }
  });

  test('can be given up by ending the server, which does not wait for it', async () => {
    const shared = createMemoryStore();
    onTestFinished(() => shared.close());
    await shared.commit({ id: 'mark', checks: [], puts: [{ key: 'schema/restore', value: '{}' }], deletes: [] });
    const target = await startFairway({ store: new Breaking(shared), dataKeys });
    await target.close();
    expect((await shared.get('schema/restore'))?.value).toBe('{}');
  });
});
