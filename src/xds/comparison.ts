import type { Pieces } from './pieces.ts';
import type { Session } from './session.ts';

/** The slow compare of what streams hold with what they should have, piece by piece. */
export interface Comparison {
  /** Begins anew, with the streams that there are. */
  begin(): void;
  /** Does the next piece; false when there is none, or no more. */
  step(): boolean;
  readonly running: boolean;
}

export interface ComparisonOptions<T> {
  readonly streams: () => Iterable<T>;
  readonly sessionOf: (stream: T) => Session;
  /** Before a stream is compared: it is given what it may see. */
  readonly prepare: (stream: T) => Pieces;
  /** It may have something to send. */
  readonly compared: (stream: T) => void;
}

export function createComparison<T>({ streams, sessionOf, prepare, compared }: ComparisonOptions<T>): Comparison {
  let pieces: Pieces | undefined;

  function* all(): Pieces {
    for (const stream of streams()) {
      yield* prepare(stream);
      yield* sessionOf(stream).compare();
      compared(stream);
      yield;
    }
  }

  return {
    begin() {
      pieces = all();
    },
    step() {
      if (pieces === undefined) return false;
      if (pieces.next().done !== true) return true;
      pieces = undefined;
      return false;
    },
    get running() {
      return pieces !== undefined;
    },
  };
}
