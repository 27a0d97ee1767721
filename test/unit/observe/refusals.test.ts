import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { storeKey } from '../../../src/model/index.ts';
import { createRefusalObserver, type Refusal, type RefusalObserver } from '../../../src/observe/index.ts';
import { decodeRejection, maxEarlier, type Rejection, rejectionKey, type Suspect } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createFaultyStore, type FaultyStore, unavailable } from '../../support/mirrored.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const time = (seconds: number) => new Date(start + seconds * 1000).toISOString();

let store: FaultyStore;
let refusals: RefusalObserver;
let ids = 0;

function observer(): RefusalObserver {
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  return createRefusalObserver({ store, newId, log: createLogger({ level: 'silent' }) });
}

beforeEach(() => {
  vi.useFakeTimers();
  store = createFaultyStore();
  refusals = observer();
});

afterEach(async () => {
  await refusals.close();
  await store.close();
  vi.useRealTimers();
});

const key = 'Cluster/default/p';

function refusal(rest: Partial<Refusal> = {}): Refusal {
  return {
    node: 'a',
    type: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
    name: 'default/p',
    hash: 'one',
    revision: 10,
    version: 'envoy 1.40.0',
    words: 'bad',
    accepted: { hash: 'good', revision: 5 },
    suspects: [suspect('p')],
    ...rest,
  };
}

function suspect(name: string, rest: Partial<Suspect> = {}): Suspect {
  return { unit: `BackendPool/default/${name}`, uid: name, refused: 2, good: 1, ...rest };
}

const pause = () => vi.advanceTimersByTimeAsync(1000);

async function record(): Promise<Rejection | undefined> {
  const entry = await store.get(storeKey('rejection', key));
  return entry === undefined ? undefined : decodeRejection(entry.value);
}

test('a record stands under the short name of its type and the name', () => {
  expect(rejectionKey('type.googleapis.com/envoy.config.cluster.v3.Cluster', 'default/p')).toBe(key);
});

describe('refusals of one form', () => {
  test('are one record, which counts proxies and times', async () => {
    refusals.refused(refusal(), start);
    await pause();
    expect(await record()).toMatchObject({ nodes: ['a'], nodeCount: 1, count: 1, first: time(0), last: time(0) });
    refusals.refused(refusal({ words: 'worse' }), start + 5000);
    refusals.refused(refusal({ node: 'b' }), start + 6000);
    await pause();
    expect(await record()).toMatchObject({
      hash: 'one',
      words: 'bad',
      nodes: ['a', 'b'],
      nodeCount: 2,
      count: 3,
      first: time(0),
      last: time(6),
    });
  });

  test('by a thousand proxies at once are one write', async () => {
    for (let n = 0; n < 1000; n += 1) refusals.refused(refusal({ node: `n${n}` }), start);
    await pause();
    expect(store.commits).toBe(1);
    const found = await record();
    expect(found).toMatchObject({ nodeCount: 1000, count: 1000 });
    expect(found?.nodes).toHaveLength(10);
  });

  test('count each proxy once, also beyond those that are named', async () => {
    for (let times = 0; times < 3; times += 1) {
      for (let n = 0; n < 20; n += 1) refusals.refused(refusal({ node: `n${n}` }), start);
    }
    await pause();
    expect(await record()).toMatchObject({ nodeCount: 20, count: 60 });
  });

  test('name all that proxies run', async () => {
    refusals.refused(refusal(), start);
    refusals.refused(refusal({ node: 'b', version: 'envoy 1.39.0' }), start);
    await pause();
    expect(await record()).toMatchObject({ versions: ['envoy 1.39.0', 'envoy 1.40.0'] });
  });

  test('that was told of without a proxy count none', async () => {
    refusals.refused(refusal({ node: undefined }), start);
    await pause();
    expect(await record()).toMatchObject({ nodes: [], nodeCount: 0, count: 0 });
  });

  test('in a later configuration are laid at what changed since then', async () => {
    refusals.refused(refusal({ suspects: [suspect('p'), suspect('q')] }), start);
    refusals.refused(refusal({ node: 'b', suspects: [suspect('q')] }), start);
    await pause();
    expect(await record()).toMatchObject({ revision: 10, suspects: [suspect('p'), suspect('q')] });
    refusals.refused(refusal({ revision: 12, suspects: [suspect('q')] }), start);
    await pause();
    expect(await record()).toMatchObject({ revision: 12, suspects: [suspect('q')] });
  });
});

describe('what is accepted of a refused resource', () => {
  const acceptance = {
    type: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
    name: 'default/p',
    hash: 'two',
    revision: 11,
    version: 'envoy 1.40.0',
    acquitted: false,
  };

  test('is noted, the newest of it', async () => {
    refusals.refused(refusal(), start);
    await pause();
    expect(await record()).toMatchObject({ accepted: { hash: 'good', revision: 5 } });
    refusals.accepted(acceptance);
    refusals.accepted({ ...acceptance, hash: 'old', revision: 9 });
    await pause();
    expect(await record()).toMatchObject({ accepted: { hash: 'two', revision: 11 }, acquitted: false });
    refusals.refused(refusal({ hash: 'three', revision: 12 }), start);
    await pause();
    expect(await record()).toMatchObject({ hash: 'three', accepted: { hash: 'two' } });
  });

  test('acquits the refused form when a proxy accepts that after all, unless others run something else', async () => {
    refusals.refused(refusal(), start);
    refusals.accepted({ ...acceptance, hash: 'one', acquitted: true });
    await pause();
    expect(await record()).toMatchObject({ acquitted: true });
    refusals.refused(refusal({ hash: 'three', revision: 12 }), start);
    refusals.refused(refusal({ hash: 'three', revision: 12, version: 'envoy 1.39.0' }), start);
    refusals.accepted({ ...acceptance, hash: 'three', revision: 12, acquitted: true });
    await pause();
    expect(await record()).toMatchObject({ acquitted: false });
  });

  test('is no matter where nothing was refused', async () => {
    refusals.accepted(acceptance);
    await pause();
    expect(store.commits).toBe(0);
  });
});

