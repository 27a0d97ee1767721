import { describe, expect, it } from 'vitest';
import { flag, readQuery, text, wholeNumber } from '../../../src/api/query.ts';

const parameters = {
  dryRun: flag(''),
  limit: wholeNumber('', 1, 100),
  after: wholeNumber('', 0),
  name: text(''),
} as const;

describe('a query', () => {
  it.each([
    [{}, {}],
    [
      { dryRun: 'true', limit: '10' },
      { dryRun: true, limit: 10 },
    ],
    [
      { dryRun: '', after: '0' },
      { dryRun: true, after: 0 },
    ],
    [
      { dryRun: 'false', name: 'a b' },
      { dryRun: false, name: 'a b' },
    ],
  ])('%j', (query, want) => {
    expect(readQuery(query, parameters)).toEqual(want);
  });

  it.each([
    [{ dryRun: 'yes' }, 'dryRun must be true or false'],
    [{ limit: '0' }, 'limit must be a whole number from 1 to 100'],
    [{ limit: '101' }, 'limit must be a whole number from 1 to 100'],
    [{ limit: '1e1' }, 'limit must be a whole number'],
    [{ after: '-1' }, 'after must be a whole number from 0'],
    [{ after: '99999999999999999' }, 'after must be'],
    [{ name: '' }, 'name must be a text'],
    [{ name: ['a', 'b'] }, 'name is given more than once'],
    [{ dryrun: 'true' }, 'dryrun is no parameter of this request; did you mean `dryRun`?'],
    [{ other: 'true' }, 'it takes dryRun, limit, after, name'],
    [{ constructor: 'true' }, 'constructor is no parameter'],
  ])('%j is refused', (query, words) => {
    expect(() => readQuery(query, parameters)).toThrow(
      expect.objectContaining({ code: 'InvalidParameter', message: expect.stringContaining(words) }),
    );
  });
});
