import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type CatchUp, createCatchUp } from '../../../src/server/catch-up.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import type { HubStream, Trust } from '../../../src/xds/index.ts';

// Time stands still unless the test moves it; promises settle in between.

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

interface Read {
  resolve(revision: number): void;
  reject(): void;
}

function setUp() {
  const reads: Read[] = [];
  const waits = new Map<number, { resolve: () => void; reject: () => void }>();
  const elsewhere: HubStream[] = [];
  const catchUp: CatchUp = createCatchUp({
    head: () =>
      new Promise((resolve, reject) => reads.push({ resolve, reject: () => reject(new Error('out of reach')) })),
    reached: (revision) =>
      new Promise((resolve, reject) => waits.set(revision, { resolve, reject: () => reject(new Error('too late')) })),
    sendElsewhere: (stream) => elsewhere.push(stream),
    log: createLogger({ level: 'silent' }),
    random: () => 0.5,
  });
  return { reads, waits, elsewhere, catchUp };
}

function stream(): HubStream & { readonly trusts: Trust[] } {
  const trusts: Trust[] = [];
  return {
    id: '1',
    trusts,
    receive: () => undefined,
    setWritable: () => {},
    setTrust: (trust) => trusts.push(trust),
    close: () => {},
  };
}

const settled = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

it('rule 34: a stream is served once what the store had when it opened is reached', async () => {
  const { reads, waits, catchUp } = setUp();
  const one = stream();
  catchUp.add(one);
  reads[0]?.resolve(7);
  await settled();
  expect(one.trusts).toEqual([]);
  waits.get(7)?.resolve();
  await settled();
  expect(one.trusts).toEqual(['complete']);
});

it('rule 34: those that open while the store is read share the next read', async () => {
  const { reads, waits, catchUp } = setUp();
  const streams = Array.from({ length: 100 }, stream);
  for (const one of streams) catchUp.add(one);
  expect(reads).toHaveLength(1);
  reads[0]?.resolve(7);
  await settled();
  // The first read may be older than the 99 that came after it began.
  expect(reads).toHaveLength(2);
  reads[1]?.resolve(8);
  await settled();
  waits.get(7)?.resolve();
  await settled();
  expect(streams.map(({ trusts }) => trusts.length)).toEqual([1, ...Array(99).fill(0)]);
  waits.get(8)?.resolve();
  await settled();
  expect(new Set(streams.flatMap(({ trusts }) => trusts))).toEqual(new Set(['complete']));
  expect(reads).toHaveLength(2);
});

it('rule 34: additions after two seconds without a word of the store, all once it answers', async () => {
  const { reads, waits, catchUp } = setUp();
  const [one, late] = [stream(), stream()];
  catchUp.add(one);
  await settled(1_999);
  expect(one.trusts).toEqual([]);
  await settled(1);
  expect(one.trusts).toEqual(['additions']);
  catchUp.add(late);
  await settled(2_000);
  expect(late.trusts).toEqual(['additions']);
  const last = stream();
  catchUp.add(last);
  expect(last.trusts).toEqual(['additions']);
  reads[0]?.resolve(7);
  await settled();
  reads[1]?.resolve(7);
  await settled();
  waits.get(7)?.resolve();
  await settled();
  expect(late.trusts).toEqual(['additions', 'complete']);
});

it('reads again after failures, without hurry', async () => {
  const { reads, waits, catchUp } = setUp();
  const one = stream();
  catchUp.add(one);
  for (let at = 0; at < 5; at++) {
    reads[at]?.reject();
    await settled(10_000);
  }
  expect(reads).toHaveLength(6);
  reads[5]?.resolve(7);
  await settled();
  waits.get(7)?.resolve();
  await settled();
  expect(one.trusts).toEqual(['additions', 'complete']);
});

it('rule 40: sends elsewhere who waits for a controller that does not catch up', async () => {
  const { reads, waits, elsewhere, catchUp } = setUp();
  const [one, gone] = [stream(), stream()];
  catchUp.add(one);
  reads[0]?.resolve(7);
  await settled();
  catchUp.add(gone);
  reads[1]?.resolve(8);
  await settled();
  catchUp.remove(gone);
  waits.get(7)?.reject();
  waits.get(8)?.reject();
  await settled();
  expect(elsewhere).toEqual([one]);
});

it('rule 42: keeps no stream that closed', async () => {
  const { reads, waits, catchUp } = setUp();
  const one = stream();
  catchUp.add(one);
  catchUp.remove(one);
  await settled(5_000);
  reads[0]?.resolve(7);
  await settled();
  waits.get(7)?.resolve();
  await settled();
  expect(one.trusts).toEqual([]);
});

it('leaves no timer behind when it closes', async () => {
  const { reads, catchUp } = setUp();
  catchUp.add(stream());
  reads[0]?.reject();
  await settled();
  catchUp.add(stream());
  catchUp.close();
  await settled();
  expect(vi.getTimerCount()).toBe(0);
});
