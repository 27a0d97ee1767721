/** The watches that are open. One per API. */
export interface Watches {
  readonly open: number;
  openOf(owner: string): number;
  /** Gives the function that forgets it again. */
  add(owner: string, end: () => void): () => void;
  /** Ends every watch, also those added later. */
  close(): void;
}

export function createWatches(): Watches {
  const ends = new Set<() => void>();
  const owners = new Map<string, number>();
  let isClosed = false;

  function count(owner: string, by: number): void {
    const open = (owners.get(owner) ?? 0) + by;
    if (open === 0) owners.delete(owner);
    else owners.set(owner, open);
  }

  return {
    get open() {
      return ends.size;
    },
    openOf: (owner) => owners.get(owner) ?? 0,
    add(owner, end) {
      ends.add(end);
      count(owner, 1);
      if (isClosed) end();
      return () => {
        if (ends.delete(end)) count(owner, -1);
      };
    },
    close() {
      isClosed = true;
      for (const end of ends) end();
    },
  };
}
