import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { declareGraph } from '../../src/graph/index.ts';
import { declareTranslation, resourceKey } from '../../src/translate/index.ts';
import { type Fork, Kernel, type Rows } from '../../src/view/index.ts';
import { applied, change, type Edit, type Inputs, nothing } from '../support/random-objects.ts';

/**
 * Incremental by construction: whatever happened before, and in whatever order, the resources and verdicts are those
 * of a new controller that is given the objects as they now are, byte for byte.
 */

function controller() {
  const kernel = new Kernel();
  const graph = declareGraph(kernel);
  const translation = declareTranslation(kernel, graph);
  return { kernel, graph, translation };
}

type Controller = ReturnType<typeof controller>;

/** What differs between two states of the store, put into a fork. */
function put(fork: Fork, { graph }: Controller, from: Inputs, to: Inputs): void {
  for (const [key, object] of to.objects)
    if (from.objects.get(key) !== object) fork.put(graph.objects[object.kind], key, object);
  for (const [key, { kind }] of from.objects) if (!to.objects.has(key)) fork.remove(graph.objects[kind], key);
  for (const [key, pin] of to.pins) if (from.pins.get(key) !== pin) fork.put(graph.pins, key, pin);
  for (const key of from.pins.keys()) if (!to.pins.has(key)) fork.remove(graph.pins, key);
}

/** All that leaves the kernel, by key. */
function outcome({ kernel, graph, translation }: Controller): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const rows: readonly Rows<unknown>[] = [...translation.outputs, translation.audiences, graph.verdicts];
  const resources = translation.outputs.flatMap((output) =>
    [...kernel.keys(output)].flatMap((key) => kernel.get(output, key) ?? []),
  );
  const withPartOf = (key: string) =>
    resources
      .filter(({ parts }) => parts.some(({ unit }) => unit === key))
      .map(resourceKey)
      .sort();
  for (const collection of rows) {
    for (const key of kernel.keys(collection)) found[`${collection.name}|${key}`] = kernel.get(collection, key);
  }
  for (const table of Object.values(graph.objects)) {
    for (const key of kernel.keys(table)) {
      found[`resources of ${key}`] = translation.resourcesOf(kernel, key);
      expect(found[`resources of ${key}`]).toEqual(withPartOf(key));
    }
  }
  for (const index of [graph.referrers, graph.inScope]) {
    for (const key of kernel.keys(index)) found[`${index.name}|${key}`] = [...kernel.members(index, key)].sort();
  }
  return found;
}

/** Where every history begins: something of each type is served, so that changes have something to break. */
const beginning: readonly Edit[] = (
  [
    ['Fleet', 'red', 'x', { ha: 'everyNode' }],
    ['Certificate', 'red', 'x', { chain: 'one', key: 'one', allowedScopes: ['*'] }],
    ['Certificate', 'red', 'y', { ca: 'two', allowedScopes: ['*'] }],
    ['BackendPool', 'red', 'x', { members: [{ address: '10.1.0.1', port: 80 }], allowedScopes: ['*'] }],
    ['BackendPool', 'blue', 'y', { members: [{ address: '10.1.0.2', port: 80 }], tls: { ca: 'red/y' } }],
    [
      'VirtualService',
      'red',
      'x',
      {
        fleet: 'x',
        listeners: [
          { name: 'web', port: 443, protocol: 'HTTPS', certificates: ['x'], allowedRoutes: { scopes: ['*'] } },
          { name: 'raw', port: 25, protocol: 'TCP', defaultAction: { pool: 'x' } },
        ],
      },
    ],
    [
      'Route',
      'blue',
      'x',
      {
        attachTo: [{ virtualService: 'red/x', listener: 'web' }],
        rules: [{ name: 'all', action: { forward: [{ pool: 'y' }, { pool: 'red/x' }] } }],
      },
    ],
  ] as const
).map(([kind, scope, name, spec]) => ({ kind, scope, name, spec, pinned: false }));

describe('resources and verdicts', () => {
  it('are those of a new controller with the same objects, byte for byte, after any changes', () => {
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 10 }),
        fc.array(fc.nat(), { minLength: 5, maxLength: 5 }),
        (changes, order) => {
          const lived = controller();
          let inputs = nothing;
          for (const { edits, adopted } of [{ edits: beginning, adopted: true }, ...changes]) {
            const next = applied(inputs, edits);
            const fork = lived.kernel.fork();
            put(fork, lived, inputs, next);
            fork.settleNow();
            if (!adopted) continue;
            lived.kernel.adopt(fork);
            inputs = next;
          }
          const fresh = controller();
          const fork = fresh.kernel.fork();
          put(fork, fresh, nothing, shuffled(inputs, order));
          fork.settleNow();
          fresh.kernel.adopt(fork);
          expect(fresh.kernel.failures()).toEqual([]);
          expect(lived.kernel.failures()).toEqual([]);
          expect(outcome(lived)).toEqual(outcome(fresh));
          expect(lived.kernel.cells).toBe(fresh.kernel.cells);
        },
      ),
    );
  });

  it('are there in every type at the beginning', () => {
    const world = controller();
    const fork = world.kernel.fork();
    put(fork, world, nothing, applied(nothing, beginning));
    fork.settleNow();
    for (const output of world.translation.outputs) expect([...fork.keys(output)], output.name).not.toEqual([]);
  });
});

function shuffled(inputs: Inputs, order: readonly number[]): Inputs {
  const list = [...inputs.objects].map((item, at) => ({ item, weight: order[at % order.length] ?? 0 }));
  return { ...inputs, objects: new Map(list.sort((a, b) => a.weight - b.weight).map(({ item }) => item)) };
}
