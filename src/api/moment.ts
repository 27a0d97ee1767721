import { parseDuration } from '../lib/duration.ts';
import type { Parameter } from './query.ts';

/** A time in a query: RFC 3339, or how long ago. */
export type Moment = { readonly at: number } | { readonly agoMs: number };

/** RFC 3339 section 5.6, with a zone. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

export function moment(description: string): Parameter<Moment> {
  return {
    read(text) {
      const agoMs = parseDuration(text);
      if (agoMs !== undefined) return { agoMs };
      const at = timePattern.test(text) ? Date.parse(text) : Number.NaN;
      return Number.isNaN(at) ? undefined : { at };
    },
    wanted: 'a time such as 2030-01-31T12:00:00Z, or how long ago, such as 1h30m',
    schema: { type: 'string' },
    description: `${description} A time (RFC 3339), or how long ago: 1h30m.`,
  };
}

/** In milliseconds since 1970. */
export function timeOf(moment: Moment, now: number): number {
  return 'at' in moment ? moment.at : now - moment.agoMs;
}

export function oneOf<const T extends string>(description: string, words: readonly T[]): Parameter<T> {
  return {
    read: (text) => words.find((word) => word === text),
    wanted: `one of ${words.join(', ')}`,
    schema: { enum: words },
    description,
  };
}
