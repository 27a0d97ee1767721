import { expect, test } from 'vitest';
import { nearest } from '../../../src/lib/nearest.ts';

const fields = ['name', 'port', 'protocol', 'hosts', 'idleTimeout'];

test.each<[string, readonly string[], string | undefined]>([
  ['prot', fields, 'port'],
  ['PORT', fields, 'port'],
  ['ports', fields, 'port'],
  ['protcol', fields, 'protocol'],
  ['host', fields, 'hosts'],
  ['idletimeout', fields, 'idleTimeout'],
  ['idle_timeout', fields, 'idleTimeout'],
  ['timeout', fields, undefined],
  ['xyz', fields, undefined],
  ['', fields, undefined],
  ['a', ['b'], undefined],
  ['VirtualServise', ['Route', 'VirtualService'], 'VirtualService'],
  ['get', ['GET', 'PUT'], 'GET'],
  ['abd', ['abc', 'abe'], 'abc'],
  ['x'.repeat(100_000), fields, undefined],
])('%.20s', (word, candidates, want) => {
  expect(nearest(word, candidates)).toBe(want);
});
