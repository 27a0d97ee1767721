import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createWaiting } from '../../../src/control/waiting.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const limits = { timeoutMs: 1000 };

describe('waiting for a revision', () => {
  test('ends at once where it is reached', async () => {
    const waiting = createWaiting();
    waiting.reached(5);
    await waiting.until(5, limits);
    await waiting.until(0, limits);
  });

  test('ends when it or a later one is reached, for each who waits', async () => {
    const waiting = createWaiting();
    const ended: number[] = [];
    const all = [3, 1, 2, 2].map((revision) => waiting.until(revision, limits).then(() => ended.push(revision)));
    waiting.reached(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(ended.toSorted()).toEqual([1, 2, 2]);
    waiting.reached(7);
    await Promise.all(all);
    expect(ended).toHaveLength(4);
  });

  test('fails after its time, and says where the controller is', async () => {
    const waiting = createWaiting();
    waiting.reached(2);
    const failed = expect(waiting.until(3, limits)).rejects.toMatchObject({
      code: 'RevisionTimeout',
      message: 'waiting for revision 3: this controller is at 2',
    });
    await vi.advanceTimersByTimeAsync(1000);
    await failed;
    waiting.reached(3);
  });

  test('fails with the reason of its signal, also of one that was aborted before', async () => {
    const waiting = createWaiting();
    const abort = new AbortController();
    const reason = new Error('the client is gone');
    const failed = expect(waiting.until(1, { ...limits, signal: abort.signal })).rejects.toBe(reason);
    abort.abort(reason);
    await failed;
    await expect(waiting.until(1, { ...limits, signal: abort.signal })).rejects.toBe(reason);
    waiting.reached(1);
    await waiting.until(1, { ...limits, signal: abort.signal });
  });

  test('a signal that is aborted after the end changes nothing', async () => {
    const waiting = createWaiting();
    const abort = new AbortController();
    const ended = waiting.until(1, { ...limits, signal: abort.signal });
    waiting.reached(1);
    abort.abort();
    await ended;
  });

  test('fails when it is closed, and from then on at once', async () => {
    const waiting = createWaiting();
    const failed = expect(waiting.until(1, limits)).rejects.toMatchObject({ code: 'NotReady' });
    waiting.close();
    await failed;
    await expect(waiting.until(2, limits)).rejects.toMatchObject({ code: 'NotReady' });
  });
});
