/**
 * Whether two specs say the same: equal JSON values, whatever the order of their keys. A field that is `undefined` is
 * absent; a default that is written out differs from one that is left out.
 */
export function sameSpec(a: unknown, b: unknown): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => sameSpec(item, b[i]));
  }
  const left = givenFields(a);
  const right = givenFields(b);
  return (
    left.size === right.size && [...left].every(([key, value]) => right.has(key) && sameSpec(value, right.get(key)))
  );
}

function givenFields(object: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(object).filter(([, value]) => value !== undefined));
}
