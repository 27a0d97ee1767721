import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { declareGraph, type Verdicts } from '../../src/graph/index.ts';
import { type FairwayObject, type Kind, kindInfo, type ObjectKey } from '../../src/model/index.ts';
import { declareTranslation } from '../../src/translate/index.ts';
import { lint } from '../../src/translate/lint.ts';
import {
  type Collection,
  type Derived,
  type Fork,
  type Index,
  Kernel,
  type Read,
  type Rows,
} from '../../src/view/index.ts';
import type { Resource } from '../../src/xds/index.ts';
import { certificate, fleet, forward, http, https, pool, respond, route, service } from '../support/drafts.ts';
import { applied, type Change, change, type Inputs, nothing } from '../support/random-objects.ts';
import { createWorld, keyOf, type World } from '../support/world.ts';

/**
 * The laws of the kernel for all that the product declares on it. That incremental is full, in any order, stands in
 * incremental.test.ts.
 */

/** Counts the calls of derivations by collection and key, of indexes by row too: they are asked of the former one again. */
class CountingKernel extends Kernel {
  readonly calls = new Map<string, number>();
  readonly #rows = new Map<unknown, number>();

  override derive<R>(
    name: string,
    source: Collection | readonly Collection[],
    compute: (read: Read, key: string, was: R | undefined) => R | undefined,
    options?: { same?: (before: R, after: R) => boolean },
  ): Derived<R> {
    const counted = (read: Read, key: string, was: R | undefined) => {
      this.#count(name, key);
      return compute(read, key, was);
    };
    return super.derive(name, source, counted, options);
  }

  override index<R>(
    name: string,
    source: Rows<R> | readonly Rows<R>[],
    keysOf: (row: R, key: string) => Iterable<string>,
  ): Index {
    const counted = (row: R, key: string) => {
      if (!this.#rows.has(row)) this.#rows.set(row, this.#rows.size);
      this.#count(name, `${key}, row ${this.#rows.get(row)}`);
      return keysOf(row, key);
    };
    return super.index(name, source, counted);
  }

  #count(name: string, key: string): void {
    const call = `${name} of ${key}`;
    this.calls.set(call, (this.calls.get(call) ?? 0) + 1);
  }
}

function controller() {
  const kernel = new CountingKernel();
  const graph = declareGraph(kernel);
  const translation = declareTranslation(kernel, graph);
  return { kernel, graph, translation };
}

type Controller = ReturnType<typeof controller>;

function put(fork: Fork, { graph }: Controller, from: Inputs, to: Inputs): void {
  for (const [key, object] of to.objects)
    if (from.objects.get(key) !== object) fork.put(graph.objects[object.kind], key, object);
  for (const [key, { kind }] of from.objects) if (!to.objects.has(key)) fork.remove(graph.objects[kind], key);
  for (const [key, pin] of to.pins) if (from.pins.get(key) !== pin) fork.put(graph.pins, key, pin);
  for (const key of from.pins.keys()) if (!to.pins.has(key)) fork.remove(graph.pins, key);
}

/** Carries the changes out and looks at the world after each; gives the last inputs. */
function run(world: Controller, changes: readonly Change[], look: (fork: Fork, adopted: boolean) => void): Inputs {
  let inputs = nothing;
  for (const { edits, adopted } of changes) {
    const next = applied(inputs, edits);
    const fork = world.kernel.fork();
    put(fork, world, inputs, next);
    world.kernel.calls.clear();
    fork.settleNow();
    look(fork, adopted);
    if (!adopted) continue;
    world.kernel.adopt(fork);
    inputs = next;
  }
  return inputs;
}

const changes = fc.array(change, { minLength: 1, maxLength: 8 });

/** Conditions and resources, by key. */
function outcome({ kernel, graph, translation }: Controller): Map<string, unknown> {
  const rows: readonly Rows<unknown>[] = [...translation.outputs, translation.audiences, graph.verdicts];
  return new Map(
    rows.flatMap((collection) =>
      [...kernel.keys(collection)].map((key): [string, unknown] => [
        `${collection.name} ${key}`,
        kernel.get(collection, key),
      ]),
    ),
  );
}

