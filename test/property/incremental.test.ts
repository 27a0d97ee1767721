import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { declareGraph, type Pin } from '../../src/graph/index.ts';
import { type FairwayObject, type Kind, type ObjectKey, objectKey, type SpecOf } from '../../src/model/index.ts';
import { declareTranslation } from '../../src/translate/index.ts';
import { type Fork, Kernel, type Rows } from '../../src/view/index.ts';

/**
 * Incremental by construction: whatever happened before, and in whatever order, the resources and verdicts are those
 * of a new controller that is given the objects as they now are, byte for byte.
 */

// Few names, so that everything gets in the way of everything: hosts, sockets, references that dangle.
const scopes = ['red', 'blue'] as const;
const scope = fc.constantFrom(...scopes);
const host = fc.constantFrom('a.example.com', 'B.example.com', '*.example.com');
const hosts = fc.option(fc.uniqueArray(host, { minLength: 1, maxLength: 2 }), { nil: undefined });
const name = fc.constantFrom('x', 'y');
/** Half of all references lead to the same object: several to one are what order could matter for. */
const ref = fc.oneof(
  fc.constant('red/x'),
  fc.oneof(
    name,
    fc.tuple(scope, name).map(([from, to]) => `${from}/${to}`),
  ),
);
const allowedScopes = fc.option(fc.constantFrom(['*'], ['blue']), { nil: undefined });

/** Drops fields that are undefined: in an object they are absent. */
function without<T extends object>(spec: T): T {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as T;
}

const rule = fc.record({
  match: fc.option(
    fc.constantFrom([{ path: { prefix: '/api' } }], [{ path: { exact: '/' } }, { methods: ['GET' as const] }]),
    {
      nil: undefined,
    },
  ),
  action: fc.oneof(
    fc.record({
      forward: fc.array(fc.record({ pool: ref, weight: fc.constantFrom(0, 1, 3) }), { minLength: 1, maxLength: 2 }),
    }),
    fc.constant({ redirect: { scheme: 'https' as const } }),
    fc.constant({ respond: { status: 204 } }),
  ),
});
const rules = fc
  .array(rule, { minLength: 1, maxLength: 2 })
  .map((list) => list.map((one, at) => without({ name: `rule-${at}`, ...one })));

const listener = fc.oneof(
  fc
    .record({
      hosts,
      routes: fc.option(fc.array(fc.record({ hosts, rules }).map(without), { minLength: 1, maxLength: 2 }), {
        nil: undefined,
      }),
      allowedRoutes: fc.option(fc.constantFrom({ scopes: ['*'] }, { scopes: ['blue'], hosts: ['a.example.com'] }), {
        nil: undefined,
      }),
      defaultAction: fc.option(fc.constant({ respond: { status: 503 } }), { nil: undefined }),
      certificates: fc.option(fc.uniqueArray(ref, { minLength: 1, maxLength: 2 }), { nil: undefined }),
    })
    .map(({ certificates, ...rest }) =>
      without({
        name: 'web',
        port: certificates === undefined ? 80 : 443,
        protocol: certificates === undefined ? 'HTTP' : 'HTTPS',
        certificates,
        ...rest,
      }),
    ),
  ref.map((pool) => ({ name: 'raw', port: 80, protocol: 'TCP', defaultAction: { pool } })),
);

