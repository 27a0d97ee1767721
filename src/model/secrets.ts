import type { Kind } from './kind.ts';
import { type DraftObject, kinds } from './kinds.ts';
import { secretPrefix, storePrefixes } from './stored.ts';

/** Write-only fields: taken, kept, never returned. */

/** A copy of an object without its write-only fields. Objects of unknown kinds come back as they are. */
export function redact<T extends { readonly kind: string }>(object: T): T {
  const info = Object.hasOwn(kinds, object.kind) ? kinds[object.kind as Kind] : undefined;
  return (info?.secretFields ?? []).reduce((copy: T, pointer) => without(copy, segments(pointer)) as T, object);
}

/** The draft with those write-only fields of the stored object that it leaves out and that belong to what it keeps. */
export function keepSecrets(draft: DraftObject, stored: Pick<DraftObject, 'kind' | 'spec'> | undefined): DraftObject {
  // The only write-only field so far is the key of a chain; it means nothing beside a CA.
  if (draft.kind !== 'Certificate' || stored?.kind !== 'Certificate') return draft;
  const { key } = stored.spec as { readonly key?: string };
  if (draft.spec.chain === undefined || draft.spec.key !== undefined || key === undefined) return draft;
  return { ...draft, spec: { ...draft.spec, key } };
}

const whole: readonly string[] = [''];
const none: readonly string[] = [];

/** Beginnings of store keys whose values hold secrets, with the JSON pointers of these. */
const secretPlaces: readonly (readonly [prefix: string, pointers: readonly string[]])[] = [
  ...Object.values(kinds).flatMap(({ kind, secretFields }) =>
    secretFields.length === 0
      ? []
      : ([storePrefixes.spec, storePrefixes.history] as const).map(
          (prefix) => [`${prefix}${kind}/`, secretFields] as const,
        ),
  ),
  [secretPrefix, whole],
];

/** Beginnings of all store keys whose values may hold secrets. */
export const secretKeyPrefixes: readonly string[] = secretPlaces.map(([prefix]) => prefix);

/**
 * JSON pointers of what is secret in the value at a store key; `''` is the whole value, no pointer nothing. Asked of
 * every entry that is read or written.
 */
export function secretsAt(storeKey: string): readonly string[] {
  for (const [prefix, pointers] of secretPlaces) if (storeKey.startsWith(prefix)) return pointers;
  return none;
}

function segments(pointer: string): readonly string[] {
  return pointer.split('/').slice(1);
}

/** A copy of `value` without the field at `path`; `value` itself where there is none. */
function without(value: unknown, path: readonly string[]): unknown {
  const [field, ...rest] = path;
  if (field === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return value;
  const { [field]: inner, ...others } = value as Readonly<Record<string, unknown>>;
  return rest.length === 0 ? others : { ...others, [field]: without(inner, rest) };
}
