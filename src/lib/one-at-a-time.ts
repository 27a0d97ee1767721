/** Does what it is given once all that it was given before is done, or has failed. */
export type OneAtATime = <T>(work: () => Promise<T>) => Promise<T>;

/** For work that costs much memory: what one of it costs is what all of it costs at once. */
export function createOneAtATime(): OneAtATime {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
