import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Action, createBuckets, decide, facilities, type Grant, grantingRefusal } from '../../src/access/index.ts';
import { kindInfo, kindNames, permissions, roles } from '../../src/model/index.ts';

// Laws of who may do what: rights add up, and nobody can give more than they have.

const scopeName = fc.constantFrom('web', 'docs', 'system');

const grant: fc.Arbitrary<Grant> = fc
  .record({
    binding: fc.constant('b'),
    role: fc.option(fc.constantFrom(...roles), { nil: undefined }),
    scopes: fc.uniqueArray(fc.oneof(scopeName, fc.constant('*')), { maxLength: 3 }),
    permissions: fc.uniqueArray(fc.constantFrom(...permissions)),
  })
  // As the model has them: a role holds somewhere.
  .filter(({ role, scopes }) => role === undefined || scopes.length > 0);

const grants = fc.array(grant, { maxLength: 4 });

const action: fc.Arbitrary<Action> = fc
  .record({
    verb: fc.constantFrom('read' as const, 'write' as const, 'delete' as const),
    kind: fc.constantFrom(...kindNames, ...facilities),
    scope: scopeName,
    touchesSecret: fc.boolean(),
  })
  .map((one) => {
    const isScoped = kindNames.some((kind) => kind === one.kind && !kindInfo(kind).global);
    return { ...one, scope: isScoped ? one.scope : undefined };
  });

test('who is given more may do no less', () => {
  fc.assert(
    fc.property(grants, grant, action, (held, more, wanted) => {
      if (decide(held, wanted).allowed) expect(decide([...held, more], wanted).allowed).toBe(true);
    }),
  );
});

test('the order in which rights were given does not matter', () => {
  fc.assert(
    fc.property(grants, action, (held, wanted) => {
      expect(decide(held.toReversed(), wanted).allowed).toBe(decide(held, wanted).allowed);
    }),
  );
});

test('whatever can be given allows nothing that the giver may not do', () => {
  fc.assert(
    fc.property(grants, grant, action, (held, given, wanted) => {
      // Only these say something; the others are most.
      fc.pre(decide([given], wanted).allowed && grantingRefusal(held, given) === undefined);
      expect(decide(held, wanted).allowed).toBe(true);
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  );
});

test('in any time, no more happens than the burst and the rate allow', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), (pauses, perSecond, burst) => {
      const buckets = createBuckets({ perSecond, burst });
      let now = 1_000_000;
      const start = now;
      let taken = 0;
      for (const pause of pauses) {
        now += pause;
        const waitMs = buckets.take('a', now);
        if (waitMs === 0) taken += 1;
        // What it says is true: after that time there is one.
        else expect(waitMs).toBeLessThanOrEqual(Math.ceil(1000 / perSecond));
      }
      expect(taken).toBeLessThanOrEqual(burst + Math.ceil(((now - start) / 1000) * perSecond));
    }),
  );
});
