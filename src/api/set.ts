import { FairwayError } from '../lib/errors.ts';
import { pointerTo } from '../model/index.ts';
import { invalidObject } from './draft.ts';

/** One object of a body that holds several. */
export interface SetItem {
  /** Where it stands in the body: `/objects/3`, `/3`, or `` for the only one. */
  readonly pointer: string;
  readonly value: unknown;
}

/**
 * The objects of a body: `{"objects": […]}`, a list, one object, or several YAML documents each of which is one of
 * these. Pointers of several documents begin with the number of the document.
 */
export function splitSet(values: readonly unknown[]): readonly SetItem[] {
  const items = values.flatMap((value, i) => itemsOf(value, values.length === 1 ? '' : pointerTo(i)));
  if (items.length === 0) throw new FairwayError('MalformedBody', 'reading the body: there is no object in it');
  return items;
}

function itemsOf(value: unknown, pointer: string): readonly SetItem[] {
  if (Array.isArray(value)) return listItems(value, pointer);
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'objects')) return [{ pointer, value }];
  const { objects, ...others } = value as { readonly objects: unknown };
  const [unknownField] = Object.keys(others);
  if (unknownField !== undefined) {
    const message = 'is not a field here; the only one is objects';
    throw invalidObject([{ pointer: pointer + pointerTo(unknownField), message }], 'reading the set');
  }
  if (!Array.isArray(objects)) {
    throw invalidObject([{ pointer: `${pointer}/objects`, message: 'must be a list' }], 'reading the set');
  }
  return listItems(objects, `${pointer}/objects`);
}

function listItems(list: readonly unknown[], pointer: string): readonly SetItem[] {
  return list.map((value, i) => ({ pointer: pointer + pointerTo(i), value }));
}
