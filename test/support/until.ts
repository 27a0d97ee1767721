/** How long tests wait for a level at most; generous, since it is only spent when something is broken. */
export const patienceMs = 20_000;

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
      const found = await look();
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
