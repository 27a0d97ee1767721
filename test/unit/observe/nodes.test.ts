import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { objectKeyIn, specKey, storeKey } from '../../../src/model/index.ts';
import { createNodeObserver, type NodeObserver } from '../../../src/observe/index.ts';
import type { NodeRecord } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createFaultyStore, type FaultyStore, unavailable } from '../../support/mirrored.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => start + seconds * 1000;
const time = (seconds: number) => new Date(at(seconds)).toISOString();

let store: FaultyStore;
let nodes: NodeObserver;
let ids = 0;

function observer(): NodeObserver {
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  return createNodeObserver({ store, newId, log: createLogger({ level: 'silent' }) });
}

beforeEach(() => {
  vi.useFakeTimers();
  store = createFaultyStore();
  nodes = observer();
});

afterEach(async () => {
  await nodes.close();
  await store.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const said = { nodeId: 'lb-1', fleet: 'edge', version: '1.40.0' };
const proxy = { ...said, peer: '10.0.0.7:41234' };

/** Longer than the hold-off. */
const pause = () => vi.advanceTimersByTimeAsync(1000);

async function recordOf(name: string): Promise<NodeRecord | undefined> {
  const entry = await store.get(storeKey('node', name));
  return entry === undefined ? undefined : JSON.parse(entry.value);
}

async function registered(): Promise<string[]> {
  const { entries } = await store.list('spec/Node/');
  return entries.map(({ key }) => objectKeyIn('spec', key) ?? '');
}

/** What the observer of the next run finds. */
async function records(): Promise<Map<string, NodeRecord>> {
  const { entries } = await store.list(storeKey('node', ''));
  return new Map(entries.map(({ key, value }) => [objectKeyIn('node', key) ?? '', JSON.parse(value)]));
}

describe('a proxy that connects', () => {
  test('is registered with what it says of itself, in one commit', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    expect(await registered()).toEqual(['Node/lb-1']);
    expect(await recordOf('lb-1')).toEqual({ ...said, connected: true, since: time(0) });
    expect(store.commits).toBe(1);
  });

  test('whose id is no name gets one', async () => {
    nodes.connected({ ...proxy, nodeId: 'LB.1' }, at(0));
    await pause();
    expect(await registered()).toEqual([expect.stringMatching(/^Node\/lb-1-[a-z0-9]{8}$/)]);
  });

  test('and leaves is recorded as gone; when it comes back its Node is the same', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    const node = await store.get(specKey('Node/lb-1'));
    nodes.disconnected('lb-1', at(10));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ connected: false, since: time(10) });
    nodes.connected({ ...proxy, version: '1.41.0' }, at(20));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ connected: true, version: '1.41.0', since: time(20) });
    expect(await store.get(specKey('Node/lb-1'))).toEqual(node);
    expect(store.commits).toBe(3);
  });

  test('and is back within the hold-off leaves no trace', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    const { commits } = store;
    for (let n = 1; n <= 5; n += 1) {
      nodes.disconnected('lb-1', at(10 * n));
      await vi.advanceTimersByTimeAsync(40);
      nodes.connected(proxy, at(10 * n + 0.04));
    }
    await pause();
    expect(store.commits).toBe(commits);
    expect(await recordOf('lb-1')).toMatchObject({ connected: true, since: time(0) });
  });

  test('and is back as another version, or in another fleet, is told', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    nodes.disconnected('lb-1', at(10));
    nodes.connected({ ...proxy, fleet: 'core' }, at(11));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ fleet: 'core', connected: true, since: time(11) });
  });

  test('with a second stream is gone when both are', async () => {
    nodes.connected(proxy, at(0));
    nodes.connected(proxy, at(1));
    await pause();
    nodes.disconnected('lb-1', at(2));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ connected: true, since: time(0) });
    nodes.disconnected('lb-1', at(3));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ connected: false, since: time(3) });
  });

  test('among a thousand costs a part of a commit, and there are a few of these a second', async () => {
    for (let n = 0; n < 1000; n += 1) nodes.connected({ ...proxy, nodeId: `lb-${n}` }, at(0));
    await pause();
    expect(store.commits).toBeLessThan(8 + 4 + 1);
    await vi.advanceTimersByTimeAsync(7_000);
    expect((await records()).size).toBe(1000);
    const { commits } = store;
    expect(commits).toBe(Math.ceil(1000 / 32));
    for (let n = 0; n < 1000; n += 1) nodes.disconnected(`lb-${n}`, at(1));
    for (let n = 0; n < 1000; n += 1) nodes.connected({ ...proxy, nodeId: `lb-${n}` }, at(2));
    await pause();
    expect(store.commits).toBe(commits);
  });

  test('among others that have Nodes already, or were deleted, is decided by itself', async () => {
    const ten = Array.from({ length: 10 }, (_, n) => `lb-${n}`);
    for (const nodeId of ten.slice(0, 5)) nodes.connected({ ...proxy, nodeId }, at(0));
    await pause();
    await store.commit({ id: 'delete', checks: [], puts: [], deletes: [specKey('Node/lb-3')] });
    for (const nodeId of ten.slice(0, 5)) nodes.disconnected(nodeId, at(1));
    await pause();
    await nodes.close();
    nodes = observer();
    for (const nodeId of ten) nodes.connected({ ...proxy, nodeId }, at(2));
    await vi.advanceTimersByTimeAsync(7_000);
    expect(await registered()).toEqual(ten.map((name) => `Node/${name}`));
    expect([...(await records()).values()].filter(({ connected }) => connected)).toHaveLength(10);
  });

  test('is registered as soon as the store is back', async () => {
    store.fail('commit', unavailable, 3);
    nodes.connected(proxy, at(0));
    nodes.connected({ ...proxy, nodeId: 'lb-2' }, at(0));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await registered()).toEqual(['Node/lb-1', 'Node/lb-2']);
  });
});

