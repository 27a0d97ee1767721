import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeRejection,
  decodeSearch,
  encodeRejection,
  encodeSearch,
  joinPieces,
  partsOfWrite,
  piecesOf,
  recordKeyOf,
  type Suspect,
  surplusPieces,
} from '../../../src/status/index.ts';
import { storeLimits } from '../../../src/store/store.ts';
import { convictionOf, rejectionOf, suspectOf } from '../../support/refusal-records.ts';

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,61}[a-z]$/);
const suspect: fc.Arbitrary<Suspect> = fc.record({
  unit: fc.oneof(
    fc.tuple(name, name).map(([scope, of]) => `Route/${scope}/${of}`),
    name.map((of) => `Fleet/${of}`),
  ),
  uid: fc.uuid(),
  refused: fc.nat(),
  good: fc.option(fc.nat()),
});
const suspects = fc.uniqueArray(suspect, { maxLength: 30, selector: ({ unit }) => unit });
const byUnit = (list: readonly Suspect[]) => new Map(list.map((one) => [one.unit, one]));

describe('the text of a record', () => {
  test('says what the record says, in ASCII', () => {
    fc.assert(
      fc.property(suspects, fc.string({ unit: 'binary' }), (list, words) => {
        const rejection = rejectionOf({ suspects: list, words });
        const text = encodeRejection(rejection);
        expect(text).toMatch(/^[ -~]*$/);
        const { suspects: read, ...rest } = decodeRejection(text);
        expect({ ...rest, suspects: [] }).toEqual({ ...rejection, suspects: [] });
        expect(byUnit(read)).toEqual(byUnit(list));
        const search = { ...convictionOf(suspectOf()), trial: list, hot: list, cold: list };
        const found = decodeSearch(encodeSearch(search));
        for (const one of ['trial', 'hot', 'cold'] as const) expect(byUnit(found[one])).toEqual(byUnit(list));
        expect(found.guilty).toEqual(search.guilty);
      }),
    );
  });

  test('of 3,000 objects fits one value', () => {
    const list = Array.from({ length: 3_000 }, (_, n) =>
      suspectOf({ unit: `Route/team-${n % 20}/checkout-${n}`, uid: crypto.randomUUID(), refused: 12, good: 11 }),
    );
    expect(encodeRejection(rejectionOf({ suspects: list })).length).toBeLessThan(storeLimits.valueBytes);
  });
});

describe('a text that is longer than a value', () => {
  const text = `{${'x'.repeat(2_000_000)}}`;
  const pieces = piecesOf('plan/pin/t', text, 's1');
  const read = (values: ReadonlyMap<string, string>) =>
    joinPieces((at) => values.get(at === 0 ? 'plan/pin/t' : `plan/pin/t#${at}`));
  const all = new Map(pieces.map(({ key, value }) => [key, value]));

  test('is cut, and put together again', () => {
    expect(pieces.length).toBe(8);
    for (const { key, value } of pieces) {
      expect(value.length).toBeLessThan(storeLimits.valueBytes);
      expect(recordKeyOf(key)).toBe('plan/pin/t');
    }
    expect(read(all)).toBe(text);
    expect(read(new Map([['plan/pin/t', '{"short":1}']]))).toBe('{"short":1}');
    expect(read(new Map())).toBeUndefined();
  });

  test('counts for nothing until all of one write is there', () => {
    for (const { key } of pieces.slice(1)) {
      const some = new Map(all);
      some.delete(key);
      expect(read(some)).toBe('partial');
    }
    const [other] = piecesOf('plan/pin/t', text, 's2');
    expect(read(new Map([...all, ['plan/pin/t', other?.value ?? '']]))).toBe('partial');
  });

  test('is written in commits that a store takes; what it no longer needs goes with the last', () => {
    const parts = partsOfWrite(pieces, surplusPieces('plan/pin/t', 8, 10));
    expect(parts.map(({ puts, deletes }) => [puts.length, deletes])).toEqual([
      [4, []],
      [4, ['plan/pin/t#8', 'plan/pin/t#9']],
    ]);
    for (const { puts } of parts) {
      const sizeBytes = puts.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
      expect(sizeBytes).toBeLessThan(storeLimits.transactionBytes);
    }
    expect(partsOfWrite([], ['a'])).toEqual([{ puts: [], deletes: ['a'] }]);
    expect(surplusPieces('k', 1, 1)).toEqual([]);
    expect(surplusPieces('k', 0, 2)).toEqual(['k', 'k#1']);
  });
});
