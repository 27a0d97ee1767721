import { describe, expect, it } from 'vitest';
import { createJoinToken, formatJoinToken, hashOfSecret, parseJoinToken } from '../../../src/lib/join-token.ts';

const pin = 'p'.repeat(43);

describe('a join token', () => {
  it('is read as it was written, also with spaces around it', () => {
    const token = createJoinToken(pin);
    expect(parseJoinToken(` ${formatJoinToken(token)}\n`)).toEqual(token);
  });

  it('is never the same, and neither is its hash', () => {
    const [one, two] = [createJoinToken(pin), createJoinToken(pin)];
    expect(one.secret).not.toBe(two.secret);
    expect(hashOfSecret(one)).not.toBe(hashOfSecret(two));
    expect(hashOfSecret(one)).not.toContain(one.secret);
    // Of another id with the same secret it is another one.
    expect(hashOfSecret({ ...one, id: two.id })).not.toBe(hashOfSecret(one));
  });

  const good = formatJoinToken(createJoinToken(pin));
  it.each([
    ['nothing', ''],
    ['another version', good.replace('fwj1', 'fwj2')],
    ['a part too few', good.split('.').slice(0, 3).join('.')],
    ['a part too many', `${good}.x`],
    ['a character cut off', good.slice(0, -1)],
    ['a character that is none', good.replace(/.$/, '+')],
  ])('is not %s', (_name, text) => {
    expect(parseJoinToken(text)).toBeUndefined();
  });
});
