/**
 * Turns of the event loop by the time that this thread had a processor, since other programs are in the way of the clock.
 * What the collector took of a turn is left out: no slicing makes that shorter.
 */
import { openSync, readSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

export interface Turns {
  begin(): void;
  /** Ends what `begin` began, as one turn of this kind of work. */
  end(work: string): void;
  /** Ends the watch. Kind of work → its longest turn in milliseconds. */
  longestMs(): Promise<Map<string, number>>;
}

interface Turn {
  readonly work: string;
  readonly start: number;
  readonly end: number;
  readonly ranMs: number;
}

/** Shorter ones are nobody's longest, and there are millions. */
const fromMs = 0.5;

/**
 * The kernel's account of this thread: nanoseconds that it ran, and that it waited for a processor. The former, like that of
 * `getrusage`, may be as old as the last tick of a clock, 4 ms; the latter is complete whenever the thread runs.
 */
const account = openSync('/proc/thread-self/schedstat', 'r');
const line = Buffer.alloc(64);

/** Milliseconds of the clock without those in which others had the processor. */
function now(): number {
  const size = readSync(account, line, 0, line.byteLength, 0);
  const [, waitedNs] = line.toString('latin1', 0, size).split(' ');
  return performance.now() - Number(waitedNs) / 1e6;
}

export function watchTurns(): Turns {
  const turns: Turn[] = [];
  const longest = new Map<string, number>();
  const collections: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  let start = performance.now();
  let ran = now();
  return {
    begin() {
      start = performance.now();
      ran = now();
    },
    end(work) {
      const ranMs = now() - ran;
      if (ranMs >= fromMs) turns.push({ work, start, end: performance.now(), ranMs });
      else if (!longest.has(work)) longest.set(work, ranMs);
    },
    async longestMs() {
      // Entries come in turns of their own.
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      observer.disconnect();
      let next = 0;
      for (const { work, start, end, ranMs } of turns) {
        let collectedMs = 0;
        for (; next < collections.length; next += 1) {
          const { startTime, duration } = collections[next] as (typeof collections)[number];
          if (startTime >= end) break;
          if (startTime >= start) collectedMs += duration;
        }
        longest.set(work, Math.max(longest.get(work) ?? 0, ranMs - collectedMs));
      }
      return longest;
    },
  };
}
