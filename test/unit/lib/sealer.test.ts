import { expect, test } from 'vitest';
import { FairwayError } from '../../../src/lib/errors.ts';
import { createSealer, keyIdOf, newDataKey, parseDataKeys, type Sealer } from '../../../src/lib/sealer.ts';

function sealerOf(...keys: readonly string[]): Sealer {
  const parsed = parseDataKeys(keys.join('\n'));
  if (!parsed.ok) throw new Error(parsed.error);
  return createSealer(parsed.value);
}

const [a, b, c] = [newDataKey(), newDataKey(), newDataKey()];

test('what is sealed opens at its place, and says nothing before', () => {
  const sealer = sealerOf(a);
  for (const plain of ['', 'secret', 'ключ 😀', '\ud800', 'x'.repeat(100_000)]) {
    const sealed = sealer.seal(plain, 'here');
    expect(sealer.open(sealed, 'here')).toBe(plain.toWellFormed());
    expect(keyIdOf(sealed)).toBe(sealer.keyId);
    if (plain !== '') expect(sealed).not.toContain(plain);
    expect(sealer.seal(plain, 'here')).not.toBe(sealed);
  }
});

test('it opens nowhere else, and not when any part of it was changed', () => {
  const sealer = sealerOf(a);
  const sealed = sealer.seal('secret', 'here');
  expect(() => sealer.open(sealed, 'there')).toThrow(/changed, or moved/);
  const start = sealed.lastIndexOf('.') + 1;
  for (let at = start; at < sealed.length; at++) {
    const other = sealed[at] === 'A' ? 'Q' : 'A';
    const changed = `${sealed.slice(0, at)}${other}${sealed.slice(at + 1)}`;
    expect(() => sealer.open(changed, 'here'), `character ${at}`).toThrow(FairwayError);
  }
  expect(() => sealer.open(sealed.slice(0, -4), 'here')).toThrow(FairwayError);
  expect(() => sealer.open('fw2.0123456789abcdef.AAAA', 'here')).toThrow(/not of a form/);
});

test('the last key of a ring seals, all of them open, and others are named by their id', () => {
  const sealed = sealerOf(a).seal('secret', 'here');
  const ring = sealerOf(a, b);
  expect(ring.open(sealed, 'here')).toBe('secret');
  expect(ring.keyId).toBe(sealerOf(b).keyId);
  expect([...ring.keyIds].sort()).toEqual([sealerOf(a).keyId, sealerOf(b).keyId].sort());
  expect(() => sealerOf(b, c).open(sealed, 'here')).toThrow(`sealed with data key ${sealerOf(a).keyId}`);
});

test('keys are read with comments, in lines or words', () => {
  expect(sealerOf(`# a comment\n\n${a} # another\n ${b}\r\n`).keyId).toBe(sealerOf(b).keyId);
  expect(sealerOf(`${b} ${a}`).keyId).toBe(sealerOf(a).keyId);
});

test.each<[string, string, string]>([
  ['nothing', '', 'there is no key in it'],
  ['a comment', '# no key', 'there is no key in it'],
  ['a key that is too short', `${a}\n${Buffer.alloc(16).toString('base64')}`, 'key 2 of 2 is not 32 bytes in base64'],
  ['a key in hexadecimal', '0'.repeat(64), 'key 1 of 1 is not 32 bytes in base64'],
  ['a key that was cut off', a.slice(0, -1), 'key 1 of 1 is not 32 bytes in base64'],
])('%s is no ring', (_, text, want) => {
  expect(parseDataKeys(text)).toEqual({ ok: false, error: want });
});
