/**
 * Turns a stream of single events into batches: each holds all that came while the last one was being worked on. At
 * most `maxWaiting` are read ahead, then the source is held back. Ends, or throws, as the source does, once all that
 * came before has been given out. After a reader that stops early no further event is taken, but only the source's own
 * signal ends a wait for the next one.
 */
export async function* batches<T>(source: AsyncIterable<T>, maxWaiting: number): AsyncGenerator<T[], void, undefined> {
  const waiting: T[] = [];
  let ended: { readonly failure: unknown } | 'done' | undefined;
  let wake = (): void => undefined;
  let takeMore = (): void => undefined;
  let left = false;
  const reading = async (): Promise<void> => {
    for await (const event of source) {
      waiting.push(event);
      wake();
      if (waiting.length >= maxWaiting) await new Promise<void>((resolve) => (takeMore = resolve));
      if (left) return;
    }
  };
  reading().then(
    () => {
      ended = 'done';
      wake();
    },
    (failure: unknown) => {
      ended = { failure };
      wake();
    },
  );
  try {
    for (;;) {
      if (waiting.length > 0) {
        const batch = waiting.splice(0);
        takeMore();
        yield batch;
      } else if (ended === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else break;
    }
  } finally {
    left = true;
    takeMore();
  }
  if (ended !== 'done') throw ended.failure;
}
