import { describe, expect, test } from 'vitest';
import { formatToken, isExpired, parseToken } from '../../../src/access/index.ts';

const parts = { id: '0123456789ab', secret: 'z'.repeat(52) };

test('a token is read as it was written', () => {
  expect(parseToken(formatToken(parts))).toEqual(parts);
});

describe('is no token', () => {
  const text = formatToken(parts);
  test.each([
    ['nothing', ''],
    ['half of one', text.slice(0, -1)],
    ['more than one', `${text}a`],
    ['another prefix', text.replace('fwt', 'ghp')],
    ['upper case', text.toUpperCase()],
    ['a line behind it', `${text}\n`],
    ['a token of another kind', 'eyJhbGciOiJub25lIn0.e30.'],
  ])('%s', (_name, value) => {
    expect(parseToken(value)).toBeUndefined();
  });
});

test.each([
  [{}, false],
  [{ expiresAt: '2026-01-01T00:00:01.000Z' }, false],
  [{ expiresAt: '2026-01-01T00:00:00.000Z' }, true],
])('%j is over: %j', (record, want) => {
  expect(isExpired(record, Date.UTC(2026, 0, 1))).toBe(want);
});
