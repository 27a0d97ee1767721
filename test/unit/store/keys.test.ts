import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareKeys, prefixEnd } from '../../../src/store/keys.ts';

const text = fc.string({ unit: 'binary', maxLength: 6 });
const byBytes = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe('compareKeys', () => {
  test.each([
    ['', '', 0],
    ['', 'a', -1],
    ['a', 'a', 0],
    ['a/', 'a0', -1],
    ['a', 'a\u0000', -1],
    ['\ud7ff', '\ue000', -1],
    ['～', '😀', -1],
    ['\uffff', '\u{10000}', -1],
    ['😀', '😁', -1],
  ])('%j, %j: %i', (a, b, want) => {
    expect(Math.sign(compareKeys(a, b))).toBe(want);
    expect(Math.sign(compareKeys(b, a))).toBe(want === 0 ? 0 : -want);
  });

  test('is the order of the UTF-8 bytes', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(byBytes(a, b));
      }),
    );
  });
});

describe('prefixEnd', () => {
  test.each([
    ['', undefined],
    ['a', 'b'],
    ['a/', 'a0'],
    ['a\u007f', 'a\u0080'],
    ['\ud7ff', '\ue000'],
    ['\uffff', '\u{10000}'],
    ['a\u{10ffff}', 'b'],
    ['\u{10ffff}\u{10ffff}', undefined],
  ])('%j: %j', (prefix, want) => {
    expect(prefixEnd(prefix)).toBe(want);
  });

  test('bounds exactly the keys with the prefix', () => {
    // Half of the keys are made from the prefix, else hardly one would start with it.
    const pair = text.chain((prefix) =>
      fc.tuple(
        fc.constant(prefix),
        fc.oneof(
          text,
          text.map((rest) => prefix + rest),
        ),
      ),
    );
    fc.assert(
      fc.property(pair, ([prefix, key]) => {
        const end = prefixEnd(prefix);
        const within = compareKeys(key, prefix) >= 0 && (end === undefined || compareKeys(key, end) < 0);
        expect(within).toBe(key.startsWith(prefix));
      }),
    );
  });
});
