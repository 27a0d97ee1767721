/**
 * What goes by, counted where it goes by: plain numbers that only grow, for whoever looks now and then. At a thousand
 * streams a call for each message would cost more than the message.
 */
import { type TypeUrl, typeUrls } from './resource.ts';

/** Of one type, over all streams. */
export interface TypeCounts {
  /** Responses, and their bytes. */
  sent: number;
  sentBytes: number;
  /** Answers to them that counted: those to responses that nobody remembers say nothing. */
  acked: number;
  nacked: number;
}

export interface Counts {
  /** Those of a type, to be counted up. Types that clients invent share one. */
  of(type: TypeUrl): TypeCounts;
  /** Type → its counts; `other` for those of types without rules of their own. */
  readonly byType: ReadonlyMap<TypeUrl | 'other', Readonly<TypeCounts>>;
}

export function createCounts(): Counts {
  const zero = (): TypeCounts => ({ sent: 0, sentBytes: 0, acked: 0, nacked: 0 });
  const other = zero();
  const byType = new Map<TypeUrl | 'other', TypeCounts>(Object.values(typeUrls).map((type) => [type, zero()]));
  byType.set('other', other);
  return { of: (type) => byType.get(type) ?? other, byType };
}
