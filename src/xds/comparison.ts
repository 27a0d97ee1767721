import type { Pieces } from './pieces.ts';
import type { Session } from './session.ts';

/** The slow compare of what streams hold with what they should have, piece by piece. */
export interface Comparison<T> {
  /** Compares these streams as well; one that is being compared is so once more. */
  begin(streams: Iterable<T>): void;
  /** The stream is gone. */
  leave(stream: T): void;
  /** Does the next piece; false when there is none, or no more. */
  step(): boolean;
  readonly running: boolean;
}

export interface ComparisonOptions<T> {
  readonly sessionOf: (stream: T) => Session;
  /** Before a stream is compared: it is given what it may see. */
  readonly prepare: (stream: T) => Pieces;
  /** It may have something to send. */
  readonly compared: (stream: T) => void;
}

export function createComparison<T>({ sessionOf, prepare, compared }: ComparisonOptions<T>): Comparison<T> {
  const due = new Set<T>();
  let pieces: Pieces | undefined;

  function* all(): Pieces {
    for (const stream of due) {
      due.delete(stream);
      yield* prepare(stream);
      yield* sessionOf(stream).compare();
      compared(stream);
      yield;
    }
  }

  return {
    begin(streams) {
      for (const stream of streams) due.add(stream);
      pieces ??= all();
    },
    leave(stream) {
      due.delete(stream);
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
