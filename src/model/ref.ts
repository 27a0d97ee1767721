import type { Kind } from './kind.ts';
import type { ObjectKey } from './meta.ts';

/** One object that another one names. The target need not exist. */
export interface Reference {
  /** JSON pointer from the root of the object that refers, for instance `/spec/listeners/0/certificates/1`. */
  readonly field: string;
  readonly kind: Kind;
  readonly key: ObjectKey;
}

export { defaultScope } from './kind.ts';

export function objectKey(kind: Kind, scope: string | undefined, name: string): ObjectKey {
  return scope === undefined ? `${kind}/${name}` : `${kind}/${scope}/${name}`;
}

/** The parts of a key that `objectKey` made. */
export function parseObjectKey(key: ObjectKey): {
  readonly kind: Kind;
  readonly scope?: string;
  readonly name: string;
} {
  const [kind = '', first = '', second] = key.split('/');
  return second === undefined
    ? { kind: kind as Kind, name: first }
    : { kind: kind as Kind, scope: first, name: second };
}

/** The key that a reference in an object of `scope` means: `name` stays in the scope, `scope/name` leaves it. */
export function resolveRef(ref: string, kind: Kind, scope: string): ObjectKey {
  const slash = ref.indexOf('/');
  return slash < 0 ? objectKey(kind, scope, ref) : objectKey(kind, ref.slice(0, slash), ref.slice(slash + 1));
}

/** Whether an object of `scope` may use one of `owner` that allows the scopes `allowed` (`*` is every scope). */
export function allowsScope(owner: string, allowed: readonly string[] | undefined, scope: string): boolean {
  return owner === scope || (allowed?.some((name) => name === '*' || name === scope) ?? false);
}

/** `/spec/listeners/0`: a JSON pointer (RFC 6901) made of `parts`. */
export function pointerTo(...parts: readonly (string | number)[]): string {
  return parts.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
