/** The store on a real etcd, behind networks that fail and on clusters that lose members. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  type EtcdNotice,
  type Leadership,
  leaderKey,
  openEtcdStore,
  type Store,
  type WatchEvent,
} from '../../src/store/index.ts';
import { put, transaction } from '../contract/store-fixture.ts';
import { type EtcdCluster, type EtcdMember, type Missing, startEtcdCluster } from '../support/etcd.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

let folder: string;
let started: EtcdCluster | Missing;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairway-etcd-'));
  // A leader that is gone is missed after half a second, as README recommends: within the time that a call may take.
  started = await startEtcdCluster(folder, 3, ['--heartbeat-interval', '50', '--election-timeout', '500']);
});

afterAll(async () => {
  if ('stop' in started) await started.stop();
  await rm(folder, { recursive: true });
});

beforeEach((context) => {
  if ('missing' in started) context.skip(started.missing);
});

function cluster(): EtcdCluster {
  if ('missing' in started) throw new Error(started.missing);
  return started;
}

interface Opened {
  readonly store: Store;
  readonly notices: EtcdNotice[];
}

async function open(endpoints: readonly string[], prefix: string): Promise<Opened> {
  const notices: EtcdNotice[] = [];
  const store = await openEtcdStore({ endpoints, prefix, onNotice: (notice) => notices.push(notice) });
  onTestFinished(() => store.close());
  return { store, notices };
}

const newPrefix = () => `/test/${randomUUID()}`;

/** What etcd itself has at a key of the store. */
async function standing(client: Etcd3, prefix: string, key: string) {
  const { kvs } = await client.kv.range({ key: Buffer.from(`${prefix}/data/${key}`) });
  const kv = kvs[0];
  return kv && { value: kv.value.toString(), revision: Number(kv.mod_revision), writes: Number(kv.version) };
}

/** All events of a watch, as they come, until the test ends. */
function follow(store: Store, after: number): { readonly events: WatchEvent[]; readonly ended: Promise<unknown> } {
  const events: WatchEvent[] = [];
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const ended = (async () => {
    for await (const event of store.watch(after, controller.signal)) events.push(event);
  })().catch((error: unknown) => error);
  return { events, ended };
}

const slow = { name: 'FairwayError', code: 'StoreUnavailable' };

/** A store that sees one member only, through a proxy. */
async function behindProxy() {
  const member = cluster().members[0] as EtcdMember;
  const proxy = await startTcpProxy(member.port);
  onTestFinished(() => proxy.close());
  const prefix = newPrefix();
  const { store, notices } = await open([`http://127.0.0.1:${proxy.port}`], prefix);
  return { member, proxy, prefix, store, notices };
}

describe('a connection that is cut between the commit and its answer', () => {
  test('is no conflict with oneself, and nothing is written twice', async () => {
    const { proxy, prefix, store } = await behindProxy();
    const { client } = cluster();
    for (const round of [1, 2, 3]) {
      const key = `key ${round}`;
      proxy.holdAnswers(true);
      const creating = store.commit({ ...put(key, 'once'), checks: [{ key, modRevision: 0 }] });
      const written = await until('the commit to arrive', () => standing(client, prefix, key));
      proxy.cut();
      proxy.holdAnswers(false);
      expect(await creating).toEqual({ committed: true, revision: written.revision });
      expect(await standing(client, prefix, key)).toEqual({ value: 'once', revision: written.revision, writes: 1 });
    }
  });

  test('does not make a refusal out of what was refused rightly, nor the other way round', async () => {
    const { proxy, store } = await behindProxy();
    await store.commit(put('taken', 'first'));
    proxy.holdAnswers(true);
    const creating = store.commit({ ...put('taken', 'second'), checks: [{ key: 'taken', modRevision: 0 }] });
    await until('the commit to be on its way', () => proxy.connections > 0);
    proxy.cut();
    proxy.holdAnswers(false);
    expect(await creating).toMatchObject({ committed: false, failed: [{ key: 'taken', entry: { value: 'first' } }] });
    expect(await store.get('taken')).toMatchObject({ value: 'first' });
  });
});

