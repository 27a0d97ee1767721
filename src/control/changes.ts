import type { EventRecord } from '../status/index.ts';
import type { Adoption, ObjectChange } from './adoption.ts';

/** The recent changes of objects and what happens, for watches. One per controller. */
export interface Changes {
  add(adoption: Adoption): void;
  /** Watches from before this revision list anew: what was before is another store, as after a restore. */
  forget(revision: number): void;
  /** Changes after `revision`, in order; undefined when they are no longer all kept. */
  since(revision: number): readonly ObjectChange[] | undefined;
  /** Calls back with each adoption's changes; gives the function that ends it. */
  subscribe(listener: (revision: number, changes: readonly ObjectChange[]) => void): () => void;
  /** Calls back with events that began or came again; gives the function that ends it. */
  onHappened(listener: (events: readonly EventRecord[]) => void): () => void;
}

/** A watch that fell behind by more than this lists anew. */
const defaultKept = 10_000;

export function createChanges(options: { kept?: number } = {}): Changes {
  const kept = options.kept ?? defaultKept;
  const listeners = new Set<(revision: number, changes: readonly ObjectChange[]) => void>();
  const eventListeners = new Set<(events: readonly EventRecord[]) => void>();
  let ring: ObjectChange[] = [];
  /** Revision after which `ring` is complete; undefined before the first build. */
  let completeAfter: number | undefined;
  return {
    add({ revision, changes, happened, first }) {
      if (first) completeAfter = revision;
      else ring.push(...changes);
      // Cut in halves, so that a cut costs one copy for thousands of changes. A revision is never cut in two.
      if (ring.length > 2 * kept) {
        let cut = ring.length - kept;
        const last = ring[cut - 1]?.revision;
        while (ring[cut]?.revision === last) cut += 1;
        completeAfter = last;
        ring = ring.slice(cut);
      }
      for (const listener of listeners) listener(revision, changes);
      if (happened.length > 0) for (const listener of eventListeners) listener(happened);
    },
    forget(revision) {
      completeAfter = revision;
      ring = [];
    },
    since(revision) {
      if (completeAfter === undefined || revision < completeAfter) return undefined;
      return ring.slice(firstAfter(ring, revision));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onHappened(listener) {
      eventListeners.add(listener);
      return () => eventListeners.delete(listener);
    },
  };
}

/** Position of the first change after `revision`; changes stand in the order of adoption, so nearly in that of revisions. */
function firstAfter(ring: readonly ObjectChange[], revision: number): number {
  let low = 0;
  let high = ring.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ring[middle] as ObjectChange).revision <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
