import { describe, expect, test } from 'vitest';
import type { Match } from '../../../src/model/index.ts';
import { type Ranked, rank } from '../../../src/translate/precedence.ts';

const place: Ranked = {
  age: { createdRevision: 5, key: 'Route/default/m' },
  ruleName: 'm',
  setKey: 'Route/default/m',
  matchIndex: 0,
};

type Side = readonly [match: Match, place?: Partial<Ranked>];

describe('precedence', () => {
  test.each<[name: string, first: Side, second: Side]>([
    ['exact before regex', [{ path: { exact: '/a' } }], [{ path: { regex: '/aaaaaaaaaaaa' } }]],
    ['regex before prefix', [{ path: { regex: '/a' } }], [{ path: { prefix: '/aaaaaaaaaaa' } }]],
    ['exact before a longer prefix', [{ path: { exact: '/' } }], [{ path: { prefix: '/aaaaaaaaaaa' } }]],
    ['longer prefix before shorter', [{ path: { prefix: '/aaaaaaaaaa' } }], [{ path: { prefix: '/aaaaaaaaa' } }]],
    [
      '1000 characters before 999',
      [{ path: { prefix: `/${'a'.repeat(999)}` } }],
      [{ path: { prefix: `/${'a'.repeat(998)}` } }],
    ],
    ['a prefix with its slash before the one without', [{ path: { prefix: '/a/' } }], [{ path: { prefix: '/a' } }]],
    ['a prefix before no path', [{ path: { prefix: '/a' } }], [{ methods: ['GET'] }]],
    ['path before method', [{ path: { exact: '/a' } }], [{ path: { prefix: '/a' }, methods: ['GET'] }]],
    ['method before none', [{ methods: ['GET'] }], [{ headers: [{ name: 'a', present: true }] }]],
    [
      'more headers before fewer',
      [{ headers: headers(10) }],
      [{ headers: headers(9), query: [{ name: 'a', present: true }] }],
    ],
    ['more query parameters before fewer', [{ query: query(2) }], [{ query: query(1) }, { age: age(1) }]],
    ['older object, by number', [{}, { age: age(9) }], [{}, { age: age(10) }]],
    [
      'older object, then by key',
      [{}, { age: age(5, 'Route/default/a'), ruleName: 'z' }],
      [{}, { age: age(5, 'Route/default/b'), ruleName: 'a' }],
    ],
    ['age before name', [{}, { age: age(1), ruleName: 'z' }], [{}, { age: age(2), ruleName: 'a' }]],
    ['name', [{}, { ruleName: 'a' }], [{}, { ruleName: 'b' }]],
    ['a name before those that begin with it', [{}, { ruleName: 'a' }], [{}, { ruleName: 'a-b' }]],
    [
      'inline entries as written',
      [{}, { setKey: 'VirtualService/default/s|web|9' }],
      [{}, { setKey: 'VirtualService/default/s|web|10' }],
    ],
    ['matches of one rule as written', [{}, { matchIndex: 9 }], [{}, { matchIndex: 10 }]],
  ])('%s', (_name, [first, firstPlace], [second, secondPlace]) => {
    expect(rank(first, { ...place, ...firstPlace }) < rank(second, { ...place, ...secondPlace })).toBe(true);
  });

  test('the same is the same', () => {
    expect(rank({ path: { prefix: '/' } }, place)).toBe(rank({}, place));
  });
});

function age(createdRevision: number, key = 'Route/default/m') {
  return { createdRevision, key };
}

function headers(count: number): NonNullable<Match['headers']> {
  return Array.from({ length: count }, (_, i) => ({ name: `h${i}`, present: true }));
}

function query(count: number): NonNullable<Match['query']> {
  return Array.from({ length: count }, (_, i) => ({ name: `q${i}`, present: true }));
}