describe('the laws of the kernel hold for the whole graph', () => {
  it('2: a dropped fork changes nothing', () => {
    fc.assert(
      fc.property(changes, changes, (history, dropped) => {
        const world = controller();
        const inputs = run(world, history, () => undefined);
        const before = outcome(world);
        const cells = world.kernel.cells;
        let tried = inputs;
        for (const { edits } of dropped) {
          tried = applied(tried, edits);
          const fork = world.kernel.fork();
          put(fork, world, inputs, tried);
          fork.settleNow();
        }
        expect(outcome(world)).toEqual(before);
        expect(world.kernel.cells).toBe(cells);
      }),
      { numRuns: 40 },
    );
  });

  it('3: when all objects are gone, nothing is left', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const world = controller();
        const inputs = run(world, history, () => undefined);
        const fork = world.kernel.fork();
        put(fork, world, inputs, nothing);
        fork.settleNow();
        world.kernel.adopt(fork);
        expect(world.kernel.cells).toBe(0);
        expect(world.kernel.failures()).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('4: nothing is derived twice for one change', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const world = controller();
        run(world, history, () => {
          expect([...world.kernel.calls].filter(([, count]) => count > 1)).toEqual([]);
        });
      }),
      { numRuns: 40 },
    );
  });
});

describe('whatever objects there are', () => {
  /** The final world of a history. */
  function lived(history: readonly Change[]): Controller & { inputs: Inputs } {
    const world = controller();
    return { ...world, inputs: run(world, history, () => undefined) };
  }

  it('each has its conditions, with reasons of its kind’s closed list', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const { kernel, graph, inputs } = lived(history);
        for (const [key, { kind }] of inputs.objects) {
          const { conditions } = kernel.get(graph.verdicts, key) as Verdicts;
          expect(conditions.map(({ type }) => type)).toEqual(['Accepted', 'ResolvedRefs']);
          for (const { type, status, reason, message } of conditions) {
            if (type in kindInfo(kind).reasons) expect(kindInfo(kind).reasons[type], key).toContain(reason);
            else expect(status, `${key} has no ${type}`).toBe('True');
            expect(message === '').toBe(status === 'True' && reason !== 'Disabled');
          }
        }
      }),
    );
  });

  it('no name that proxies are told leads nowhere', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const { kernel, translation } = lived(history);
        const all = translation.outputs.flatMap((output) =>
          [...kernel.keys(output)].map((name) => kernel.get(output, name) as Resource),
        );
        expect(lint(all)).toEqual([]);
        // The proxies of one fleet, too: what they are told to use is theirs.
        for (const subject of kernel.keys(translation.audiences)) {
          const own = new Set(kernel.get(translation.audiences, subject)?.audiences);
          expect(lint(all.filter(({ audience }) => own.has(audience)))).toEqual([]);
        }
      }),
    );
  });

  it('a conflict names an older object, and the oldest is in none', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const { kernel, graph, inputs } = lived(history);
        const age = (key: ObjectKey) => Number(inputs.objects.get(key)?.metadata.createdRevision);
        for (const key of inputs.objects.keys()) {
          const accepted = kernel.get(graph.verdicts, key)?.conditions[0];
          if (accepted?.reason !== 'ListenerConflict' && accepted?.reason !== 'HostConflict') continue;
          for (const [, kind, path] of accepted.message.matchAll(/older (\w+) (\S+?\/\S+?)[: ]/g)) {
            expect(age(`${kind}/${path}`)).toBeLessThan(age(key));
          }
        }
      }),
    );
  });

  it('a relabelled object changes no resource and no condition', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const world = lived(history);
        const fork = world.kernel.fork();
        for (const [key, object] of world.inputs.objects) {
          const metadata = { ...object.metadata, labels: { team: 'x' }, revision: '999' };
          fork.put(world.graph.objects[object.kind], key, { ...object, metadata } as FairwayObject);
        }
        fork.settleNow();
        for (const output of world.translation.outputs) expect(fork.changes(output)).toEqual([]);
        expect(fork.changes(world.graph.verdicts)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});

/** `count` services with a pool and a certificate each, and a fifth as many Routes of their own, of one VIP and of one host. */
function populated(count: number): World {
  const world = createWorld();
  const numbers = Array.from({ length: count }, (_, at) => at);
  world.apply(
    fleet('edge'),
    pool('shared'),
    certificate('shared'),
    service('vip', { listeners: [http({ allowedRoutes: { scopes: ['*'] } })] }),
    service('team', { listeners: [http({ port: 81, allowedRoutes: { scopes: ['*'] } })] }),
    ...numbers.flatMap((at) => [pool(`p${at}`, poolSpec('10.1.0.1')), certificate(`c${at}`), serviceNumber(at)]),
    ...numbers
      .slice(0, count / 5)
      .flatMap((at) => [
        route(`own${at}`, `s${at}`, { hosts: [`own${at}.example`], pools: [`p${at}`, 'shared'] }),
        route(`team/of${at}`, 'default/vip', { hosts: [`of${at}.example`] }),
        route(`one${at}`, 'team', { hosts: ['team.example'], rules: [respond(200 + (at % 100))] }),
      ]),
  );
  return world;
}

