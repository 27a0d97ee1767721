import { err, ok, type Result } from './result.ts';

/**
 * The text of UTF-8 bytes, without a byte order mark at the start. When they are not UTF-8: the offset of the first byte
 * that cannot be where it is (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
 */
export function decodeUtf8(bytes: Uint8Array): Result<string, { readonly offset: number }> {
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    return err({ offset: firstFault(bytes) });
  }
}

function firstFault(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** Bytes of the character at `at`; 0 when there is none. The table is that of RFC 3629 section 4. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const lowest =
    new Map([
      [0xe0, 0xa0],
      [0xf0, 0x90],
    ]).get(lead) ?? 0x80;
  const highest =
    new Map([
      [0xed, 0x9f],
      [0xf4, 0x8f],
    ]).get(lead) ?? 0xbf;
  for (let i = 1; i < length; i++) {
    const next = bytes[at + i] ?? 0;
    if (next < (i === 1 ? lowest : 0x80) || next > (i === 1 ? highest : 0xbf)) return 0;
  }
  return length;
}
