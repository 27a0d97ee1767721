import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeUtf8 } from '../../../src/lib/utf8.ts';

const encoder = new TextEncoder();

test.each<[string, readonly number[], string | { offset: number }]>([
  ['nothing', [], ''],
  ['ASCII', [0x61, 0x62], 'ab'],
  ['two bytes', [0xc3, 0xa4], 'ä'],
  ['a byte order mark', [0xef, 0xbb, 0xbf, 0x61], 'a'],
  ['the last character', [0xf4, 0x8f, 0xbf, 0xbf], '\u{10ffff}'],
  ['a lone continuation', [0x61, 0x80], { offset: 1 }],
  ['a Latin-1 letter', [0x61, 0xe4, 0x62], { offset: 1 }],
  ['a cut character', [0x61, 0xe2, 0x82], { offset: 1 }],
  ['an overlong slash', [0xc0, 0xaf], { offset: 0 }],
  ['an overlong form of three bytes', [0xe0, 0x80, 0xaf], { offset: 0 }],
  ['an overlong form of four bytes', [0xf0, 0x80, 0x80, 0xaf], { offset: 0 }],
  ['a surrogate', [0x61, 0x61, 0xed, 0xa0, 0x80], { offset: 2 }],
  ['above the last character', [0xf4, 0x90, 0x80, 0x80], { offset: 0 }],
  ['a byte that never occurs', [0xc3, 0xa4, 0xff], { offset: 2 }],
])('%s', (_, bytes, want) => {
  const text = decodeUtf8(Uint8Array.from(bytes));
  expect(text.ok ? text.value : text.error).toEqual(want);
});

test('text survives, and a damaged byte is found where it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (before, after) => {
      fc.pre(!before.startsWith('\ufeff'));
      const head = encoder.encode(before);
      expect(decodeUtf8(head)).toEqual({ ok: true, value: before });
      const bytes = Uint8Array.from([...head, 0xff, ...encoder.encode(after)]);
      expect(decodeUtf8(bytes)).toEqual({ ok: false, error: { offset: head.length } });
    }),
  );
});
