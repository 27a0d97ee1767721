/**
 * The order of keys: by their UTF-8 bytes, which is the order of code points. SQLite and etcd order this way by
 * themselves; JavaScript's `<` compares UTF-16 units and puts `U+1F600` before `U+FF5E`, so it is not used on keys.
 */

/** Negative, zero or positive, as `Array.prototype.sort` wants it. Both keys must be well-formed text. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Lifts surrogates (which stand for code points from U+10000) over U+E000 to U+FFFF; the rest keeps its place. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * The smallest key greater than every key that starts with `prefix`, so that `prefix <= key < prefixEnd(prefix)` is
 * exactly "starts with". Undefined where no key is greater: the empty prefix, and one of U+10FFFF alone.
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) as number;
    if (point === 0x10ffff) continue;
    // U+D800 to U+DFFF are no characters: UTF-8 cannot write them.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
  return undefined;
}
