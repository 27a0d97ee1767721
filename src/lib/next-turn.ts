const waiting: (() => void)[] = [];

function runOne(): void {
  const first = waiting.shift();
  if (waiting.length > 0) setImmediate(runOne);
  first?.();
}

/**
 * Runs a slice of long work in a turn of the event loop in which no other one runs, first come, first served: streams,
 * requests, settling and conditions may all be at work, and together their slices would hold the loop for many times as
 * long as each of them does.
 */
export function inNextTurn(slice: () => void): void {
  waiting.push(slice);
  if (waiting.length === 1) setImmediate(runOne);
}

/** Comes when that turn does. */
export function nextTurn(): Promise<void> {
  return new Promise(inNextTurn);
}