describe('a Node that is deleted', () => {
  async function deleteNode(): Promise<void> {
    await store.commit({ id: 'delete', checks: [], puts: [], deletes: [specKey('Node/lb-1')] });
    nodes.deleted('lb-1');
    await pause();
  }

  test('while its proxy is connected is registered anew', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    const before = await store.get(specKey('Node/lb-1'));
    await deleteNode();
    const after = await store.get(specKey('Node/lb-1'));
    expect(after).toBeDefined();
    expect(after?.createRevision).toBeGreaterThan(before?.createRevision ?? 0);
    expect(await recordOf('lb-1')).toMatchObject({ connected: true });
  });

  test('while it is not stays away, with its record, until the proxy connects again', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    nodes.disconnected('lb-1', at(1));
    await pause();
    await deleteNode();
    expect(await registered()).toEqual([]);
    expect(await recordOf('lb-1')).toBeUndefined();
    nodes.connected(proxy, at(10));
    await pause();
    expect(await registered()).toEqual(['Node/lb-1']);
    expect(await recordOf('lb-1')).toMatchObject({ connected: true, since: time(10) });
  });

  test('just before its proxy leaves does not come back by that', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    await store.commit({
      id: 'delete',
      checks: [],
      puts: [],
      deletes: [specKey('Node/lb-1'), storeKey('node', 'lb-1')],
    });
    nodes.disconnected('lb-1', at(1));
    await pause();
    expect(await registered()).toEqual([]);
    expect(await recordOf('lb-1')).toBeUndefined();
  });

  test('comes back with a proxy that connects before the deletion was heard of', async () => {
    nodes.connected(proxy, at(0));
    await pause();
    await store.commit({ id: 'delete', checks: [], puts: [], deletes: [specKey('Node/lb-1')] });
    nodes.disconnected('lb-1', at(1));
    await pause();
    nodes.connected(proxy, at(2));
    await pause();
    expect(await registered()).toEqual(['Node/lb-1']);
  });
});

