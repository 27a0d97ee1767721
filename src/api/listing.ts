import type { Readable } from 'node:stream';
import { apiVersion, type FairwayObject, type Kind, kindNames } from '../model/index.ts';
import { longAnswer } from './long-answer.ts';
import { compareObjects, firstAfter, type PageStart, writeContinue } from './page.ts';
import type { View } from './ports.ts';
import { show } from './present.ts';
import type { Selection } from './selection.ts';

/** All objects of each kind in the order of lists. One per API; sorted again only after objects came, went or changed. */
export interface SortedObjects {
  of(kind: Kind): readonly FairwayObject[];
  close(): void;
}

export function createSortedObjects(view: View): SortedObjects {
  const sorted = new Map<Kind, readonly FairwayObject[]>();
  const close = view.onChanges((_revision, changes) => {
    for (const { kind } of changes) sorted.delete(kind);
  });
  return {
    of(kind) {
      const known = sorted.get(kind);
      if (known !== undefined) return known;
      const objects = [...view.list(kind)].sort(compareObjects);
      sorted.set(kind, objects);
      return objects;
    },
    close() {
      close();
      for (const kind of kindNames) sorted.delete(kind);
    },
  };
}

export interface Page {
  readonly revision: number;
  readonly objects: readonly FairwayObject[];
  /** Token of the next page; absent on the last one. */
  readonly next: string | undefined;
}

export interface PageRequest {
  readonly selection: Selection;
  readonly selectionText: string;
  readonly limit: number | undefined;
  readonly start: PageStart | undefined;
}

/** The objects of one page, all as of one revision. */
export function takePage(objects: readonly FairwayObject[], view: View, request: PageRequest): Page {
  const { selection, limit = Number.POSITIVE_INFINITY, start } = request;
  const { revision } = view;
  const taken: FairwayObject[] = [];
  for (let i = start === undefined ? 0 : firstAfter(objects, start); i < objects.length; i++) {
    const object = objects[i] as FairwayObject;
    if (!selection.matches(object, () => view.status(object))) continue;
    if (taken.length === limit) return { revision, objects: taken, next: tokenAfter(taken, request, revision) };
    taken.push(object);
  }
  return { revision, objects: taken, next: undefined };
}

function tokenAfter(taken: readonly FairwayObject[], request: PageRequest, revision: number): string {
  const { name = '', scope = '' } = taken.at(-1)?.metadata ?? {};
  const begun = request.start?.revision ?? revision;
  return writeContinue({ revision: Math.max(begun, revision), scope, name, selection: request.selectionText });
}

/**
 * The answer of a list, as JSON. A long one is written in slices, so that nobody else waits for it: what is listed and
 * its revision are fixed before, statuses are those of the moment of writing.
 */
export function listAnswer(kind: Kind, page: Page, view: View): string | Readable {
  const { objects, revision, next } = page;
  const metadata = { revision: String(revision), ...(next !== undefined && { continue: next }) };
  const head = `${JSON.stringify({ apiVersion, kind: `${kind}List`, metadata }).slice(0, -1)},"items":[`;
  return longAnswer(head, objects, (object) => JSON.stringify(show(object, view)), ']}');
}
