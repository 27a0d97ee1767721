import { setTimeout as sleep } from 'node:timers/promises';

export interface UntilOptions {
  /** What is waited for, for the message of the failure: "the server to be ready". */
  readonly what: string;
  readonly limitMs: number;
  readonly everyMs?: number;
  readonly signal: AbortSignal;
  /** What is the case instead, asked once the limit is reached. */
  readonly instead?: () => string;
}

/** Looks until there is something other than undefined, and gives that. Fails at the limit, or when told to stop. */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  { what, limitMs, everyMs = 10, signal, instead }: UntilOptions,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() >= deadline) {
      const seen = instead?.() ?? '';
      throw new Error(`waited ${limitMs / 1000} s for ${what}${seen === '' ? '' : `: ${seen}`}`);
    }
    // Cut short by the signal it throws an error that says nothing: the next turn throws the reason.
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** `until` with its limit settled. */
export type Wait = <T>(look: () => Promise<T | undefined> | T | undefined, what: string) => Promise<T>;

export function createWait(options: Pick<UntilOptions, 'limitMs' | 'signal'>): Wait {
  return (look, what) => until(look, { ...options, what });
}
