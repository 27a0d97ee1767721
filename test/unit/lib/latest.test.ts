import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLatest } from '../../../src/lib/latest.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const noError = (error: unknown): never => {
  throw new Error('the task failed', { cause: error });
};

/** A task whose runs end when the test says so. */
function heldTask() {
  const ends: { done: () => void; failed: (error: Error) => void }[] = [];
  const starts: number[] = [];
  return {
    ends,
    starts,
    task: () => {
      starts.push(Date.now());
      return new Promise<void>((done, failed) => ends.push({ done, failed }));
    },
  };
}

async function microtasks(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await Promise.resolve();
}

describe('nudges', () => {
  test('within the hold-off merge into one run at its end', async () => {
    const task = vi.fn(async () => undefined);
    const latest = createLatest({ task, holdOffMs: 20, onError: noError });
    latest.nudge();
    await vi.advanceTimersByTimeAsync(19);
    latest.nudge();
    expect(task).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(task).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(task).toHaveBeenCalledTimes(1);
  });

  test('that come while it runs lead to one further run, a hold-off after the end', async () => {
    const { task, ends, starts } = heldTask();
    const latest = createLatest({ task, holdOffMs: 20, onError: noError });
    const begin = Date.now();
    latest.nudge();
    await vi.advanceTimersByTimeAsync(20);
    for (let n = 0; n < 5; n += 1) latest.nudge();
    await vi.advanceTimersByTimeAsync(80);
    expect(starts).toEqual([begin + 20]);
    ends[0]?.done();
    await vi.advanceTimersByTimeAsync(19);
    expect(starts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(starts).toEqual([begin + 20, begin + 120]);
    ends[1]?.done();
    await vi.advanceTimersByTimeAsync(1000);
    expect(starts).toHaveLength(2);
  });

  // The end of a task reaches `latest` some microtasks later: there is no depth at which a nudge may be lost.
  test.each(Array.from({ length: 12 }, (_, depth) => depth))(
    'are not lost %i microtasks after the end of a task',
    async (depth) => {
      const { task, ends, starts } = heldTask();
      const latest = createLatest({ task, holdOffMs: 20, onError: noError });
      latest.nudge();
      await vi.advanceTimersByTimeAsync(20);
      ends[0]?.done();
      await microtasks(depth);
      latest.nudge();
      await vi.advanceTimersByTimeAsync(21);
      expect(starts).toHaveLength(2);
    },
  );

  test.each(Array.from({ length: 12 }, (_, depth) => depth))(
    'never make two runs at once, %i microtasks after the end of a task either',
    async (depth) => {
      let under = 0;
      let most = 0;
      const ends: (() => void)[] = [];
      const task = async () => {
        under += 1;
        most = Math.max(most, under);
        await new Promise<void>((done) => ends.push(done));
        under -= 1;
      };
      const latest = createLatest({ task, holdOffMs: 0, onError: noError });
      for (let run = 0; run < 3; run += 1) {
        latest.nudge();
        await vi.advanceTimersByTimeAsync(1);
        latest.nudge();
        ends.shift()?.();
        await microtasks(depth);
        latest.nudge();
        await vi.advanceTimersByTimeAsync(1);
        ends.shift()?.();
      }
      expect(most).toBe(1);
    },
  );
});

describe('a run that fails', () => {
  test('is told and repeated by itself, after longer and longer pauses, until it succeeds', async () => {
    const starts: number[] = [];
    const errors: unknown[] = [];
    const task = async () => {
      starts.push(Date.now());
      if (starts.length < 4) throw new Error(`failure ${starts.length}`);
    };
    const latest = createLatest({ task, holdOffMs: 20, onError: (error) => errors.push(error) });
    latest.nudge();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(errors).toHaveLength(3);
    expect(starts).toHaveLength(4);
    const pauses = starts.slice(1).map((at, n) => at - (starts[n] as number));
    expect(pauses).toEqual([75, 150, 300]);
  });

  test('begins with the shortest pause again after a success', async () => {
    const starts: number[] = [];
    let fails = true;
    const latest = createLatest({
      task: async () => {
        starts.push(Date.now());
        if (fails) throw new Error('failure');
      },
      holdOffMs: 20,
      onError: () => undefined,
    });
    latest.nudge();
    await vi.advanceTimersByTimeAsync(400);
    fails = false;
    await vi.advanceTimersByTimeAsync(10_000);
    fails = true;
    starts.length = 0;
    latest.nudge();
    await vi.advanceTimersByTimeAsync(20 + 75);
    expect(starts).toHaveLength(2);
  });
});

describe('close', () => {
  test('ends the run that is pending', async () => {
    const task = vi.fn(async () => undefined);
    const latest = createLatest({ task, holdOffMs: 20, onError: noError });
    latest.nudge();
    await latest.close();
    await vi.advanceTimersByTimeAsync(1000);
    expect(task).toHaveBeenCalledTimes(0);
  });

  test('waits for the run under way, and none follows, asked for or failed', async () => {
    const { task, ends, starts } = heldTask();
    const latest = createLatest({ task, holdOffMs: 20, onError: () => undefined });
    latest.nudge();
    await vi.advanceTimersByTimeAsync(20);
    latest.nudge();
    let closed = false;
    const closing = latest.close().then(() => {
      closed = true;
    });
    await vi.advanceTimersByTimeAsync(100);
    expect(closed).toBe(false);
    ends[0]?.failed(new Error('late'));
    await closing;
    latest.nudge();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(starts).toHaveLength(1);
  });
});
