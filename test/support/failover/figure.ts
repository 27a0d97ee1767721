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

/**
 * What does not hold, in words. `slack`: how many times longer everything may take, where the processors are shared with
 * whatever else runs.
 */
export function brokenOf(figures: readonly Figure[], slack = 1): string[] {
  return figures
    .filter((figure) => !holds(figure, slack))
    .map(({ metric, unit, value, limit, details = [] }) =>
      [`${metric}: ${value} ${unit}, to be ${limit?.kind} ${limit?.value}`, ...details.slice(0, 5)].join('\n  '),
    );
}

function holds({ unit, value, limit }: Figure, slack: number): boolean {
  if (limit === undefined) return true;
  // Written so that a figure which is no number does not hold.
  if (limit.kind === 'atLeast') return value >= limit.value;
  return value <= limit.value * (unit === 'ms' ? slack : 1);
}
