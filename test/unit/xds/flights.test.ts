import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Flights, type Response } from '../../../src/xds/flights.ts';
import { cluster, resource } from '../../support/xds-rig.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];

function response(nonce: string, puts: readonly string[], removals: readonly string[] = []): Response {
  return {
    nonce,
    sentAt: 0,
    dueAt: 0,
    revision: 1,
    puts: new Map(puts.map((name) => [name, resource(cluster, name)])),
    removals,
    older: new Map(),
    overdue: false,
    takenBack: undefined,
  };
}

/** What the flights would be if each name were noted on its own. */
type Model = Map<string, Response>;

interface Skies {
  readonly flights: Flights;
  readonly model: Model;
  /** Oldest first. */
  readonly sent: Response[];
  /** How many were sent. */
  count: number;
}

type Step = (skies: Skies) => void;

const someNames = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 6 });

function landEach({ flights, model }: Skies, { nonce, puts, removals }: Response): void {
  for (const name of [...puts.keys(), ...removals]) {
    expect(flights.land(name, nonce)).toBe(model.get(name)?.nonce === nonce);
    if (model.get(name)?.nonce === nonce) model.delete(name);
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(someNames, someNames).map(
    ([puts, removals]): Step =>
      (skies) => {
        const gone = removals.filter((name) => !puts.includes(name));
        const next = response(String(skies.count), puts, gone);
        skies.count += 1;
        skies.flights.add(next);
        for (const name of [...puts, ...gone]) skies.model.set(name, next);
        skies.sent.push(next);
      },
  ),
  fc.constantFrom(...names).map(
    (name): Step =>
      ({ flights, model }) => {
        flights.delete(name);
        model.delete(name);
      },
  ),
  // The oldest is answered, as a rule.
  fc.constant<Step>((skies) => {
    const oldest = skies.sent.shift();
    if (oldest === undefined) return;
    const isWhole = [...oldest.puts.keys()].every((name) => skies.model.get(name) === oldest);
    const landed = skies.flights.landWhole(oldest);
    if (landed) {
      expect(isWhole).toBe(true);
      for (const name of oldest.puts.keys()) skies.model.delete(name);
    }
    landEach(skies, oldest);
  }),
  // One out of turn: what the older ones have of it is theirs no more.
  fc.nat({ max: 5 }).map(
    (at): Step =>
      (skies) => {
        const [taken] = skies.sent.splice(at, 1);
        if (taken === undefined) return;
        for (const older of skies.sent.slice(0, at)) {
          older.puts = new Map([...older.puts].filter(([name]) => !taken.puts.has(name)));
        }
        landEach(skies, taken);
      },
  ),
);

it('each name is where it would be if all were noted one by one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { size: 'max', maxLength: 30 }), (largeFrom, steps) => {
      const skies: Skies = { flights: new Flights(largeFrom), model: new Map(), sent: [], count: 0 };
      for (const run of steps) {
        run(skies);
        expect(names.map((name) => skies.flights.get(name)?.nonce)).toEqual(
          names.map((name) => skies.model.get(name)?.nonce),
        );
        expect([...skies.flights.keys()].sort()).toEqual([...skies.model.keys()].sort());
        expect(skies.flights.isEmpty).toBe(skies.model.size === 0);
      }
    }),
  );
});

it('a large response lands as a whole while nothing happened to it', () => {
  const flights = new Flights(2);
  const first = response('1', ['a', 'b', 'c']);
  flights.add(first);
  flights.add(response('2', ['d']));
  expect(flights.landWhole(first)).toBe(true);
  expect([...flights.keys()]).toEqual(['d']);
});

it.each<[string, (flights: Flights) => void]>([
  ['a name was given up', (flights) => flights.delete('a')],
  ['a name was sent again', (flights) => flights.add(response('2', ['b']))],
  ['a name is removed by a later one', (flights) => flights.add(response('2', [], ['b']))],
  ['names were sent again in a large one', (flights) => flights.add(response('2', ['c', 'd', 'e']))],
])('not so when %s', (_what, happen) => {
  const flights = new Flights(2);
  const first = response('1', ['a', 'b', 'c']);
  flights.add(first);
  happen(flights);
  expect(flights.landWhole(first)).toBe(false);
});
