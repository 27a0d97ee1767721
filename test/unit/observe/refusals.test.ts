import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { storeKey } from '../../../src/model/index.ts';
import { createRefusalObserver, type Refusal, type RefusalObserver } from '../../../src/observe/index.ts';
import { type Rejection, rejectionKey, type Suspect } from '../../../src/status/index.ts';
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
    words: 'bad',
    scope: 'convicted',
    suspects: [suspect('p')],
    ...rest,
  };
}

function suspect(name: string, rest: Partial<Suspect> = {}): Suspect {
  return { unit: `BackendPool/default/${name}`, uid: name, refused: 2, good: 1, words: 'bad', ...rest };
}

const pause = () => vi.advanceTimersByTimeAsync(1000);

async function record(): Promise<Rejection | undefined> {
  const entry = await store.get(storeKey('rejection', key));
  return entry === undefined ? undefined : JSON.parse(entry.value);
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

  test('take over the newest scope: what others accept after all is no longer convicted', async () => {
    refusals.refused(refusal(), start);
    refusals.refused(refusal({ node: 'b', scope: 'local' }), start);
    await pause();
    expect(await record()).toMatchObject({ scope: 'local' });
  });
});

describe('another form of the resource', () => {
  test('is counted anew, and keeps the suspects of the former one, with the newest word on each', async () => {
    refusals.refused(refusal({ suspects: [suspect('p'), suspect('q')] }), start);
    refusals.refused(refusal({ node: 'b' }), start);
    refusals.refused(
      refusal({ hash: 'two', node: 'c', suspects: [suspect('q', { refused: 3, words: 'still bad' })] }),
      start + 1000,
    );
    await pause();
    expect(await record()).toMatchObject({
      hash: 'two',
      nodes: ['c'],
      nodeCount: 1,
      count: 1,
      first: time(1),
      suspects: [suspect('p'), suspect('q', { refused: 3, words: 'still bad' })],
    });
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
    if (before !== undefined) refusals.reset(new Map([[key, before]]));
    refusals.refused(refusal(), start + 1000);
    refusals.refused(refusal({ node: 'b' }), start + 2000);
    await pause();
    expect(await record()).toMatchObject({ nodeCount: 2, count: 3, first: time(0), last: time(2) });
  });

  test('begin anew when they were over, also with the same form', async () => {
    refusals.refused(refusal({ suspects: [suspect('p'), suspect('q')] }), start);
    await pause();
    await store.commit({ id: 'over', checks: [], puts: [], deletes: [storeKey('rejection', key)] });
    refusals.over(key);
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
});
