/** The watches that are open. One per API. */
export interface Watches {
  readonly open: number;
  /** Gives the function that forgets it again. */
  add(end: () => void): () => void;
  /** Ends every watch, also those added later. */
  close(): void;
}

export function createWatches(): Watches {
  const ends = new Set<() => void>();
  let isClosed = false;
  return {
    get open() {
      return ends.size;
    },
    add(end) {
      ends.add(end);
      if (isClosed) end();
      return () => ends.delete(end);
    },
    close() {
      isClosed = true;
      for (const end of ends) end();
    },
  };
}
