import type { TypeUrl } from './resource.ts';

/** One changed row: of a resource, with the audiences that had it and have it now, or of a subject's audiences. */
export type Change =
  | {
      readonly kind: 'resource';
      readonly revision: number;
      readonly type: TypeUrl;
      readonly name: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
    }
  | { readonly kind: 'subject'; readonly revision: number; readonly subject: string };

/**
 * Bounded log of changes with positions that only grow. A reader keeps the position it has read up to; what it finds
 * there costs the number of changes and not the size of the table. A reader whose position has left the log compares
 * everything instead.
 */
export interface ChangeLog {
  /** The oldest position that can still be read. */
  readonly start: number;
  /** The position of the next change. */
  readonly end: number;
  append(change: Change): void;
  /** The change at `position`; undefined outside of `start ≤ position < end`. */
  at(position: number): Change | undefined;
}

export function createChangeLog(maxEntries: number): ChangeLog {
  const entries: Change[] = [];
  let start = 0;
  return {
    get start() {
      return start;
    },
    get end() {
      return start + entries.length;
    },
    append(change) {
      entries.push(change);
      // Cut in halves, so that the cost of moving the array is spread over as many appends.
      if (entries.length > maxEntries) {
        const cut = Math.ceil(entries.length / 2);
        entries.splice(0, cut);
        start += cut;
      }
    },
    at(position) {
      return entries[position - start];
    },
  };
}
