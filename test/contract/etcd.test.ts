import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { FairwayError } from '../../src/lib/errors.ts';
import { type Entry, openEtcdStore, type Store, type WatchEvent } from '../../src/store/index.ts';
import { type RunningEtcd, startEtcd } from '../support/etcd.ts';
import { storeContract } from './store.ts';

let folder: string;
let etcd: RunningEtcd | { readonly missing: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairway-etcd-'));
  etcd = await startEtcd(folder);
});

afterAll(async () => {
  if ('stop' in etcd) await etcd.stop();
  await rm(folder, { recursive: true });
});

beforeEach((context) => {
  if ('missing' in etcd) context.skip(etcd.missing);
});

/** All stores are in one etcd, each below a prefix of its own: the suite counts from where a store began. */
storeContract('etcd', async (options) => {
  if ('missing' in etcd) throw new Error(etcd.missing);
  const { header } = await etcd.client.kv.range({ key: Buffer.from('any') });
  const store = await openEtcdStore({ endpoints: [etcd.url], prefix: `/test/${randomUUID()}`, ...options });
  return countedFrom(Number(header.revision), store);
});

/** The same store with revisions that begin after `base`. */
function countedFrom(base: number, store: Store): Store {
  const told = (revision: number): number => Math.max(0, revision - base);
  const asked = (revision: number): number => (revision === 0 ? 0 : revision + base);
  const entryTold = (entry: Entry): Entry => ({
    ...entry,
    createRevision: told(entry.createRevision),
    modRevision: told(entry.modRevision),
  });
  async function* watch(after: number, signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    try {
      for await (const { revision, puts, deletes } of store.watch(after + base, signal)) {
        yield { revision: told(revision), puts: puts.map(entryTold), deletes };
      }
    } catch (error) {
      const floor = error instanceof FairwayError ? error.extra['compactedRevision'] : undefined;
      if (!(error instanceof FairwayError) || typeof floor !== 'number') throw error;
      throw new FairwayError(error.code, error.message, { extra: { compactedRevision: told(floor) } });
    }
  }
  return {
    async commit({ checks, ...rest }) {
      const outcome = await store.commit({
        checks: checks.map(({ key, modRevision }) => ({
          key,
          modRevision: modRevision === 'exists' ? modRevision : asked(modRevision),
        })),
        ...rest,
      });
      if (outcome.committed) return { committed: true, revision: told(outcome.revision) };
      return {
        committed: false,
        failed: outcome.failed.map(({ key, entry }) => ({ key, entry: entry && entryTold(entry) })),
      };
    },
    async get(key) {
      const entry = await store.get(key);
      return entry && entryTold(entry);
    },
    async list(prefix) {
      const { revision, entries } = await store.list(prefix);
      return { revision: told(revision), entries: entries.map(entryTold) };
    },
    head: async () => told(await store.head()),
    watch,
    close: () => store.close(),
  };
}