describe('a transaction whose outcome is not known', () => {
  test('is StoreUnavailable within two seconds, and tells when asked again', async () => {
    const { proxy, prefix, store } = await behindProxy();
    const one = put('a', 'once');
    proxy.holdAnswers(true);
    const begun = performance.now();
    await expect(store.commit(one)).rejects.toMatchObject(slow);
    expect(performance.now() - begun).toBeLessThan(2_000);
    proxy.cut();
    proxy.holdAnswers(false);
    const { client } = cluster();
    const written = await until('what was written', () => standing(client, prefix, 'a'));
    expect(await store.commit(one)).toEqual({ committed: true, revision: written.revision });
  });

  test('never overwrites what is written after it', async () => {
    const { proxy, prefix, store, notices } = await behindProxy();
    proxy.holdRequests(true);
    await expect(store.commit(put('a', 'early'))).rejects.toMatchObject(slow);
    const later = store.commit(put('a', 'late'));
    const other = store.commit(put('b'));
    // Now etcd hears all of it, in whatever order it takes it.
    proxy.holdRequests(false);
    expect([await later, await other]).toMatchObject([{ committed: true }, { committed: true }]);
    await until('the first one to be settled', () => notices.some(({ event }) => event === 'outcome_settled'));
    expect(await standing(cluster().client, prefix, 'a')).toMatchObject({ value: 'late' });
  });
});

test('a slow network loses no update and makes no conflict', async () => {
  const { proxy, store } = await behindProxy();
  proxy.delay(250);
  const before = await store.commit(put('a', '1'));
  if (!before.committed) throw new Error('refused');
  const next = { ...put('a', '2'), checks: [{ key: 'a', modRevision: before.revision }] };
  expect(await store.commit(next)).toMatchObject({ committed: true });
  expect(await store.get('a')).toMatchObject({ value: '2' });
});

describe('several controllers', () => {
  test('lose no update among them, and see the same commits in the same order', async () => {
    const prefix = newPrefix();
    const stores = await Promise.all(cluster().urls.map(async (url) => (await open([url], prefix)).store));
    const watches = stores.map((store) => follow(store, 0));
    const each = 20;
    const increment = async (store: Store): Promise<void> => {
      for (;;) {
        const entry = await store.get('counter');
        const checks = [{ key: 'counter', modRevision: entry?.modRevision ?? 0 }];
        const value = String(Number(entry?.value ?? 0) + 1);
        if ((await store.commit(transaction({ checks, puts: [{ key: 'counter', value }] }))).committed) return;
      }
    };
    await Promise.all(
      stores.map(async (store) => {
        for (let i = 0; i < each; i += 1) await increment(store);
      }),
    );
    const total = each * stores.length;
    await until('all to have seen all', () => watches.every(({ events }) => events.length === total), {
      describe: () => watches.map(({ events }) => events.length),
    });
    expect(watches[0]?.events.map(({ puts }) => puts[0]?.value)).toEqual(
      Array.from({ length: total }, (_, i) => String(i + 1)),
    );
    for (const { events } of watches) expect(events).toEqual(watches[0]?.events);
  });

  test('take no notice of what others write to the cluster', async () => {
    const prefix = newPrefix();
    const { store } = await open(cluster().urls, prefix);
    const first = await store.commit(put('a', '1'));
    await cluster().client.put(`${prefix}-of-another/data/a`).value('2');
    const second = await store.commit(put('a', '3'));
    await cluster().client.put(`${prefix}-of-another/data/a`).value('4');
    if (!first.committed || !second.committed) throw new Error('refused');
    expect(second.revision).toBe(first.revision + 2);
    expect(await store.head()).toBe(second.revision);
    const { events } = follow(store, 0);
    await until('both commits', () => events.length === 2);
    expect(events.map(({ revision }) => revision)).toEqual([first.revision, second.revision]);
    expect(await store.list('')).toMatchObject({ revision: second.revision, entries: [{ key: 'a', value: '3' }] });
  });

  test('find what was written before them, commit by commit', async () => {
    const prefix = newPrefix();
    const { store: former } = await open(cluster().urls, prefix);
    for (const i of [1, 2, 3]) await former.commit({ ...put('a', String(i)), id: `commit ${i}` });
    const { store } = await open(cluster().urls, prefix);
    const { events } = follow(store, 0);
    await until('the old commits', () => events.length === 3);
    expect(events.map(({ puts }) => puts[0]?.value)).toEqual(['1', '2', '3']);
    const again = await store.commit({ ...put('a', 'again'), id: 'commit 2' });
    expect(again).toEqual({ committed: true, revision: events[1]?.revision });
  });
});

