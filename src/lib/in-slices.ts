import { nextTurn } from './next-turn.ts';
import { type SliceMeter, type SliceWork, unmeasured } from './slices.ts';

/** Work on the event loop is given up for others after this time. */
const sliceMs = 4;

/** Keeps a long loop from holding the event loop: `await slice.pause()` between two steps. */
export interface Slice {
  /** Gives the event loop to others when the slice is used up; else nothing happens, and it costs a look at the clock. */
  pause(): Promise<void> | undefined;
}

/** Begins a slice. */
export function beginSlice(): Slice {
  let end = performance.now() + sliceMs;
  return {
    pause() {
      if (performance.now() < end) return undefined;
      return nextTurn().then(() => {
        end = performance.now() + sliceMs;
      });
    },
  };
}

/** What is known of work that goes in slices. */
export interface SlicedWork {
  readonly work: SliceWork;
  readonly slices?: SliceMeter;
  /** Asked after each slice: false when nobody waits for it any more. Default: somebody does. */
  readonly isWanted?: () => boolean;
}

/**
 * Does work that says by each `yield` where it may be interrupted; what comes of it, or undefined when it was not wanted
 * to its end.
 */
export async function inSlices<T>(
  pieces: Generator<void, T>,
  { work, slices = unmeasured, isWanted = () => true }: SlicedWork,
): Promise<T | undefined> {
  while (isWanted()) {
    const slice = doSlice(pieces, work, slices);
    if (slice.done) return slice.value;
    await nextTurn();
  }
  return undefined;
}

function doSlice<T>(pieces: Generator<void, T>, work: SliceWork, slices: SliceMeter): IteratorResult<void, T> {
  slices.begin();
  try {
    const end = performance.now() + sliceMs;
    for (;;) {
      const piece = pieces.next();
      if (piece.done || performance.now() >= end) return piece;
    }
  } finally {
    slices.end(work);
  }
}