function poolSpec(address: string) {
  return { members: [{ address, port: 80 }] };
}

function serviceNumber(at: number, status = 204) {
  const routes = [
    { hosts: [`a${at}.example`], rules: [respond(status)] },
    { hosts: [`b${at}.example`], rules: [forward(`p${at}`, 'shared')] },
  ];
  return service(`s${at}`, {
    addresses: [{ address: `10.${at >> 14}.${(at >> 7) & 127}.${at & 127}` }],
    listeners: [https([`c${at}`, 'shared'], { hosts: [`*.example`], routes })],
  });
}

/** Kinds of edits, and how many rows each may compute, over all collections. */
const edits: [string, edit: (world: World) => ReturnType<typeof pool>, bound: number][] = [
  ['one member', () => pool('p7', poolSpec('10.1.0.2')), 20],
  ['a setting of a pool', () => pool('p7', { ...poolSpec('10.1.0.1'), connectTimeout: '7s' }), 20],
  [
    'a setting of a pool that all services use',
    () => pool('shared', { ...poolSpec('10.0.0.1'), connectTimeout: '7s' }),
    20,
  ],
  [
    'one certificate',
    () => certificate('c7', { key: '-----BEGIN PRIVATE KEY-----\nbmV3\n-----END PRIVATE KEY-----\n' }),
    12,
  ],
  [
    'a certificate that all services use',
    () => certificate('shared', { key: '-----BEGIN PRIVATE KEY-----\nbmV3\n-----END PRIVATE KEY-----\n' }),
    12,
  ],
  ['an inline rule', () => serviceNumber(7, 205), 60],
  [
    'a rule of a Route among many of one service',
    () => route('team/of7', 'default/vip', { hosts: ['of7.example'], rules: [respond(205)] }),
    20,
  ],
  [
    'a rule of a Route among many of one host',
    () => route('one7', 'team', { hosts: ['team.example'], rules: [respond(205)] }),
    20,
  ],
  ['a host of a Route', () => route('team/of7', 'default/vip', { hosts: ['new.example'] }), 25],
  ['a new Route of a host that has many', () => route('new', 'team', { hosts: ['team.example'] }), 25],
  [
    'a Route of another scope for a host that has many',
    () => route('red/new', 'default/team', { hosts: ['team.example'] }),
    20,
  ],
  ['a new pool', () => pool('new'), 8],
  ['a new service', () => service('new', { listeners: [http({ port: 82 })] }), 60],
  ['a service that is disabled', () => service('s7', { enabled: false }), 75],
  ['an edit of the fleet', () => fleet('edge', { drainTimeout: '5s' }), 8],
];

describe('5: what an edit computes does not grow with the number of services', () => {
  const worlds: [number, World][] = [];
  beforeAll(() => {
    for (const count of [100, 10_000]) worlds.push([count, populated(count)]);
  }, 120_000);

  it.each(edits)('%s', (_, edit, bound) => {
    const seen = worlds.map(([, world]) => {
      const draft = edit(world);
      const { kernel, graph } = world;
      const key = keyOf(draft);
      const table = graph.objects[draft.kind as Kind];
      const before = kernel.get(table, key)?.metadata;
      const metadata = {
        ...draft.metadata,
        uid: before?.uid ?? 'new',
        generation: (before?.generation ?? 0) + 1,
        revision: '1000000',
        createdRevision: before?.createdRevision ?? '1000000',
        createdAt: '2026-01-01T00:00:00Z',
      };
      const fork = kernel.fork();
      fork.put(table, key, { ...draft, metadata } as FairwayObject);
      fork.settleNow();
      return Object.fromEntries(fork.computed);
    });
    expect(seen[1]).toEqual(seen[0]);
    const all = Object.values(seen[0] ?? {}).reduce((sum, count) => sum + count, 0);
    expect(all).toBeGreaterThan(0);
    expect(all).toBeLessThanOrEqual(bound);
  });
});
