import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Crowd, notInCrowd } from '../../../src/lib/crowd.ts';
import { notInTurn, Turns } from '../../../src/lib/turns.ts';

const guest = fc.integer({ min: 0, max: 5 });
const step = fc.record({ kind: fc.constantFrom('add', 'delete', 'take'), guest });

test('a queue serves in order, each once, and who left and came back stands at the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const guests = Array.from({ length: 6 }, (_, id) => ({ id, turn: notInTurn }));
      const turns = new Turns<(typeof guests)[number]>();
      const expected = new Set<number>();
      for (const { kind, guest: id } of steps) {
        const one = guests[id] as (typeof guests)[number];
        if (kind === 'add') {
          turns.add(one);
          expected.add(id);
        } else if (kind === 'delete') {
          turns.delete(one);
          expected.delete(id);
        } else {
          const [first] = expected;
          expect(turns.take()?.id).toBe(first);
          if (first !== undefined) expected.delete(first);
        }
        expect(turns.size).toBe(expected.size);
      }
      for (const id of expected) expect(turns.take()?.id).toBe(id);
      expect(turns.take()).toBeUndefined();
    }),
  );
});

test('those who come and go while one waits for ever do not pile up, and keep their order', () => {
  const patient = { id: 'patient', turn: notInTurn };
  const restless = { id: 'restless', turn: notInTurn };
  const turns = new Turns<typeof patient>();
  turns.add(patient);
  for (let at = 0; at < 10_000; at += 1) {
    turns.add(restless);
    expect(restless.turn).toBeLessThan(2_000);
    turns.delete(restless);
  }
  turns.add(restless);
  expect([turns.take()?.id, turns.take()?.id, turns.take()]).toEqual(['patient', 'restless', undefined]);
});

test('a crowd is what a set is, but for the order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const guests = Array.from({ length: 6 }, (_, id) => ({ id, place: notInCrowd }));
      const crowd = new Crowd<(typeof guests)[number]>();
      const expected = new Set<number>();
      for (const { kind, guest: id } of steps) {
        const one = guests[id] as (typeof guests)[number];
        if (kind === 'add') {
          crowd.add(one);
          expected.add(id);
        } else {
          crowd.delete(one);
          expected.delete(id);
        }
        expect([...crowd].map((other) => other.id).sort()).toEqual([...expected].sort());
        expect(crowd.size).toBe(expected.size);
      }
    }),
  );
});
