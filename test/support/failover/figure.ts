/** One thing that was measured under a fault, and what it must keep. Tests and benches judge the same ones. */
export interface Figure {
  readonly metric: string;
  readonly unit: 'ms' | 'B' | '/s' | '';
  readonly value: number;
  /** Absent: it is only told. */
  readonly limit?: { readonly kind: 'atMost' | 'atLeast'; readonly value: number };
  /** What the value counts, one by one, for who has to find out why. */
  readonly details?: readonly string[];
}

/** A list of what must not have happened. */
export function none(metric: string, details: readonly string[]): Figure {
  return { metric, unit: '', value: details.length, limit: { kind: 'atMost', value: 0 }, details };
}

export function atMost(value: number): NonNullable<Figure['limit']> {
  return { kind: 'atMost', value };
}

/** Shows that what was to be seen was there to be seen. */
export function atLeast(value: number): NonNullable<Figure['limit']> {
  return { kind: 'atLeast', value };
}

function holds({ value, limit }: Figure): boolean {
  if (limit === undefined) return true;
  return limit.kind === 'atMost' ? value <= limit.value : value >= limit.value;
}

/** What does not hold, in words. */
export function brokenOf(figures: readonly Figure[]): string[] {
  return figures
    .filter((figure) => !holds(figure))
    .map(({ metric, unit, value, limit, details = [] }) =>
      [`${metric}: ${value} ${unit}, to be ${limit?.kind} ${limit?.value}`, ...details.slice(0, 5)].join('\n  '),
    );
}
