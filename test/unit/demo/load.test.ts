import { describe, expect, it } from 'vitest';
import { type LoadCount, sharesBetween, startLoad } from '../../../src/demo/load.ts';

describe('a load', () => {
  it('counts answers by backend, and failures with the first words', async () => {
    let n = 0;
    const done = Promise.withResolvers<void>();
    const load = startLoad({
      send: async () => {
        const turn = n++;
        if (turn % 10 === 9) throw new Error(`turn ${turn}`);
        return turn % 2 === 0 ? 'even' : 'odd';
      },
      perSecond: 5000,
      concurrency: 4,
      maxRequests: 50,
      onCount: ({ requests }) => {
        if (requests === 50) done.resolve();
      },
    });
    await done.promise;
    const count = await load.stop();
    expect(count).toMatchObject({ requests: 50, failed: 5, failures: ['turn 9', 'turn 19', 'turn 29'] });
    expect(Object.fromEntries(count.answers)).toEqual({ even: 25, odd: 20 });
    expect(n).toBe(50);
  });

  it('never has more under way than it may, and waits for what is', async () => {
    const open: (() => void)[] = [];
    const full = Promise.withResolvers<void>();
    const load = startLoad({
      send: () =>
        new Promise<string>((resolve) => {
          open.push(() => resolve('one'));
          if (open.length === 3) full.resolve();
        }),
      perSecond: 100_000,
      concurrency: 3,
      maxRequests: 1000,
    });
    await full.promise;
    const stopping = load.stop();
    expect(open).toHaveLength(3);
    expect(load.count.requests).toBe(0);
    for (const answer of open) answer();
    expect((await stopping).requests).toBe(3);
  });
});

describe('shares between two counts', () => {
  const count = (answers: Record<string, number>): LoadCount => ({
    requests: 0,
    failed: 0,
    failures: [],
    answers: new Map(Object.entries(answers)),
  });

  it.each<[name: string, before: Record<string, number>, after: Record<string, number>, want: Record<string, number>]>([
    ['leave out what came before', { a: 100 }, { a: 109, b: 1 }, { a: 0.9, b: 0.1 }],
    ['are 0 of nothing', { a: 5 }, { a: 5 }, { a: 0 }],
  ])('%s', (_name, before, after, want) => {
    expect(Object.fromEntries(sharesBetween(count(before), count(after)))).toEqual(want);
  });
});