const specs: { readonly [K in Kind]?: fc.Arbitrary<SpecOf<K>> } = {
  Fleet: fc.constant({ ha: 'everyNode' as const }),
  VirtualService: fc
    .record({
      enabled: fc.option(fc.constant(false), { nil: undefined, freq: 5 }),
      fleet: fc.constantFrom('x', 'x', 'y', undefined),
      addresses: fc.option(
        fc.constantFrom([{ address: '10.0.0.1' }], [{ address: '10.0.0.1' }, { address: '10.0.0.2' }]),
        {
          nil: undefined,
        },
      ),
      listeners: listener.map((one) => [one]),
    })
    .map((spec) => without(spec) as unknown as SpecOf<'VirtualService'>),
  Route: fc
    .record({
      attachTo: fc.uniqueArray(fc.record({ virtualService: ref, listener: fc.constantFrom('web', 'web', 'raw') }), {
        minLength: 1,
        maxLength: 2,
        selector: JSON.stringify,
      }),
      hosts,
      rules,
    })
    .map((spec) => without(spec) as unknown as SpecOf<'Route'>),
  BackendPool: fc
    .record({
      members: fc.array(
        fc.constantFrom('10.1.0.1', '10.1.0.2', 'backend.example.com').map((address) => ({ address, port: 80 })),
        {
          maxLength: 3,
        },
      ),
      algorithm: fc.constantFrom('roundRobin' as const, 'random' as const),
      tls: fc.option(fc.record({ ca: ref }), { nil: undefined }),
      allowedScopes,
    })
    .map((spec) => without(spec) as SpecOf<'BackendPool'>),
  Certificate: fc.record({ is: fc.constantFrom('pair', 'ca'), text: fc.constantFrom('one', 'two'), allowedScopes }).map(
    ({ is, text, allowedScopes: allowed }) =>
      without({
        ...(is === 'ca' ? { ca: text } : { chain: text, key: text }),
        allowedScopes: allowed,
      }) as SpecOf<'Certificate'>,
  ),
};

interface Edit {
  readonly kind: Kind;
  readonly scope: string;
  readonly name: string;
  /** Undefined: removed. Kept: a new generation that says the same in other words. */
  readonly spec: unknown;
  /** The proxies refuse it, or take it again. */
  readonly pinned: boolean;
}

const edit: fc.Arbitrary<Edit> = fc.oneof(
  ...(Object.keys(specs) as (keyof typeof specs)[]).map((kind) =>
    fc.record({
      kind: fc.constant(kind),
      scope,
      name,
      spec: fc.oneof(
        { weight: 4, arbitrary: specs[kind] as fc.Arbitrary<unknown> },
        { weight: 1, arbitrary: fc.constantFrom(undefined, 'kept') },
      ),
      pinned: fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    }),
  ),
);

interface Change {
  readonly edits: readonly Edit[];
  readonly adopted: boolean;
}

const change: fc.Arbitrary<Change> = fc.record({
  edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
  adopted: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});

/** What a store would hold: the only thing that both sides have in common. */
interface Inputs {
  readonly objects: Map<ObjectKey, FairwayObject>;
  readonly pins: Map<ObjectKey, Pin>;
  revision: number;
}

function applied({ objects, pins, revision }: Inputs, edits: readonly Edit[]): Inputs {
  const next = { objects: new Map(objects), pins: new Map(pins), revision };
  for (const { kind, scope, name, spec, pinned } of edits) {
    next.revision += 1;
    const global = kind === 'Fleet';
    const key = objectKey(kind, global ? undefined : scope, name);
    const before = next.objects.get(key);
    const after = spec === 'kept' ? before?.spec : spec;
    if (after === undefined) {
      next.objects.delete(key);
      next.pins.delete(key);
      continue;
    }
    const generation = (before?.metadata.generation ?? 0) + 1;
    const metadata = {
      name,
      ...(global ? {} : { scope }),
      labels: {},
      annotations: {},
      uid: key,
      generation,
      revision: String(next.revision),
      createdRevision: before?.metadata.createdRevision ?? String(next.revision),
      createdAt: '2026-01-01T00:00:00Z',
    };
    next.objects.set(key, { apiVersion: 'fairway/v1', kind, metadata, spec: after } as FairwayObject);
    const good = before === undefined ? undefined : { generation: before.metadata.generation, spec: before.spec };
    if (pinned) next.pins.set(key, { uid: key, refused: generation, good });
    else next.pins.delete(key);
  }
  return next;
}

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
  for (const collection of rows) {
    for (const key of kernel.keys(collection)) found[`${collection.name}|${key}`] = kernel.get(collection, key);
  }
  for (const index of [translation.resourcesOf, graph.referrers, graph.inScope]) {
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

const nothing: Inputs = { objects: new Map(), pins: new Map(), revision: 0 };

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
