import { createHmac, randomBytes } from 'node:crypto';

/** What was found out about texts that are secret, for a while. The texts themselves are not kept. */
export interface Remembered<T> {
  get(text: string, nowMs: number): T | undefined;
  set(text: string, value: T, untilMs: number): void;
}

const maxKept = 10_000;

/**
 * Keeps values under a keyed hash of the text: whoever reads this process's memory finds nothing to log in with, and
 * nobody can choose texts that meet in one slot. The key lives as long as the process.
 */
export function createRemembered<T>(): Remembered<T> {
  const key = randomBytes(32);
  const kept = new Map<string, { readonly value: T; readonly untilMs: number }>();
  const slotOf = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  return {
    get(text, nowMs) {
      const slot = slotOf(text);
      const found = kept.get(slot);
      if (found === undefined) return undefined;
      if (nowMs < found.untilMs) return found.value;
      kept.delete(slot);
      return undefined;
    },
    set(text, value, untilMs) {
      const slot = slotOf(text);
      kept.delete(slot);
      kept.set(slot, { value, untilMs });
      if (kept.size <= maxKept) return;
      for (const oldest of kept.keys()) {
        kept.delete(oldest);
        break;
      }
    },
  };
}
