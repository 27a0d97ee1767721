import { type FairwayObject, type ObjectKey, objectKey, redact } from '../model/index.ts';
import type { Status, View } from './ports.ts';

/** An object as it is shown: without its write-only fields, with its status. */
export type Shown = FairwayObject & { readonly status?: Status };

export function keyOf(object: {
  readonly kind: FairwayObject['kind'];
  readonly metadata: { readonly scope?: string; readonly name: string };
}): ObjectKey {
  return objectKey(object.kind, object.metadata.scope, object.metadata.name);
}

/** Status is computed now. An object that is gone from the View has none. */
export function show(object: FairwayObject, view: View): Shown {
  const shown = redact(object);
  return view.get(keyOf(object)) === undefined ? shown : { ...shown, status: view.status(object) };
}

/** `"12"`: the entity tag of an object is its revision. */
export function entityTag(object: FairwayObject): string {
  return `"${object.metadata.revision}"`;
}

/** `VirtualService default/shop`, `Fleet edge`: an object in a message. */
export function nameOf(key: ObjectKey): string {
  return key.replace('/', ' ');
}
