import type { FairwayObject } from '../model/index.ts';
import { invalidParameter } from './query.ts';

/**
 * Pages of a list. A page begins after the last object of the one before, whatever came or went meanwhile: nothing is
 * shown twice and nothing that was there all the time is left out.
 */
export interface PageStart {
  /** At which the list was begun: a further page is never answered from an older world, on another controller too. */
  readonly revision: number;
  readonly scope: string;
  readonly name: string;
  /** What is listed: a token goes with the same selectors only. */
  readonly selection: string;
}

/** The opaque token of `continue`. */
export function writeContinue(start: PageStart): string {
  const { revision, scope, name, selection } = start;
  return Buffer.from(JSON.stringify([revision, scope, name, selection])).toString('base64url');
}

/** Throws `InvalidParameter` for what `writeContinue` did not make, or made for another selection. */
export function readContinue(token: string, selection: string): PageStart {
  const parts = decode(token);
  if (parts === undefined) throw invalidParameter('continue', 'must be the token that the page before gave');
  const [revision, scope, name, begunWith] = parts;
  if (begunWith !== selection) {
    throw invalidParameter('continue', 'belongs to a list with other parameters; keep them the same from page to page');
  }
  return { revision, scope, name, selection };
}

function decode(token: string): readonly [number, string, string, string] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (!Array.isArray(parts) || parts.length !== 4) return undefined;
    const [revision, scope, name, selection] = parts as readonly unknown[];
    if (!Number.isSafeInteger(revision) || (revision as number) < 0) return undefined;
    const texts = [scope, name, selection];
    return texts.every((part) => typeof part === 'string') ? (parts as [number, string, string, string]) : undefined;
  } catch {
    return undefined;
  }
}

/** By scope, then name. Names are ASCII, so this is the order of their bytes. */
export function compareObjects(a: FairwayObject, b: FairwayObject): number {
  return compareText(a.metadata.scope ?? '', b.metadata.scope ?? '') || compareText(a.metadata.name, b.metadata.name);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Index of the first object after the start of a page, in a list in order. */
export function firstAfter(
  objects: readonly FairwayObject[],
  { scope, name }: Pick<PageStart, 'scope' | 'name'>,
): number {
  let low = 0;
  let high = objects.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { metadata } = objects[middle] as FairwayObject;
    const isAfter = compareText(metadata.scope ?? '', scope) || compareText(metadata.name, name);
    if (isAfter > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
