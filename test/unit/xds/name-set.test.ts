import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NameSet } from '../../../src/xds/name-set.ts';
import { finish } from '../../../src/xds/pieces.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...names);

type Step = (names: NameSet, set: Set<string>) => void;

const step: fc.Arbitrary<Step> = fc.oneof(
  name.map(
    (one): Step =>
      (ours, set) => {
        ours.add(one);
        set.add(one);
      },
  ),
  name.map(
    (one): Step =>
      (ours, set) => {
        expect(ours.delete(one)).toBe(set.delete(one));
      },
  ),
  fc.array(name).map(
    (list): Step =>
      (ours, set) => {
        finish(ours.addAll(new Map(list.map((one, at) => [one, at]))));
        for (const one of list) set.add(one);
      },
  ),
);

it('holds what a set would', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const ours = new NameSet();
      const set = new Set<string>();
      for (const run of steps) {
        run(ours, set);
        expect([...ours].sort()).toEqual([...set].sort());
        expect(ours.size).toBe(set.size);
        expect(names.map((one) => ours.has(one))).toEqual(names.map((one) => set.has(one)));
      }
    }),
  );
});

it('does not touch what is shared', () => {
  const shared = new Set(['a', 'b']);
  const one = new NameSet();
  const other = new NameSet();
  finish(one.addAll(shared));
  finish(other.addAll(shared));
  one.delete('a');
  one.add('c');
  expect([...one]).toEqual(['b', 'c']);
  expect([...other]).toEqual(['a', 'b']);
});
