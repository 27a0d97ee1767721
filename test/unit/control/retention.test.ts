import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRetention, type Retention, type RetentionLimits } from '../../../src/control/index.ts';
import { storeKey } from '../../../src/model/index.ts';
import type { EventRecord } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createMirrored, type Mirrored, unavailable } from '../../support/mirrored.ts';

const start = Date.UTC(2030, 0, 10);
const dayMs = 24 * 3_600_000;
const limits: RetentionLimits = { audit: { auditWrite: 10, auditRefusal: 3 }, auditAgeMs: 5 * dayMs, events: 4 };

let rig: Mirrored;
let retention: Retention;
let now: number;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  now = start;
  rig = createMirrored();
  await rig.mirror.start();
  let ids = 0;
  retention = createRetention({
    mirror: rig.mirror,
    store: rig.store,
    limits,
    now: () => now,
    newId: () => `retention-${++ids}`,
    log: createLogger({ level: 'silent' }),
  });
});

afterEach(async () => {
  await retention.close();
  await rig.close();
  vi.useRealTimers();
});

const timeOf = (secondsAgo: number) => new Date(start - secondsAgo * 1000).toISOString();

async function addRecords(kind: 'auditWrite' | 'auditRefusal', secondsAgo: readonly number[]): Promise<void> {
  await rig.commit(Object.fromEntries(secondsAgo.map((ago) => [storeKey(kind, `${timeOf(ago)}-x`), {}])));
}

async function addEvents(secondsAgo: readonly number[]): Promise<void> {
  const puts = secondsAgo.map((ago, n) => {
    const event: Partial<EventRecord> = { object: `Node/lb-${n}`, last: timeOf(ago) };
    return [storeKey('event', `e${n}`), event] as const;
  });
  await rig.commit(Object.fromEntries(puts));
}

/** What is left in the store, below a prefix. */
async function left(prefix: string): Promise<string[]> {
  return (await rig.store.list(prefix)).entries.map(({ key }) => key.slice(prefix.length));
}

async function tidy(): Promise<void> {
  await rig.settled();
  retention.nudge();
  await vi.advanceTimersByTimeAsync(2_000);
  await rig.settled();
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('takes the oldest records of what is too much, of writes and of refusals each by themselves', async () => {
  await addRecords('auditWrite', range(1, 12).toReversed());
  await addRecords('auditRefusal', range(1, 5).toReversed());
  await tidy();
  expect(await left('audit/write/')).toEqual(
    range(1, 10)
      .toReversed()
      .map((ago) => `${timeOf(ago)}-x`),
  );
  expect(await left('audit/refusal/')).toEqual(
    range(1, 3)
      .toReversed()
      .map((ago) => `${timeOf(ago)}-x`),
  );
});

test('leaves what is not too much', async () => {
  await addRecords('auditWrite', range(1, 10));
  await addEvents(range(1, 4));
  const before = await rig.store.head();
  await tidy();
  expect(await rig.store.head()).toBe(before);
});

test('takes what is too old, though nothing else happens', async () => {
  await addRecords('auditWrite', [10, 5]);
  now = start + 5 * dayMs - 7_000;
  await vi.advanceTimersByTimeAsync(602_000);
  await rig.settled();
  expect(await left('audit/write/')).toEqual([`${timeOf(5)}-x`]);
});

test('takes the events that have not come again for longest', async () => {
  await addEvents([60, 5, 50, 4, 3, 2]);
  await tidy();
  expect(await left('observed/event/')).toEqual(['e1', 'e3', 'e4', 'e5']);
});

test('takes thousands in commits that are not too large', async () => {
  for (let n = 0; n < 10; n += 1) await addRecords('auditWrite', range(100 * n + 1, 100 * n + 100));
  await tidy();
  expect(await left('audit/write/')).toHaveLength(10);
});

test('tries again when the store is away', async () => {
  await addRecords('auditWrite', range(1, 12));
  await rig.settled();
  rig.store.fail('commit', unavailable, 2);
  retention.nudge();
  await vi.advanceTimersByTimeAsync(20_000);
  await rig.settled();
  expect(await left('audit/write/')).toHaveLength(10);
});
