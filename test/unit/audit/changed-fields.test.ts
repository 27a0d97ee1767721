import { describe, expect, test } from 'vitest';
import { changedFields } from '../../../src/audit/index.ts';
import type { FairwayObject } from '../../../src/model/index.ts';

function object(spec: object, metadata: object = {}, kind = 'BackendPool'): FairwayObject {
  return { kind, metadata: { name: 'web', labels: {}, annotations: {}, ...metadata }, spec } as FairwayObject;
}

const member = (n: number, weight = 1) => ({ address: `10.0.0.${n}`, port: 80, weight });

describe('the fields of an object that changed', () => {
  test.each<[string, FairwayObject | undefined, FairwayObject | undefined, unknown[]]>([
    ['nothing', object({ a: 1 }), object({ a: 1 }), []],
    ['what Fairway writes', object({ a: 1 }, { revision: '1' }), object({ a: 1 }, { revision: '2' }), []],
    [
      'all of what is created, by the fields of the first level',
      undefined,
      object({ algorithm: 'random', members: [member(1)] }, { labels: { team: 'web' } }),
      [
        { path: '/metadata/labels/team', after: 'web' },
        { path: '/spec/algorithm', after: 'random' },
        { path: '/spec/members', after: [member(1)] },
      ],
    ],
    ['all of what is deleted', object({ a: 1 }), undefined, [{ path: '/spec/a', before: 1 }]],
    [
      'a value, one that came and one that went',
      object({ a: 1, gone: true }),
      object({ a: 2, come: false }),
      [
        { path: '/spec/a', before: 1, after: 2 },
        { path: '/spec/gone', before: true },
        { path: '/spec/come', after: false },
      ],
    ],
    [
      'deep inside',
      object({ members: [member(1), member(2), member(3)] }),
      object({ members: [member(1), member(2, 5), member(3)] }),
      [{ path: '/spec/members/1/weight', before: 1, after: 5 }],
    ],
    [
      'one that is taken out of a list',
      object({ members: [member(1), member(2), member(3)] }),
      object({ members: [member(1), member(3)] }),
      [{ path: '/spec/members/1', before: member(2) }],
    ],
    [
      'some that are put into a list',
      object({ members: [member(1)] }),
      object({ members: [member(2), member(3), member(1)] }),
      [
        { path: '/spec/members/0', after: member(2) },
        { path: '/spec/members/1', after: member(3) },
      ],
    ],
    ['the order of keys', object({ a: { x: 1, y: 2 } }), object({ a: { y: 2, x: 1 } }), []],
    [
      'a list that becomes a map',
      object({ a: [1] }),
      object({ a: { 0: 1 } }),
      [{ path: '/spec/a', before: [1], after: { 0: 1 } }],
    ],
    [
      'names with signs, and names that all maps have',
      object({}, { labels: {} }),
      object({}, { labels: { 'a/b~c': 'x', constructor: 'y' } }),
      [
        { path: '/metadata/labels/a~1b~0c', after: 'x' },
        { path: '/metadata/labels/constructor', after: 'y' },
      ],
    ],
  ])('%s', (_, before, after, want) => {
    expect(changedFields(before, after)).toEqual(want);
  });
});

describe('a secret', () => {
  const certificate = (spec: object) => object(spec, {}, 'Certificate');

  test.each<[string, object | undefined, object | undefined, unknown[]]>([
    ['that comes', { chain: 'c' }, { chain: 'c', key: 'k1' }, [{ path: '/spec/key', after: '[redacted]' }]],
    ['that goes', { chain: 'c', key: 'k1' }, { chain: 'c' }, [{ path: '/spec/key', before: '[redacted]' }]],
    [
      'that is replaced',
      { key: 'k1' },
      { key: 'k2' },
      [{ path: '/spec/key', before: '[redacted]', after: '[redacted]' }],
    ],
    ['that stays', { key: 'k1' }, { key: 'k1' }, []],
    [
      'of what is created',
      undefined,
      { chain: 'c', key: 'k1' },
      [
        { path: '/spec/chain', after: 'c' },
        { path: '/spec/key', after: '[redacted]' },
      ],
    ],
  ])('%s is told, and never what it is', (_, before, after, want) => {
    const [was, is] = [before && certificate(before), after && certificate(after)];
    const fields = changedFields(was, is);
    expect(fields).toEqual(want);
    expect(JSON.stringify(fields)).not.toMatch(/k[12]/);
  });
});
