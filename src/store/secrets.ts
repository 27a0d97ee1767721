import { InvariantError } from '../lib/errors.ts';
import { keyIdOf, type Sealer } from '../lib/sealer.ts';

/**
 * Secrets inside values: JSON pointers (RFC 6901) name the parts of a value that are sealed, `''` the whole. In a stored
 * value such a part is `{"sealed": TEXT}` (lib/sealer.ts), of its JSON or, of a whole value, of its text, which need not
 * be JSON.
 */

/** Which parts of the value at a key are secret; none as a rule. */
export type SecretsAt = (key: string) => readonly string[];

interface Sealed {
  readonly sealed: string;
}

/** The value as it may be stored: its secrets are sealed for this key. */
export function sealValue(key: string, value: string, pointers: readonly string[], sealer: Sealer): string {
  const seal = (text: string, place: string): Sealed => ({ sealed: sealer.seal(text, place) });
  if (isWhole(pointers)) return JSON.stringify(seal(value, placeOf(key, '')));
  return mapParts(key, value, pointers, (part, place) => seal(JSON.stringify(part), place));
}

/** The value as it was given. A part that was stored in clear, by a version that did not seal yet, is left as it is. */
export function openValue(key: string, value: string, pointers: readonly string[], sealer: Sealer): string {
  if (isWhole(pointers)) {
    const sealed = sealedWhole(value);
    return sealed === undefined ? value : sealer.open(sealed, placeOf(key, ''));
  }
  return mapParts(key, value, pointers, (part, place) =>
    isSealed(part) ? JSON.parse(sealer.open(part.sealed, place)) : part,
  );
}

/** How the secrets of a stored value are kept: ids of data keys, and whether one of them stands in clear. */
export interface Sealing {
  readonly keyIds: ReadonlySet<string>;
  readonly isClear: boolean;
}

export function sealingOf(key: string, value: string, pointers: readonly string[]): Sealing {
  const keyIds = new Set<string>();
  let isClear = false;
  const look = (sealed: string | undefined): void => {
    const id = sealed === undefined ? undefined : keyIdOf(sealed);
    if (id === undefined) isClear = true;
    else keyIds.add(id);
  };
  if (isWhole(pointers)) look(sealedWhole(value));
  else {
    mapParts(key, value, pointers, (part) => {
      look(isSealed(part) ? part.sealed : undefined);
      return part;
    });
  }
  return { keyIds, isClear };
}

function isWhole(pointers: readonly string[]): boolean {
  return pointers.length === 1 && pointers[0] === '';
}

/** One text for each part of each value, so that no two are taken for each other. */
function placeOf(key: string, pointer: string): string {
  return JSON.stringify([key, pointer]);
}

function sealedWhole(value: string): string | undefined {
  if (!value.startsWith('{"sealed":')) return undefined;
  try {
    const part: unknown = JSON.parse(value);
    return isSealed(part) ? part.sealed : undefined;
  } catch {
    return undefined;
  }
}

function isSealed(part: unknown): part is Sealed {
  if (typeof part !== 'object' || part === null || Object.keys(part).length !== 1) return false;
  return 'sealed' in part && typeof part.sealed === 'string' && keyIdOf(part.sealed) !== undefined;
}

type Change = (part: unknown, place: string) => unknown;

function mapParts(key: string, value: string, pointers: readonly string[], change: Change): string {
  let whole: unknown;
  try {
    whole = JSON.parse(value);
  } catch (cause) {
    throw new InvariantError(`the value of ${key} has secret parts and is no JSON`, { cause });
  }
  for (const pointer of pointers) {
    whole = mapPart(whole, pointer.split('/').slice(1), (part) => change(part, placeOf(key, pointer)));
  }
  return JSON.stringify(whole);
}

/** A copy of `value` with another part at `path`; `value` itself where there is none. */
function mapPart(value: unknown, path: readonly string[], change: (part: unknown) => unknown): unknown {
  const [field, ...rest] = path;
  if (field === undefined) return change(value);
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return value;
  return { ...value, [field]: mapPart((value as Readonly<Record<string, unknown>>)[field], rest, change) };
}