test('a history that was compacted while nobody could watch is RevisionCompacted, and the state can be listed', async () => {
  const { member, proxy, prefix, store } = await behindProxy();
  const { store: other } = await open([member.url], prefix);
  const first = await other.commit(put('a', '1'));
  const { events, ended } = follow(store, 0);
  await until('the first commit', () => events.length === 1);
  proxy.target(1);
  proxy.cut();
  await other.commit(put('a', '2'));
  const last = await other.commit(put('a', '3'));
  if (!first.committed || !last.committed) throw new Error('refused');
  await cluster().client.kv.compact({ revision: String(last.revision) });
  proxy.target(member.port);
  expect(await ended).toMatchObject({ code: 'RevisionCompacted' });
  expect(events.map(({ revision }) => revision)).toEqual([first.revision]);
  expect(await store.list('')).toMatchObject({ revision: last.revision, entries: [{ key: 'a', value: '3' }] });
});

describe('of three members', () => {
  const faults: [string, (member: EtcdMember) => Promise<void>, (member: EtcdMember) => void][] = [
    ['killed', (member) => member.kill(), (member) => member.restart()],
    ['frozen', async (member) => member.pause(), (member) => member.resume()],
  ];
  test.each(faults)('one that is %s is not noticed by who reads, writes or watches', async (_, take, bring) => {
    const { members, urls, client } = cluster();
    const { store } = await open(urls, newPrefix());
    const { events } = follow(store, 0);
    let writes = 0;
    const write = async (): Promise<void> => {
      writes += 1;
      const outcome = await store.commit(put('a', String(writes)));
      expect(outcome.committed).toBe(true);
      expect(await store.get('a')).toMatchObject({ value: String(writes) });
    };
    for (const member of members) {
      for (let i = 0; i < 10; i += 1) await write();
      onTestFinished(() => member.resume());
      await take(member);
      for (let i = 0; i < 10; i += 1) await write();
      bring(member);
      const one = `${member.url}/health`;
      await until('the member to be back', async () => (await fetch(one, { signal: AbortSignal.timeout(500) })).ok);
    }
    await until('all commits to be told', () => events.length === writes, { describe: () => events.length });
    expect(events.map(({ puts }) => Number(puts[0]?.value))).toEqual(Array.from({ length: writes }, (__, i) => i + 1));
    await client.kv.range({ key: Buffer.from('any') });
  });

  test('two that are gone make every call fail within two seconds, and when one is back all goes on', async () => {
    const { members, urls } = cluster();
    const { store } = await open(urls, newPrefix());
    await store.commit(put('a', '1'));
    const { events } = follow(store, 0);
    const gone = members.slice(1);
    onTestFinished(() => {
      for (const member of gone) member.resume();
    });
    for (const member of gone) member.pause();
    // One that stands still finishes what it is about first.
    await until('the quorum to be gone', () =>
      store.head().then(
        () => false,
        () => true,
      ),
    );
    const begun = performance.now();
    const calls = [store.commit(put('a', '2')), store.get('a'), store.list(''), store.head()];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: slow });
    }
    expect(performance.now() - begun).toBeLessThan(2_000);
    for (const member of gone) member.resume();
    await until('writes to go on', async () => (await store.commit(put('a', '3'))).committed);
    await until('the watch to go on', () => events.at(-1)?.puts[0]?.value === '3');
  });
});

