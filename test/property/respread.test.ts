import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planRespread } from '../../src/plan/index.ts';

// The laws of spreading: it comes to rest near the shares, soon, without sending streams to and fro.

/** From 0 to below 1, always the same for a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const atMost = 10;
const scenarios = fc.record({
  streams: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 2, maxLength: 5 }),
  seed: fc.integer(),
});
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

test.each([
  ['the same', false],
  ['what the others had a round ago', true],
])('when each knows %s, all come to rest within a fifth of their share', (_, isStale) => {
  fc.assert(
    fc.property(scenarios, ({ streams, seed }) => {
      const random = randomOf(seed);
      const counts = [...streams];
      const share = sum(counts) / counts.length;
      const excess = sum(counts.map((count) => Math.max(0, count - share)));
      let told = [...counts];
      let moved = 0;
      let quiet = 0;
      for (let round = 0; quiet < 3; round += 1) {
        expect(round).toBeLessThan(2_000);
        const before = [...counts];
        const ends = counts.map((own, at) => {
          const known = told.map((count, i) => ({ id: `c${i}`, streams: i === at ? own : count, isReady: true }));
          return planRespread(`c${at}`, known, atMost);
        });
        // Those who know the same do not act at once.
        if (!isStale) expect(ends.filter((count) => count > 0).length).toBeLessThanOrEqual(1);
        for (const [at, count] of ends.entries()) {
          counts[at] = (counts[at] as number) - count;
          for (let i = 0; i < count; i += 1) {
            const to = Math.floor(random() * counts.length);
            counts[to] = (counts[to] as number) + 1;
          }
        }
        moved += sum(ends);
        quiet = sum(ends) === 0 ? quiet + 1 : 0;
        told = isStale ? before : [...counts];
      }
      // Each lands where it is wanted, or has to go again: as often as there are controllers, as a rule.
      expect(moved).toBeLessThanOrEqual(6 * counts.length * excess + 100);
      const others = counts.length - 1;
      for (const count of counts) {
        expect(count).toBeLessThanOrEqual(share + Math.max(1, (share * 0.2) / others));
        expect(count).toBeGreaterThanOrEqual(share - Math.max(others, share * 0.2) - 1e-9);
      }
    }),
    { numRuns: 300 },
  );
});
