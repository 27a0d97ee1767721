/** How often something may happen: `perSecond` for ever, and `burst` at once after a rest. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Token buckets, one for each key. Of keys that are too many those that were used longest ago are forgotten. */
export interface Buckets {
  /** Takes one; 0 when it was there, else in how many milliseconds it will be, and nothing is taken. */
  take(key: string, nowMs: number): number;
  /** Undoes a `take` that gave 0. */
  giveBack(key: string): void;
}

/** A clock that goes back makes nobody wait longer than an empty bucket does. */
export function createBuckets({ perSecond, burst }: Rate, maxKeys = 10_000): Buckets {
  const everyMs = 1000 / perSecond;
  const fullMs = burst * everyMs;
  /** When each bucket will be full again, in the order of use: that one number says how full it is at any time. */
  const fullAt = new Map<string, number>();

  function fullAtOf(key: string, nowMs: number): number {
    const at = fullAt.get(key) ?? nowMs;
    return Math.min(Math.max(at, nowMs), nowMs + fullMs);
  }

  function waitFor(at: number, nowMs: number): number {
    return Math.max(0, Math.ceil(at + everyMs - nowMs - fullMs));
  }

  return {
    take(key, nowMs) {
      const at = fullAtOf(key, nowMs);
      const waitMs = waitFor(at, nowMs);
      fullAt.delete(key);
      fullAt.set(key, waitMs === 0 ? at + everyMs : at);
      if (fullAt.size > maxKeys) {
        for (const oldest of fullAt.keys()) {
          fullAt.delete(oldest);
          break;
        }
      }
      return waitMs;
    },
    giveBack(key) {
      const at = fullAt.get(key);
      if (at !== undefined) fullAt.set(key, at - everyMs);
    },
  };
}