/** Nobody misses a leader before it is back, so that a test says how long the cluster is without one. */
describe('of three members that have no leader', () => {
  let late: EtcdCluster | Missing;
  let ids: readonly string[];
  const clients: Etcd3[] = [];

  beforeAll(async () => {
    const flags = ['--heartbeat-interval', '20', '--election-timeout', '10000'];
    late = await startEtcdCluster(join(folder, 'late'), 3, flags, undefined, 60_000);
    if ('missing' in late) return;
    clients.push(...late.urls.map((url) => new Etcd3({ hosts: url })));
    ids = await Promise.all(clients.map(async (client) => (await client.maintenance.status()).header.member_id));
  });

  afterAll(async () => {
    for (const client of clients) client.close();
    if ('stop' in late) await late.stop();
  });

  /** A store on the cluster; `silence` takes the leader, and then the others one by one. All are back after the test. */
  async function withLeader() {
    if ('missing' in late) throw new Error(late.missing);
    const { members, urls, client } = late;
    const prefix = newPrefix();
    const { store, notices } = await open(urls, prefix);
    await store.commit(put('a', 'before'));
    const { leader } = await (clients[0] as Etcd3).maintenance.status();
    const inOrder = members.toSorted((a, b) => rank(a) - rank(b));
    function rank(member: EtcdMember): number {
      return ids[members.indexOf(member)] === leader ? 0 : 1;
    }
    const resume = (): void => {
      for (const member of members) member.resume();
    };
    onTestFinished(resume);
    return { store, notices, prefix, client, resume, silence: () => inOrder.shift()?.pause() };
  }

  const since = (begun: number, ms: number) => until(`${ms} ms`, () => performance.now() - begun > ms, { everyMs: 20 });

  test('nothing fails for seconds, and what was written was written once', async () => {
    const { store, prefix, client, silence, resume } = await withLeader();
    silence();
    const begun = performance.now();
    const calls = [store.commit({ ...put('new', 'once'), checks: [{ key: 'new', modRevision: 0 }] }), store.get('a')];
    // One of the same key waits for the other, and as long.
    const next = store.commit(put('new', 'twice'));
    let ended = 0;
    for (const call of [...calls, next]) void call.catch(() => undefined).then(() => (ended += 1));
    await since(begun, 2_700);
    expect(ended).toBe(0);
    resume();
    expect(await Promise.all(calls)).toMatchObject([{ committed: true }, { value: 'before' }]);
    expect(await next).toMatchObject({ committed: true });
    expect(await standing(client, prefix, 'new')).toMatchObject({ value: 'twice', writes: 2 });
  });

  test('that is refused after five seconds, and from then on within two', async () => {
    const { store, notices, prefix, client, silence, resume } = await withLeader();
    silence();
    const begun = performance.now();
    const one = put('new', 'late');
    await expect(store.commit(one)).rejects.toMatchObject(slow);
    const first = performance.now() - begun;
    expect(first).toBeGreaterThan(4_000);
    expect(first).toBeLessThan(6_000);
    const again = performance.now();
    const calls = await Promise.allSettled([store.commit(put('b', '1')), store.get('a'), store.head(), store.list('')]);
    expect(calls).toMatchObject(calls.map(() => ({ status: 'rejected', reason: slow })));
    expect(performance.now() - again).toBeLessThan(2_000);
    resume();
    await until('both to be settled', () => notices.filter(({ event }) => event === 'outcome_settled').length === 2);
    // Written or not, and no conflict with itself; asked again it is written for certain.
    expect(await store.commit(one)).toMatchObject({ committed: true });
    expect(await standing(client, prefix, 'new')).toMatchObject({ value: 'late', writes: 1 });
  });

  test('nothing is waited for any more when a second one stands still', async () => {
    const { store, silence } = await withLeader();
    silence();
    const begun = performance.now();
    const call = store.commit(put('new', '1')).catch((error: unknown) => error);
    await since(begun, 2_500);
    silence();
    const goneAt = performance.now();
    expect(await call).toMatchObject(slow);
    expect(performance.now() - goneAt).toBeLessThan(2_000);
  });
});

