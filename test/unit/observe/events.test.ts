import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { objectKeyIn, storeKey } from '../../../src/model/index.ts';
import { createEventObserver, type EventObserver } from '../../../src/observe/index.ts';
import type { EventRecord, Happening } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createFaultyStore, type FaultyStore, unavailable } from '../../support/mirrored.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => start + seconds * 1000;
const time = (seconds: number) => new Date(at(seconds)).toISOString();

let store: FaultyStore;
let events: EventObserver;
let ids = 0;

function observer(replica = 'a'): EventObserver {
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  return createEventObserver({ store, newId, replica, log: createLogger({ level: 'silent' }) });
}

beforeEach(() => {
  vi.useFakeTimers();
  store = createFaultyStore();
  events = observer();
});

afterEach(async () => {
  await events.close();
  await store.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const lost: Happening = { object: 'Node/lb-1', reason: 'ProxyDisconnected', message: 'its stream has ended' };

/** Longer than the hold-off. */
const pause = (ms = 1000) => vi.advanceTimersByTimeAsync(ms);

async function stored(): Promise<Map<string, EventRecord>> {
  const { entries } = await store.list(storeKey('event', ''));
  return new Map(entries.map(({ key, value }) => [objectKeyIn('event', key) ?? '', JSON.parse(value)]));
}

const told = async () => [...(await stored()).values()];

describe('what happens', () => {
  test('is recorded with its object, type and time', async () => {
    events.happened(lost, at(0));
    await pause();
    expect(await told()).toEqual([
      { ...lost, type: 'Warning', count: 1, first: time(0), last: time(0), controller: 'a' },
    ]);
  });

  test('again is counted, and a burst of it is one write', async () => {
    for (let n = 0; n < 500; n += 1) events.happened(lost, at(n / 100));
    await pause();
    expect(await told()).toMatchObject([{ count: 500, first: time(0), last: time(4.99) }]);
    expect(store.commits).toBe(1);
    events.happened(lost, at(60));
    await pause();
    expect(await told()).toMatchObject([{ count: 501, last: time(60) }]);
  });

  test.each([
    ['to another object', { object: 'Node/lb-2' }],
    ['for another reason', { reason: 'ProxyConnected' as const }],
    ['in other words', { message: 'cut off' }],
  ])('%s is another event', async (_, other) => {
    events.happened(lost, at(0));
    events.happened({ ...lost, ...other }, at(0));
    await pause();
    expect((await told()).map(({ count }) => count)).toEqual([1, 1]);
  });

  test('after a long rest is another event', async () => {
    events.happened(lost, at(0));
    await pause();
    events.happened(lost, at(700));
    await pause();
    expect(await told()).toMatchObject([
      { count: 1, last: time(0) },
      { count: 1, first: time(700) },
    ]);
  });

  test('at a thousand proxies at once is a few writes a second', async () => {
    for (let n = 0; n < 1000; n += 1) events.happened({ ...lost, object: `Node/lb-${n}` }, at(0));
    await pause(1100);
    expect(store.commits).toBeLessThanOrEqual(3);
    await pause(6000);
    expect(await told()).toHaveLength(1000);
    expect(store.commits).toBe(10);
  });

  test('beyond all measure is counted as that', async () => {
    for (let n = 0; n < 5000; n += 1) events.happened({ ...lost, object: `Node/lb-${n}` }, at(0));
    await pause(20_000);
    const all = await told();
    expect(all).toHaveLength(2001);
    expect(all.find(({ reason }) => reason === 'EventsDropped')).toMatchObject({ object: 'Controller/a', count: 3000 });
  });

  test('in words of any length is cut', async () => {
    events.happened({ ...lost, message: `${'x'.repeat(999)}😀` }, at(0));
    await pause();
    expect((await told())[0]?.message).toHaveLength(1000);
  });
});

describe('a controller', () => {
  test('that starts again goes on counting its own events', async () => {
    events.happened(lost, at(0));
    await pause();
    await events.close();
    const before = await stored();
    events = observer();
    events.reset(before, at(10));
    events.happened(lost, at(11));
    await pause();
    expect(await told()).toMatchObject([{ count: 2, first: time(0), last: time(11) }]);
  });

  test('does not count in those of another', async () => {
    events.happened(lost, at(0));
    await pause();
    await events.close();
    events = observer('b');
    events.reset(await stored(), at(10));
    events.happened(lost, at(11));
    await pause();
    expect((await told()).map(({ controller, count }) => [controller, count])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  test('writes what waits when it stops, and nothing of what comes then', async () => {
    events.happened(lost, at(0));
    await events.close();
    events.happened({ ...lost, object: 'Node/lb-2' }, at(1));
    await events.close();
    expect((await told()).map(({ object }) => object)).toEqual(['Node/lb-1']);
  });

  test('keeps what it could not store, and stores it later', async () => {
    store.fail('commit', unavailable, 3);
    events.happened(lost, at(0));
    await pause();
    events.happened(lost, at(1));
    await pause(20_000);
    expect(await told()).toMatchObject([{ count: 2 }]);
  });
});