describe('another form of the resource', () => {
  test('is counted anew, and the former one remembered', async () => {
    refusals.refused(refusal({ suspects: [suspect('p'), suspect('q')] }), start);
    refusals.refused(refusal({ node: 'b' }), start);
    const after = refusal({ hash: 'two', revision: 11, node: 'c', suspects: [suspect('q', { refused: 3 })] });
    refusals.refused(after, start + 1000);
    await pause();
    expect(await record()).toMatchObject({
      hash: 'two',
      nodes: ['c'],
      nodeCount: 1,
      count: 1,
      first: time(1),
      earlier: ['one'],
      suspects: [suspect('q', { refused: 3 })],
    });
  });

  test('that is older, refused by a proxy that lags, changes nothing', async () => {
    refusals.refused(refusal(), start);
    refusals.refused(refusal({ hash: 'zero', revision: 9, node: 'b' }), start);
    await pause();
    expect(await record()).toMatchObject({ hash: 'one', nodes: ['a'], earlier: [] });
  });

  test('of many only the last are remembered', async () => {
    for (let n = 0; n < 2 * maxEarlier; n += 1) refusals.refused(refusal({ hash: `h${n}`, revision: n }), start);
    await pause();
    expect((await record())?.earlier).toHaveLength(maxEarlier);
  });

  test('does not touch other resources', async () => {
    refusals.refused(refusal(), start);
    refusals.refused(refusal({ name: 'default/other', hash: 'two' }), start);
    await pause();
    expect(await record()).toMatchObject({ hash: 'one' });
    expect((await store.list(storeKey('rejection', ''))).entries).toHaveLength(2);
  });
});

describe('records', () => {
  test('go on after a restart', async () => {
    refusals.refused(refusal(), start);
    await pause();
    const before = await record();
    await refusals.close();
    refusals = observer();
    if (before !== undefined) refusals.reset([{ record: before, pieces: 1 }]);
    refusals.refused(refusal(), start + 1000);
    refusals.refused(refusal({ node: 'b' }), start + 2000);
    await pause();
    expect(await record()).toMatchObject({ nodeCount: 2, count: 3, first: time(0), last: time(2) });
  });

  test('begin anew when they were over, also with the same form', async () => {
    refusals.refused(refusal({ suspects: [suspect('p'), suspect('q')] }), start);
    await pause();
    const over = (await record()) as Rejection;
    await store.commit({ id: 'over', checks: [], puts: [], deletes: [storeKey('rejection', key)] });
    refusals.over(over);
    refusals.refused(refusal(), start + 1000);
    await pause();
    expect(await record()).toMatchObject({ count: 1, first: time(1), suspects: [suspect('p')] });
  });

  test('are written as soon as the store is back', async () => {
    store.fail('commit', unavailable, 2);
    refusals.refused(refusal(), start);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await record()).toMatchObject({ count: 1 });
  });

  test('of thousands of suspects take up several values, and fewer again', async () => {
    const many = Array.from({ length: 6_000 }, (_, n) => suspect(`pool-${n}-with-a-name-of-some-length`));
    refusals.refused(refusal({ suspects: many }), start);
    await pause();
    const { entries } = await store.list(storeKey('rejection', key));
    expect(entries.length).toBeGreaterThan(1);
    refusals.refused(refusal({ hash: 'two', revision: 11, suspects: many.slice(0, 5) }), start);
    await pause();
    expect((await store.list(storeKey('rejection', key))).entries).toHaveLength(1);
    expect((await record())?.suspects).toHaveLength(5);
  });
});

describe('what another controller has recorded', () => {
  const stored = async () => {
    const entry = await store.get(storeKey('rejection', key));
    const revision = entry?.modRevision ?? 0;
    return new Map([[key, { record: decodeRejection(entry?.value ?? ''), revision, pieces: 1 }]]);
  };

  test('is kept, and named together with what is seen here', async () => {
    refusals.refused(refusal({ node: 'a' }), start);
    await pause();
    const own = (await record()) as Rejection;
    const other = observer();
    other.refused(refusal({ node: 'b' }), start + 1000);
    await pause();
    await other.close();
    refusals.told(await stored());
    await pause();
    expect(await record()).toMatchObject({ nodes: ['a', 'b'], nodeCount: 2, first: time(0), last: time(1) });
    expect(own.nodes).toEqual(['a']);
  });

  test('is not written again when it says all', async () => {
    refusals.refused(refusal(), start);
    await pause();
    const { commits } = store;
    refusals.told(await stored());
    await pause();
    expect(store.commits).toBe(commits);
    refusals.refused(refusal({ node: 'b' }), start + 2000);
    await pause();
    expect(await record()).toMatchObject({ nodes: ['a', 'b'], count: 2 });
  });
});