describe('an election', () => {
  const never = new AbortController().signal;
  const read = async (store: Store) => (await store.get(leaderKey))?.value;

  test('has one winner, whose place the next one gets when it resigns', async () => {
    const prefix = newPrefix();
    const stores = await Promise.all(cluster().urls.map(async (url) => (await open([url], prefix)).store));
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const won: { name: string; leadership: Leadership }[] = [];
    const campaigns = stores.map(async (store, i) => {
      const leadership = await store.election?.campaign(`candidate ${i}`, stop.signal);
      if (leadership !== undefined) won.push({ name: `candidate ${i}`, leadership });
    });
    for (let terms = 1; terms <= stores.length; terms += 1) {
      await until('a leader', () => won.length === terms);
      const { name, leadership } = won.at(-1) as (typeof won)[number];
      expect(await read(stores[0] as Store)).toBe(name);
      expect(leadership.lost.aborted).toBe(false);
      await leadership.resign();
      expect(leadership.lost.aborted).toBe(true);
    }
    await Promise.all(campaigns);
    const terms = won.map(({ leadership }) => leadership.term);
    expect(terms).toEqual(terms.toSorted((a, b) => a - b));
    expect(new Set(won.map(({ name }) => name)).size).toBe(stores.length);
  });

  test('fences what a former leader still writes', async () => {
    const prefix = newPrefix();
    const { store } = await open(cluster().urls, prefix);
    const first = await store.election?.campaign('first', never);
    const write = (leadership: Leadership | undefined, value: string) =>
      store.commit({ ...put('plan/a', value), checks: leadership?.fence ?? [] });
    expect(await write(first, '1')).toMatchObject({ committed: true });
    await first?.resign();
    expect(await write(first, '2')).toMatchObject({ committed: false, failed: [{ key: leaderKey, entry: undefined }] });
    const second = await store.election?.campaign('second', never);
    onTestFinished(() => second?.resign());
    expect(await write(first, '3')).toMatchObject({ committed: false, failed: [{ key: leaderKey }] });
    expect(await write(second, '4')).toMatchObject({ committed: true });
  });

  test('fences what was on its way when the term ended, however late it arrives', async () => {
    const { proxy, prefix, store, notices } = await behindProxy();
    const first = await store.election?.campaign('first', never);
    expect(await store.commit({ ...put('plan/a', '1'), checks: first?.fence ?? [] })).toMatchObject({
      committed: true,
    });
    proxy.holdRequests(true);
    const late = store.commit({ ...put('plan/a', 'late'), checks: first?.fence ?? [] });
    await expect(late).rejects.toMatchObject(slow);
    const { store: other } = await open(cluster().urls, prefix);
    const second = await other.election?.campaign('second', never);
    onTestFinished(() => second?.resign());
    expect(await other.commit({ ...put('plan/a', '2'), checks: second?.fence ?? [] })).toMatchObject({
      committed: true,
    });
    proxy.holdRequests(false);
    await until('etcd to have heard all of it', () => notices.some(({ event }) => event === 'outcome_settled'));
    expect(await standing(cluster().client, prefix, 'plan/a')).toMatchObject({ value: '2', writes: 2 });
  });

  test('is lost by who is cut off, before another wins it', async () => {
    const { proxy, prefix, store } = await behindProxy();
    const first = await store.election?.campaign('first', never);
    if (first === undefined) throw new Error('no election');
    const lostAt = new Promise<number>((resolve) => {
      first.lost.addEventListener('abort', () => resolve(performance.now()));
    });
    const { store: other } = await open(cluster().urls, prefix);
    proxy.target(1);
    proxy.cut();
    const second = await other.election?.campaign('second', never);
    const wonAt = performance.now();
    onTestFinished(() => second?.resign());
    expect(await lostAt).toBeLessThan(wonAt);
    expect(second?.term).toBeGreaterThan(first.term);
  });

  test('is kept over a slow network and the loss of a member', async () => {
    const { proxy, store } = await behindProxy();
    proxy.delay(250);
    const { store: other } = await open(cluster().urls, newPrefix());
    const leaders = [await store.election?.campaign('slow', never), await other.election?.campaign('other', never)];
    onTestFinished(() => Promise.all(leaders.map((leader) => leader?.resign())).then(() => undefined));
    const last = cluster().members.at(-1) as EtcdMember;
    await last.kill();
    last.restart();
    // Longer than a lease lives that is not renewed.
    const begun = performance.now();
    await until('more than a lease', () => performance.now() - begun > 4_000, { everyMs: 100 });
    expect(leaders.map((leader) => leader?.lost.aborted)).toEqual([false, false]);
  });
});
