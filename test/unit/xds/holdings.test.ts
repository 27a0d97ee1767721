import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Form } from '../../../src/xds/forms.ts';
import { Editions, Holdings } from '../../../src/xds/holdings.ts';
import { cluster, resource } from '../../support/xds-rig.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const forms = ['1', '2', '3'].map((content) => resource(cluster, 'any', content));
const name = fc.constantFrom(...names);
const form = fc.constantFrom(...forms);

type Step = (holdings: Holdings, map: Map<string, Form>) => void;

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(name, form).map(
    ([key, value]): Step =>
      (holdings, map) => {
        holdings.set(key, value);
        map.set(key, value);
      },
  ),
  name.map(
    (key): Step =>
      (holdings, map) => {
        holdings.delete(key);
        map.delete(key);
      },
  ),
  fc.array(fc.tuple(name, form)).map(
    (pairs): Step =>
      (holdings, map) => {
        holdings.setAll(new Map(pairs));
        for (const [key, value] of pairs) map.set(key, value);
      },
  ),
);

function sorted<T>(entries: Iterable<[string, T]>): [string, T][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
}

it('holds what a map would, with others that share with it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(fc.tuple(fc.nat(2), step)), (shareFrom, steps) => {
      const editions = new Editions(shareFrom);
      const streams = [0, 1, 2].map(() => ({ holdings: new Holdings(cluster, editions), map: new Map() }));
      for (const [at, run] of steps) {
        const stream = streams[at];
        if (stream !== undefined) run(stream.holdings, stream.map);
      }
      for (const { holdings, map } of streams) {
        expect(sorted(holdings)).toEqual(sorted(map));
        expect([...holdings.keys()].sort()).toEqual([...map.keys()].sort());
        expect([...holdings.values()].length).toBe(map.size);
        expect(holdings.size).toBe(map.size);
        expect(names.map((key) => holdings.get(key))).toEqual(names.map((key) => map.get(key)));
        expect(names.map((key) => holdings.has(key))).toEqual(names.map((key) => map.has(key)));
      }
    }),
  );
});

const many = new Map(Array.from({ length: 200 }, (_, at) => [`name-${at}`, forms[at % 2] as Form]));

function entryOf(holdings: Holdings, key: string): unknown {
  return [...holdings].find(([one]) => one === key);
}

it('streams that are sent the same share it', () => {
  const editions = new Editions(64);
  const one = new Holdings(cluster, editions);
  const other = new Holdings(cluster, editions);
  one.setAll(many);
  other.setAll(new Map(many));
  expect(editions.newest(cluster)?.forms).toEqual(many);
  const newest = editions.newest(cluster);
  one.set('name-0', forms[2] as Form);
  expect(entryOf(other, 'name-0')).toEqual(['name-0', forms[0]]);
  expect(editions.newest(cluster)).toBe(newest);
});

it('streams that come to the same one by one share it', () => {
  const editions = new Editions(64);
  const made = [0, 1, 2].map(() => {
    const holdings = new Holdings(cluster, editions);
    for (const [key, value] of many) holdings.set(key, value);
    return editions.newest(cluster);
  });
  expect(made[0]?.forms.size).toBeGreaterThan(100);
  expect(made).toEqual([made[0], made[0], made[0]]);
});

it('a stream that came to the same by another way takes over the newest edition', () => {
  const editions = new Editions(64);
  const one = new Holdings(cluster, editions);
  const other = new Holdings(cluster, editions);
  other.setAll(many);
  const more = Array.from({ length: 64 }, (_, at) => [`more-${at}`, forms[2] as Form] as const);
  one.setAll(new Map([...many, ...more]));
  const newest = editions.newest(cluster);
  for (const [key, value] of more) other.set(key, value);
  expect(editions.newest(cluster)).toBe(newest);
  expect(sorted(other)).toEqual(sorted(one));
});
