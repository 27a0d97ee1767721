import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Agenda } from '../../../src/xds/agenda.ts';
import type { NameList } from '../../../src/xds/name-set.ts';
import { finish } from '../../../src/xds/pieces.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const name = fc.constantFrom(...names);

function listOf(list: readonly string[]): NameList {
  return { names: list, places: new Map(list.map((one, at) => [one, at])) };
}

/** What an agenda says, name by name. */
interface Model {
  readonly open: Set<string>;
  readonly forced: Set<string>;
}

type Step = (agenda: Agenda, model: Model) => void;

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(name, fc.boolean()).map(
    ([one, force]): Step =>
      (agenda, { open, forced }) => {
        agenda.add(one, force);
        open.add(one);
        if (force) forced.add(one);
      },
  ),
  fc.tuple(fc.uniqueArray(name), fc.boolean()).map(
    ([list, force]): Step =>
      (agenda, { open, forced }) => {
        finish(agenda.addList(listOf(list), force, false));
        for (const one of list) {
          open.add(one);
          if (force) forced.add(one);
        }
      },
  ),
  name.map(
    (one): Step =>
      (agenda, { open, forced }) => {
        agenda.delete(one);
        open.delete(one);
        forced.delete(one);
      },
  ),
  name.map(
    (one): Step =>
      (agenda, { open }) => {
        agenda.postpone(one);
        open.delete(one);
      },
  ),
  // The first ones, in turn, as they are when they are sent.
  fc.nat({ max: 6 }).map(
    (count): Step =>
      (agenda, { open, forced }) => {
        for (const one of [...agenda].slice(0, count)) {
          agenda.delete(one);
          open.delete(one);
          forced.delete(one);
        }
      },
  ),
  // While it is gone through.
  fc.array(name).map(
    (others): Step =>
      (agenda, { open, forced }) => {
        const seen: string[] = [];
        for (const one of agenda) {
          seen.push(one);
          const other = others.pop();
          for (const each of other === undefined ? [one] : [one, other]) {
            agenda.delete(each);
            open.delete(each);
            forced.delete(each);
          }
        }
        expect(new Set(seen).size).toBe(seen.length);
      },
  ),
);

it('names are open and forced as if each were noted on its own', () => {
  fc.assert(
    fc.property(fc.array(step, { size: 'max', maxLength: 30 }), (steps) => {
      const agenda = new Agenda();
      const model: Model = { open: new Set(), forced: new Set() };
      for (const run of steps) {
        run(agenda, model);
        expect([...agenda].sort()).toEqual([...model.open].sort());
        expect(agenda.size).toBe(model.open.size);
        expect(names.filter((one) => agenda.has(one))).toEqual([...model.open].sort());
        expect(names.filter((one) => agenda.forces(one))).toEqual([...model.forced].sort());
      }
    }),
  );
});

it('goes through a list in its order, in which others begin where it is', () => {
  const agenda = new Agenda();
  const list = listOf(names);
  finish(agenda.addList(list, true, true));
  agenda.pass(2);
  agenda.delete('c');
  agenda.add('x');
  expect([...agenda]).toEqual(['d', 'e', 'f', 'x']);
  expect(agenda.course).toEqual({ list, at: 3, isFresh: true });
});

it.each<[string, (agenda: Agenda) => void]>([
  ['something was held when it began', (agenda) => finish(agenda.addList(listOf(names), true, false))],
  [
    'a name was dealt with out of its turn',
    (agenda) => {
      finish(agenda.addList(listOf(names), true, true));
      agenda.delete('c');
    },
  ],
  [
    'a name waits',
    (agenda) => {
      finish(agenda.addList(listOf(names), true, true));
      agenda.postpone('a');
    },
  ],
])('a list is not what it is for others when %s', (_what, happen) => {
  const agenda = new Agenda();
  happen(agenda);
  expect(agenda.course?.isFresh).toBe(false);
});

it('has no list any more when it has been gone through', () => {
  const agenda = new Agenda();
  finish(agenda.addList(listOf(names), true, true));
  agenda.pass(names.length);
  expect(agenda.course).toBeUndefined();
  expect(agenda.size).toBe(0);
});
