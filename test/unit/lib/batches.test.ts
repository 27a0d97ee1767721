import { expect, test } from 'vitest';
import { batches } from '../../../src/lib/batches.ts';

/** A source that gives what is pushed, and knows how much was taken and whether it was ended. */
function source<T>() {
  const events: (T | Error)[] = [];
  let wake = (): void => undefined;
  let isDone = false;
  const state = { taken: 0 };
  async function* iterate(): AsyncGenerator<T> {
    for (;;) {
      const next = events.shift();
      if (next instanceof Error) throw next;
      if (next !== undefined) {
        state.taken += 1;
        yield next;
      } else if (isDone) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  return {
    state,
    events: iterate(),
    push(...more: (T | Error)[]) {
      events.push(...more);
      wake();
    },
    end() {
      isDone = true;
      wake();
    },
  };
}

/** Lets everything that can happen without time happen. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('each batch holds all that came while the last one was being worked on', async () => {
  const { events, push, end } = source<number>();
  const seen: number[][] = [];
  push(1, 2);
  for await (const batch of batches(events, 100)) {
    seen.push(batch);
    if (seen.length === 1) {
      await settled();
      push(3, 4, 5);
      await settled();
    } else if (seen.length === 2) end();
  }
  expect(seen.flat()).toEqual([1, 2, 3, 4, 5]);
  expect(seen.at(-1)).toEqual(expect.arrayContaining([3, 4, 5]));
  expect(seen).toHaveLength(2);
});

test('at most so many are read ahead, and reading goes on when they are taken', async () => {
  const { state, events, push, end } = source<number>();
  const iterator = batches(events, 10);
  push(...Array.from({ length: 35 }, (_, n) => n));
  const first = await iterator.next();
  await settled();
  const begun = (first.value as number[]).length;
  expect(state.taken).toBe(begun + 10);
  const second = await iterator.next();
  expect(second.value).toHaveLength(10);
  await settled();
  expect(state.taken).toBe(begun + 20);
  end();
  const rest: number[] = [];
  for await (const batch of iterator) rest.push(...batch);
  expect([...(first.value as number[]), ...(second.value as number[]), ...rest]).toEqual(
    Array.from({ length: 35 }, (_, n) => n),
  );
});

test('a failure of the source comes after all that came before it', async () => {
  const { events, push } = source<number>();
  push(1, 2, new Error('broken'));
  const seen: number[] = [];
  const all = async () => {
    for await (const batch of batches(events, 100)) {
      await settled();
      seen.push(...batch);
    }
  };
  await expect(all()).rejects.toThrow('broken');
  expect(seen).toEqual([1, 2]);
});

test('ends when the source ends, also when nothing ever came', async () => {
  const { events, end } = source<number>();
  const next = batches(events, 100).next();
  end();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('a source that is held back is ended when the reader leaves', async () => {
  const { events, push, state } = source<number>();
  push(1, 2, 3, 4, 5, 6);
  for await (const _ of batches(events, 2)) {
    await settled();
    break;
  }
  await settled();
  expect(state.taken).toBeLessThan(6);
  expect(await events.next()).toEqual({ done: true, value: undefined });
});
