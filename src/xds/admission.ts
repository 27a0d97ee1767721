/**
 * The order in which new streams begin: first come, first served, so many a second, and so many at a time until they
 * have had their first fill. After a restart all proxies come at once, and each may make us build megabytes that wait
 * in its socket. A stream waits here without being refused, and whoever takes long to fill makes room after a while:
 * nobody is locked out.
 */
export interface AdmissionOptions {
  readonly streamsPerS: number;
  /** Streams that may begin at once after a quiet time. */
  readonly burst: number;
  readonly maxFilling: number;
  /** A stream counts as filling for so long at most. */
  readonly maxFillMs: number;
  /** More than so many are sent elsewhere; they may come again. */
  readonly maxWaiting: number;
}

export interface Admission<T> {
  /** Takes its place at the end of the queue, once; false when the queue is full. */
  enter(stream: T): boolean;
  /** The stream is filled, or gone. */
  leave(stream: T): void;
  /** Those that may begin now. */
  admit(now: number): readonly T[];
  /** When `admit` may have more; undefined: not by time. */
  nextDeadline(): number | undefined;
}

export const defaultAdmission: AdmissionOptions = {
  streamsPerS: 1_000,
  burst: 2_000,
  maxFilling: 256,
  maxFillMs: 2_000,
  maxWaiting: 10_000,
};

const nobody: readonly never[] = [];

export function createAdmission<T>(options: AdmissionOptions): Admission<T> {
  const { streamsPerS, burst, maxFilling, maxFillMs, maxWaiting } = options;
  const queue = new Set<T>();
  /** By the time at which they began, oldest first. */
  const filling = new Map<T, number>();
  let permits = burst;
  let refilledAt = Number.NEGATIVE_INFINITY;

  function refill(now: number): void {
    permits = Math.min(burst, permits + ((now - refilledAt) * streamsPerS) / 1_000);
    refilledAt = now;
  }

  function expire(now: number): void {
    for (const [stream, since] of filling) {
      if (now < since + maxFillMs) return;
      filling.delete(stream);
    }
  }

  return {
    enter(stream) {
      if (queue.size >= maxWaiting && !queue.has(stream)) return false;
      queue.add(stream);
      return true;
    },
    leave(stream) {
      queue.delete(stream);
      filling.delete(stream);
    },
    admit(now) {
      if (queue.size === 0) return nobody;
      refill(now);
      expire(now);
      const admitted: T[] = [];
      for (const stream of queue) {
        if (permits < 1 || filling.size >= maxFilling) break;
        permits -= 1;
        queue.delete(stream);
        filling.set(stream, now);
        admitted.push(stream);
      }
      return admitted;
    },
    nextDeadline() {
      if (queue.size === 0) return undefined;
      const permitAt = permits >= 1 ? refilledAt : refilledAt + Math.ceil(((1 - permits) * 1_000) / streamsPerS);
      if (filling.size < maxFilling) return permitAt;
      const [oldest = refilledAt] = filling.values();
      return Math.max(permitAt, oldest + maxFillMs);
    },
  };
}
