/**
 * Turns of the event loop by the processor time of this thread, since other programs are in the way of the clock.
 * What the collector took of a turn is left out: no slicing makes that shorter.
 */
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
  readonly cpuMs: number;
}

/** Shorter ones are nobody's longest, and there are millions. */
const fromMs = 0.5;

export function watchTurns(): Turns {
  const turns: Turn[] = [];
  const longest = new Map<string, number>();
  const collections: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  let start = performance.now();
  let cpu = process.threadCpuUsage();
  return {
    begin() {
      start = performance.now();
      cpu = process.threadCpuUsage();
    },
    end(work) {
      const used = process.threadCpuUsage(cpu);
      const cpuMs = (used.user + used.system) / 1000;
      if (cpuMs >= fromMs) turns.push({ work, start, end: performance.now(), cpuMs });
      else if (!longest.has(work)) longest.set(work, cpuMs);
    },
    async longestMs() {
      // Entries come in turns of their own.
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      observer.disconnect();
      let next = 0;
      for (const { work, start, end, cpuMs } of turns) {
        let collectedMs = 0;
        for (; next < collections.length; next += 1) {
          const { startTime, duration } = collections[next] as (typeof collections)[number];
          if (startTime >= end) break;
          if (startTime >= start) collectedMs += duration;
        }
        longest.set(work, Math.max(longest.get(work) ?? 0, cpuMs - collectedMs));
      }
      return longest;
    },
  };
}
