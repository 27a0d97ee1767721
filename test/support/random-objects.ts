import fc from 'fast-check';
import type { Pin } from '../../src/graph/index.ts';
import { type FairwayObject, type Kind, type ObjectKey, objectKey, type SpecOf } from '../../src/model/index.ts';

/** Random objects that get in each other's way, and what a store would hold after random edits of them. */

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
      choice: fc.constantFrom(
        { algorithm: 'roundRobin' },
        { algorithm: 'random' },
        { algorithm: 'ringHash', hash: { source: 'sourceIp' } },
        { algorithm: 'maglev', hash: { source: 'header', name: 'x-user' } },
      ),
      tls: fc.option(fc.record({ ca: ref }), { nil: undefined }),
      allowedScopes,
    })
    .map(({ choice, ...spec }) => without({ ...spec, ...choice }) as SpecOf<'BackendPool'>),
  Certificate: fc.record({ is: fc.constantFrom('pair', 'ca'), text: fc.constantFrom('one', 'two'), allowedScopes }).map(
    ({ is, text, allowedScopes: allowed }) =>
      without({
        ...(is === 'ca' ? { ca: text } : { chain: text, key: text }),
        allowedScopes: allowed,
      }) as SpecOf<'Certificate'>,
  ),
};

export interface Edit {
  readonly kind: Kind;
  readonly scope: string;
  readonly name: string;
  /** Undefined: removed. Kept: a new generation that says the same in other words. */
  readonly spec: unknown;
  /** The proxies refuse it, or take it again. */
  readonly pinned: boolean;
}

export const edit: fc.Arbitrary<Edit> = fc.oneof(
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

export interface Change {
  readonly edits: readonly Edit[];
  readonly adopted: boolean;
}

export const change: fc.Arbitrary<Change> = fc.record({
  edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
  adopted: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});

/** What a store would hold: the only thing that both sides have in common. */
export interface Inputs {
  readonly objects: Map<ObjectKey, FairwayObject>;
  readonly pins: Map<ObjectKey, Pin>;
  revision: number;
}

export function applied({ objects, pins, revision }: Inputs, edits: readonly Edit[]): Inputs {
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

export const nothing: Inputs = { objects: new Map(), pins: new Map(), revision: 0 };
