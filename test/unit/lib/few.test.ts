import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FewMap, FewSet } from '../../../src/lib/few.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
const step = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), key, value: fc.integer() }),
  fc.record({ kind: fc.constant('delete' as const), key, value: fc.constant(0) }),
  fc.record({ kind: fc.constant('clear' as const), key, value: fc.constant(0) }),
);

describe('FewMap', () => {
  test('is what a Map is after any steps, the order included', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const few = new FewMap<string, number>();
        const map = new Map<string, number>();
        for (const { kind, key: of, value } of steps) {
          if (kind === 'set') {
            few.set(of, value);
            map.set(of, value);
          } else if (kind === 'delete') expect(few.delete(of)).toBe(map.delete(of));
          else {
            few.clear();
            map.clear();
          }
          expect([...few]).toEqual([...map]);
          expect(few.size).toBe(map.size);
          expect(few.get(of)).toBe(map.get(of));
          expect(few.has(of)).toBe(map.has(of));
        }
        expect([...few.keys()]).toEqual([...map.keys()]);
        expect([...few.values()]).toEqual([...map.values()]);
      }),
    );
  });

  test('while it is gone through, what is deleted before its turn is left out, and nothing else', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key), fc.array(key), (keys, deleted) => {
        const few = new FewMap<string, string>();
        for (const one of keys) few.set(one, one);
        const seen: string[] = [];
        for (const [one] of few) {
          seen.push(one);
          few.delete(one);
          const [next] = deleted.splice(0, 1);
          if (next !== undefined) few.delete(next);
          for (const other of few.keys()) expect(seen).not.toContain(other);
        }
        expect(few.size).toBe(0);
      }),
    );
  });
});

test('FewSet is what a Set is', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const few = new FewSet<string>();
      const set = new Set<string>();
      for (const { kind, key: of } of steps) {
        if (kind === 'set') {
          few.add(of);
          set.add(of);
        } else if (kind === 'delete') expect(few.delete(of)).toBe(set.delete(of));
        else {
          few.clear();
          set.clear();
        }
        expect([...few]).toEqual([...set]);
        expect(few.has(of)).toBe(set.has(of));
      }
    }),
  );
});