describe('after a restart', () => {
  async function restart(): Promise<void> {
    await nodes.close();
    nodes = observer();
    nodes.reset(await records(), at(100));
  }

  beforeEach(async () => {
    nodes.connected(proxy, at(0));
    nodes.connected({ ...proxy, nodeId: 'lb-2' }, at(0));
    await pause();
  });

  test('proxies that come back within half a minute were never away', async () => {
    const { commits } = store;
    await restart();
    await vi.advanceTimersByTimeAsync(20_000);
    nodes.connected(proxy, at(120));
    nodes.connected({ ...proxy, nodeId: 'lb-2' }, at(120));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(store.commits).toBe(commits);
    expect(await recordOf('lb-1')).toMatchObject({ connected: true, since: time(0) });
  });

  test('those that do not are gone since the restart', async () => {
    await restart();
    nodes.connected(proxy, at(101));
    await vi.advanceTimersByTimeAsync(29_000);
    expect(await recordOf('lb-2')).toMatchObject({ connected: true });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await recordOf('lb-1')).toMatchObject({ connected: true, since: time(0) });
    expect(await recordOf('lb-2')).toMatchObject({ connected: false, since: time(100) });
  });

  test('one that came back and left in that time is gone since it left', async () => {
    await restart();
    nodes.connected(proxy, at(101));
    nodes.disconnected('lb-1', at(105));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await recordOf('lb-1')).toMatchObject({ connected: false, since: time(105) });
  });

  test('what was gone before stays as it was', async () => {
    nodes.disconnected('lb-1', at(50));
    await pause();
    await restart();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await recordOf('lb-1')).toMatchObject({ connected: false, since: time(50) });
  });
});

describe('with other controllers', () => {
  let here: NodeObserver;

  const observerOf = (controller: string) => {
    let id = 0;
    const newId = () => {
      id += 1;
      return `${controller}-${id}`;
    };
    return createNodeObserver({ store, controller, newId, log: createLogger({ level: 'silent' }) });
  };
  /** The other one writes, as its own observer would. */
  const elsewhere = async (record: Partial<NodeRecord>): Promise<NodeRecord> => {
    const value: NodeRecord = { ...proxy, connected: true, since: time(5), controller: 'b', ...record };
    ids += 1;
    const puts = [{ key: storeKey('node', 'lb-1'), value: JSON.stringify(value) }];
    await store.commit({ id: `elsewhere-${ids}`, checks: [], puts, deletes: [] });
    return value;
  };

  beforeEach(async () => {
    here = observerOf('a');
    here.connected(proxy, at(0));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ controller: 'a', connected: true });
  });

  afterEach(() => here.close());

  test('a proxy that has moved is not gone because its old stream is', async () => {
    const moved = await elsewhere({});
    here.disconnected('lb-1', at(6));
    await pause();
    expect(await recordOf('lb-1')).toEqual(moved);
  });

  test('one that leaves in fact is gone', async () => {
    here.disconnected('lb-1', at(6));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ controller: 'a', connected: false, since: time(6) });
  });

  test('one that has moved away and back is said to be here, also when nothing else has changed', async () => {
    here.told('lb-1', await elsewhere({}));
    here.disconnected('lb-1', at(6));
    await pause();
    here.connected(proxy, at(7));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ controller: 'a', connected: true });
  });

  test('one that another has lost is still here', async () => {
    here.told('lb-1', await elsewhere({ connected: false }));
    await pause();
    expect(await recordOf('lb-1')).toMatchObject({ controller: 'a', connected: true });
  });

  test('one that both have stays with the other: they do not fight for it', async () => {
    const { commits } = store;
    const moved = await elsewhere({});
    here.told('lb-1', moved);
    await pause();
    expect(await recordOf('lb-1')).toEqual(moved);
    expect(store.commits).toBe(commits + 1);
  });

  test('what another run recorded is taken for gone only where it was this controller', async () => {
    await elsewhere({});
    const next = observerOf('a');
    next.reset(await records(), at(8));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await recordOf('lb-1')).toMatchObject({ controller: 'b', connected: true });
    await next.close();
  });
});
