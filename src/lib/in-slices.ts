import { nextTurn } from './next-turn.ts';

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
