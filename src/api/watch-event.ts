import { apiVersion, type FairwayObject, type Kind, type ObjectKey, redact } from '../model/index.ts';
import type { Change, View } from './ports.ts';
import { keyOf, type Shown, show } from './present.ts';
import type { Selection } from './selection.ts';

/** What a watch says, and to whom: an object that leaves the selection is gone for this watcher. */

export type WatchEvent =
  | { readonly type: 'put' | 'delete'; readonly object: Shown }
  /** All up to this revision has been sent: a watch can go on after it. */
  | { readonly type: 'bookmark'; readonly object: Bookmark };

export interface Bookmark {
  readonly apiVersion: typeof apiVersion;
  readonly kind: Kind;
  readonly metadata: { readonly revision: string };
}

export function bookmark(kind: Kind, revision: number): WatchEvent {
  return { type: 'bookmark', object: { apiVersion, kind, metadata: { revision: String(revision) } } };
}

/** Turns changes into events for one watcher. */
export interface Teller {
  /** None, or one. */
  eventsOf(change: Change): readonly WatchEvent[];
  /** The watcher has been told of the object by other means. */
  told(key: ObjectKey): void;
}

export function createTeller(view: View, kind: Kind, selection: Selection): Teller {
  /**
   * Whether the watcher believes an object to be selected, where status decides: what the status of the former object
   * was, nobody knows any more. Where it is not known, one deletion too many is harmless.
   */
  const believed = new Map<ObjectKey, boolean>();

  function wasSelected({ key, last }: Change): boolean {
    if (selection.usesStatus) return believed.get(key) ?? last !== undefined;
    return last !== undefined && matches(last);
  }

  function matches(object: FairwayObject): boolean {
    return selection.matches(object, () => view.status(object));
  }

  function believe(key: ObjectKey, selected: boolean | undefined): void {
    if (!selection.usesStatus) return;
    if (selected === undefined) believed.delete(key);
    else believed.set(key, selected);
  }

  return {
    told: (key) => believe(key, true),
    eventsOf(change) {
      if (change.kind !== kind) return [];
      const { key, object, last } = change;
      const before = wasSelected(change);
      if (object === undefined) {
        believe(key, undefined);
        return before && last !== undefined ? [{ type: 'delete', object: deleted(last, change.revision) }] : [];
      }
      const now = matches(object);
      believe(key, now);
      if (now) return [{ type: 'put', object: show(object, view) }];
      return before ? [{ type: 'delete', object: show(object, view) }] : [];
    },
  };
}

/** As it was, at the revision at which it went. */
function deleted(last: FairwayObject, revision: number): Shown {
  const shown = redact(last);
  return { ...shown, metadata: { ...shown.metadata, revision: String(revision) } } as Shown;
}

/** All selected objects as they are now; the watcher is going to be told of them. */
export function selectedNow(view: View, kind: Kind, selection: Selection, teller: Teller): readonly FairwayObject[] {
  const objects: FairwayObject[] = [];
  for (const object of view.list(kind)) {
    if (!selection.matches(object, () => view.status(object))) continue;
    teller.told(keyOf(object));
    objects.push(object);
  }
  return objects;
}
