import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeRejections } from '../../../src/observe/merge-rejections.ts';
import { maxNamedNodes, type Rejection } from '../../../src/status/index.ts';

function rejection(rest: Partial<Rejection> = {}): Rejection {
  return {
    type: 'Cluster',
    name: 'default/p',
    hash: 'one',
    revision: 10,
    words: 'bad',
    versions: ['envoy 1.40.0'],
    nodes: ['a'],
    nodeCount: 1,
    count: 1,
    first: '2026-01-01T00:00:00Z',
    last: '2026-01-01T00:00:00Z',
    earlier: [],
    accepted: null,
    acquitted: false,
    suspects: [],
    isBaseKnown: true,
    ...rest,
  };
}

describe('refusals seen by two controllers', () => {
  test('of one form name the proxies of both', () => {
    const here = rejection({ nodes: ['a', 'b'], nodeCount: 2, count: 5, last: '2026-01-01T00:00:09Z', words: 'later' });
    const there = rejection({ nodes: ['c'], versions: ['envoy 1.39.0'], first: '2025-12-31T23:59:59Z' });
    expect(mergeRejections(here, there)).toEqual(
      rejection({
        nodes: ['a', 'b', 'c'],
        nodeCount: 3,
        count: 5,
        versions: ['envoy 1.39.0', 'envoy 1.40.0'],
        first: '2025-12-31T23:59:59Z',
        last: '2026-01-01T00:00:09Z',
        words: 'later',
      }),
    );
  });

  test('of two forms are of the newer one, and remember the other', () => {
    const newer = rejection({ hash: 'two', revision: 20, earlier: ['zero'], nodes: ['b'] });
    expect(mergeRejections(rejection(), newer)).toEqual({ ...newer, earlier: ['one', 'zero'] });
  });

  test('name no more proxies than a record may', () => {
    const nodes = (prefix: string) => Array.from({ length: maxNamedNodes }, (_, i) => `${prefix}${i}`);
    const many = rejection({ nodes: nodes('a'), nodeCount: 500 });
    const merged = mergeRejections(many, rejection({ nodes: nodes('b'), nodeCount: 300 }));
    expect(merged).toMatchObject({ nodes: nodes('a'), nodeCount: 500 });
  });

  test('are acquitted where the newer of them are', () => {
    const acquitted = rejection({ acquitted: true });
    expect(mergeRejections(acquitted, rejection()).acquitted).toBe(true);
    expect(mergeRejections(acquitted, rejection({ revision: 11 })).acquitted).toBe(false);
  });
});

test('whoever merges, in which order and how often: all come to the same', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd');
  const time = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z', '2026-01-01T00:00:02Z');
  const arbitrary = fc
    .record({
      hash: word,
      revision: fc.nat(3),
      nodes: fc.uniqueArray(word).map((names) => names.sort()),
      versions: fc.uniqueArray(word, { minLength: 1 }).map((names) => names.sort()),
      count: fc.nat(5),
      first: time,
      last: time,
      acquitted: fc.boolean(),
    })
    .map((rest) => rejection({ ...rest, nodeCount: rest.nodes.length }));
  fc.assert(
    fc.property(arbitrary, arbitrary, (a, b) => {
      const merged = mergeRejections(a, b);
      const told = ({ words: _words, earlier, ...rest }: Rejection) => ({ ...rest, earlier: earlier.toSorted() });
      expect(told(mergeRejections(b, a))).toEqual(told(merged));
      expect(mergeRejections(merged, merged)).toEqual(merged);
      expect(told(mergeRejections(merged, b))).toEqual(told(merged));
    }),
  );
});
