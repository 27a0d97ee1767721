import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a process takes, as Linux counts it. */
export interface ProcessUsage {
  /** Processor time of all its threads until now; of those that have ended it is no longer known. */
  cpuMs(): number;
  /** Memory that is in RAM. */
  residentBytes(): number;
  /** The most that was, since the last call of `resetPeak`. */
  peakBytes(): number;
  resetPeak(): void;
  /** Waits until it does nothing more than tick over, for some seconds at most. */
  quiet(): Promise<void>;
}

/** What a process that only ticks over may take in one look. */
const quietCpuMs = 1;
const lookMs = 40;
/** Looks in a row that have to be quiet. */
const quietLooks = 2;
const maxLooks = 250;

export function usageOf(pid: number): ProcessUsage {
  const file = (path: string): string => readFileSync(`/proc/${pid}/${path}`, 'utf8');

  /** Its threads' times, which come in nanoseconds; those in `stat` go in steps of 10 ms. */
  function cpuMs(): number {
    let nanos = 0;
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      try {
        nanos += Number(file(`task/${task}/schedstat`).split(' ', 1)[0]);
      } catch {
        // A thread that ended between the two reads.
      }
    }
    return nanos / 1e6;
  }

  return {
    cpuMs,
    residentBytes: () => bytesIn(file('status'), 'VmRSS'),
    peakBytes: () => bytesIn(file('status'), 'VmHWM'),
    resetPeak: () => writeFileSync(`/proc/${pid}/clear_refs`, '5'),
    async quiet() {
      let calm = 0;
      let before = cpuMs();
      for (let look = 0; look < maxLooks && calm < quietLooks; look += 1) {
        await sleep(lookMs);
        const now = cpuMs();
        calm = now - before <= quietCpuMs ? calm + 1 : 0;
        before = now;
      }
    },
  };
}

/** A field of /proc/…/status in bytes: what Linux calls kB there is KiB. */
export function bytesIn(status: string, field: string): number {
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  if (kib === undefined) throw new Error(`the status of the process says nothing about ${field}`);
  return Number(kib) * 1024;
}
