import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nodeName } from '../../../src/observe/index.ts';

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

test.each([['lb-1'], ['a'], ['0'], ['a'.repeat(63)]])('%s is its own name', (id) => {
  expect(nodeName(id)).toBe(id);
});

test.each([
  ['LB-1', /^lb-1-[a-z0-9]{8}$/],
  ['lb.example.com', /^lb-example-com-[a-z0-9]{8}$/],
  ['-lb-', /^lb-[a-z0-9]{8}$/],
  ['sidecar~10.0.0.1~pod', /^sidecar-10-0-0-1-pod-[a-z0-9]{8}$/],
  ['Übermaß', /-[a-z0-9]{8}$/],
  ['___', /^node-[a-z0-9]{8}$/],
  ['', /^node-[a-z0-9]{8}$/],
  ['a'.repeat(64), /^a{50}-[a-z0-9]{8}$/],
])('%s gets a name that can be read', (id, pattern) => {
  expect(nodeName(id)).toMatch(pattern);
});

test('every id has a name that is a label, and the same each time; different ids have different ones', () => {
  const ids = fc.oneof(fc.string({ unit: 'binary', maxLength: 100 }), fc.string({ maxLength: 5 }));
  fc.assert(
    fc.property(ids, ids, (a, b) => {
      expect(nodeName(a)).toMatch(label);
      expect(nodeName(a)).toBe(nodeName(a));
      if (a !== b) expect(nodeName(a)).not.toBe(nodeName(b));
    }),
    { numRuns: 500 },
  );
});
