/**
 * Bounds how many different things are told of one subject by themselves: whoever is hostile can have a new one to tell
 * each time, and what is kept for people would hold nothing else. What has been told may be told again: repeats are
 * counted where they are kept.
 */
export interface Variety {
  /** Whether this is one of the first few of its subject; the others are to be told in one word for all of them. */
  takes(subject: string, thing: string, at: number): boolean;
}

export interface VarietyOptions {
  /** Different things of one subject within a window. */
  readonly limit: number;
  /** From the first of them on. */
  readonly windowMs: number;
  /** Subjects that are remembered; of the oldest it is forgotten what was told. */
  readonly subjects: number;
}

export function createVariety({ limit, windowMs, subjects }: VarietyOptions): Variety {
  const told = new Map<string, { readonly since: number; readonly things: Set<string> }>();

  function begin(subject: string, since: number): { readonly since: number; readonly things: Set<string> } {
    const begun = { since, things: new Set<string>() };
    told.delete(subject);
    told.set(subject, begun);
    for (const oldest of told.keys()) {
      if (told.size <= subjects) break;
      told.delete(oldest);
    }
    return begun;
  }

  return {
    takes(subject, thing, at) {
      const known = told.get(subject);
      const { things } = known === undefined || at - known.since >= windowMs ? begin(subject, at) : known;
      if (things.has(thing)) return true;
      if (things.size >= limit) return false;
      things.add(thing);
      return true;
    },
  };
}
