/** How long tests wait for a level at most; generous, since it is only spent when something is broken. */
export const patienceMs = 20_000;

/** Beyond the limit of `until`, for a look that is under way: a request that it makes gives up before that. */
const lastLookMs = 15_000;

/**
 * Looks again and again until `look` gives something other than undefined or false, and gives that. Fails with the
 * last state (`describe`) after `limitMs`. What `look` throws counts as "not yet" and is told at the end.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  options: { limitMs?: number; everyMs?: number; describe?: () => unknown } = {},
): Promise<T> {
  const { limitMs = patienceMs, everyMs = 10 } = options;
  const end = performance.now() + limitMs;
  let failure: unknown;
  for (;;) {
    try {
      const found = await within(what, look(), Math.max(0, end - performance.now()) + lastLookMs);
      if (found !== undefined && found !== false) return found;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= end) {
      const state = options.describe === undefined ? '' : `; last seen: ${JSON.stringify(await options.describe())}`;
      throw new Error(`waited ${limitMs} ms for ${what}${state}`, failure === undefined ? {} : { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** What the promise gives. Fails when that takes longer than `limitMs`, and says what was waited for. */
export async function within<T>(what: string, promised: Promise<T> | T, limitMs = patienceMs): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`waited ${Math.round(limitMs)} ms for ${what}`)), limitMs);
  try {
    return await Promise.race([promised, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
