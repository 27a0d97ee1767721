import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SearchRig } from '../support/search-rig.ts';

// The laws of the search for culprits: it finds exactly them, soon, and sends nothing twice that was refused.

const units = (count: number): string[] => Array.from({ length: count }, (_, at) => `Route/default/r${at}`);

/** Forms that may be sent for d culprits among n. */
const allowed = (culprits: number, count: number): number =>
  2 + culprits * (Math.ceil(Math.log2(Math.max(2, count))) + 3);

test('exactly the culprits are found, with some log2 n forms for each, and no refused form is sent again', () => {
  const scenario = fc.integer({ min: 1, max: 200 }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      bad: fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { maxLength: Math.min(count, 6) }),
      wereGood: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(scenario, ({ count, bad, wereGood }) => {
      const all = units(count);
      const culprits = new Set(bad.map((at) => all[at] as string));
      const refusedGeneration = wereGood ? 2 : 1;
      const rig = new SearchRig((unit, generation) => generation === refusedGeneration && culprits.has(unit));
      rig.edit(...all);
      rig.settle();
      if (wereGood) {
        rig.edit(...all);
        rig.settle();
      }
      expect(rig.guilty).toEqual([...culprits].sort());
      expect(new Set(rig.sent).size).toBe(rig.sent.length);
      expect(rig.sent.length).toBeLessThanOrEqual(allowed(culprits.size, count));
      // The innocent are served as they stand, the guilty in their good form or not at all.
      for (const unit of all) {
        const good = wereGood ? 1 : undefined;
        expect(rig.accepted.get(unit)?.generation).toBe(culprits.has(unit) ? good : refusedGeneration);
      }
      if (culprits.size === 0) expect(rig.record).toBeUndefined();
      else expect([rig.record?.hot, rig.record?.cold, rig.record?.trial]).toEqual([[], [], []]);
    }),
  );
});

type Command =
  | { readonly kind: 'edit'; readonly units: readonly number[]; readonly bad: boolean }
  | { readonly kind: 'remove' | 'proxy' | 'leader'; readonly unit: number };

test('edits and removals at any time in between: it converges, and what stands bad is what is held back', () => {
  const size = 12;
  const unit = fc.integer({ min: 0, max: size - 1 });
  const command: fc.Arbitrary<Command> = fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('edit' as const),
        units: fc.uniqueArray(unit, { minLength: 1, maxLength: 6 }),
        bad: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), unit }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('proxy' as const, 'leader' as const), unit }) },
  );
  fc.assert(
    fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
      const all = units(size);
      const bad = new Set<string>();
      const rig = new SearchRig((key, generation) => bad.has(`${key} ${generation}`));
      rig.edit(...all);
      rig.settle();
      for (const step of commands) {
        if (step.kind === 'edit') {
          const edited = step.units.map((at) => all[at] as string);
          // Of those edited together, the first is bad.
          const next = (rig.objects.get(edited[0] as string)?.generation ?? 0) + 1;
          if (step.bad) bad.add(`${edited[0]} ${next}`);
          rig.edit(...edited);
        } else if (step.kind === 'remove') rig.remove(all[step.unit] as string);
        else if (step.kind === 'proxy') rig.proxy();
        else rig.leader();
      }
      rig.settle();
      const standing = [...rig.objects].filter(([key, { generation }]) => bad.has(`${key} ${generation}`));
      expect(rig.guilty).toEqual(standing.map(([key]) => key).sort());
      expect(new Set(rig.sent).size).toBe(rig.sent.length);
      for (const [key, { generation }] of rig.objects) {
        if (!bad.has(`${key} ${generation}`)) expect(rig.accepted.get(key)?.generation).toBe(generation);
      }
      // Mended, all is forgotten.
      rig.edit(...standing.map(([key]) => key));
      bad.clear();
      rig.settle();
      expect(rig.record).toBeUndefined();
      expect(rig.rejection).toBeUndefined();
    }),
  );
});

test('after a restart, when nobody knows what was accepted, only what was changed last is held back', () => {
  const scenario = fc.integer({ min: 2, max: 100 }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      /** How many objects were edited after the culprit. */
      later: fc.integer({ min: 0, max: count - 2 }),
      isNew: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(scenario, ({ count, later, isNew }) => {
      const all = units(count);
      const culprit = all[0] as string;
      const refusedGeneration = isNew ? 1 : 2;
      const rig = new SearchRig((unit, generation) => unit === culprit && generation === refusedGeneration);
      const others = all.slice(1);
      rig.edit(...(isNew ? others : all));
      rig.settle();
      rig.restart();
      rig.edit(culprit);
      for (const unit of others.slice(0, later)) rig.edit(unit);
      let fewest = count;
      for (let step = 0; step < 1_000; step += 1) {
        rig.proxy();
        fewest = Math.min(fewest, rig.form().size);
        if (!rig.leader()) break;
      }
      expect(rig.guilty).toEqual([culprit]);
      expect(rig.record?.hot).toEqual([]);
      expect(rig.record?.cold).toEqual([]);
      for (const unit of others) expect(rig.accepted.get(unit)).toEqual(rig.form().get(unit));
      // At most twice as many as had to be held were missing, and only those without an older form.
      expect(fewest).toBeGreaterThanOrEqual(count - 2 * (later + 1));
      if (later === 0) expect(fewest).toBeGreaterThanOrEqual(isNew ? count - 1 : count);
      expect(new Set(rig.sent).size).toBe(rig.sent.length);
      expect(rig.sent.length).toBeLessThanOrEqual(1 + 2 * allowed(1, count));
    }),
  );
});

test('all of it new and unknown: still exactly the culprits', () => {
  const scenario = fc.integer({ min: 1, max: 100 }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      bad: fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { maxLength: Math.min(count, 4) }),
    }),
  );
  fc.assert(
    fc.property(scenario, ({ count, bad }) => {
      const all = units(count);
      const culprits = bad.map((at) => all[at] as string).sort();
      const rig = new SearchRig((unit) => culprits.includes(unit));
      rig.restart();
      for (const unit of all) rig.edit(unit);
      rig.settle();
      expect(rig.guilty).toEqual(culprits);
      expect(rig.accepted.size).toBe(count - culprits.length);
      expect(new Set(rig.sent).size).toBe(rig.sent.length);
    }),
  );
});

describe('what a search costs at full size', () => {
  test.each([
    [1, 3_000],
    [2, 3_000],
    [5, 3_000],
  ])('%i among %i', (count, of) => {
    const all = units(of);
    const culprits = new Set(all.filter((_, at) => at % Math.floor(of / count) === 7));
    const rig = new SearchRig((unit) => culprits.has(unit));
    rig.edit(...all);
    rig.settle();
    expect(rig.guilty).toEqual([...culprits].sort());
    expect(rig.sent.length).toBeLessThanOrEqual(allowed(culprits.size, of));
  });
});
