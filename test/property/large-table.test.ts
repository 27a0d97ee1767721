import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { declareGraph } from '../../src/graph/index.ts';
import type { FairwayObject, Kind } from '../../src/model/index.ts';
import { declareTranslation } from '../../src/translate/index.ts';
import { Tally } from '../../src/translate/tally.ts';
import { type Fork, Kernel } from '../../src/view/index.ts';
import { decodeResource, type Resource } from '../../src/xds/index.ts';

/** A route table with many hosts is kept by difference: what comes of it is what comes of the same Routes at once. */

function controller() {
  const kernel = new Kernel();
  const graph = declareGraph(kernel);
  return { kernel, graph, translation: declareTranslation(kernel, graph) };
}

type Controller = ReturnType<typeof controller>;

/** By key; undefined: to be removed. */
type Objects = ReadonlyMap<string, FairwayObject | undefined>;

function put(fork: Fork, { graph }: Controller, objects: Objects): void {
  for (const [key, object] of objects) {
    const table = graph.objects[key.slice(0, key.indexOf('/')) as Kind];
    if (object === undefined) fork.remove(table, key);
    else fork.put(table, key, object);
  }
}

function changed(world: Controller, objects: Objects, adopted = true): void {
  const fork = world.kernel.fork();
  put(fork, world, objects);
  fork.settleNow();
  if (adopted) world.kernel.adopt(fork);
}

function tables({ kernel, translation: { routes } }: Controller): Resource[] {
  expect(kernel.failures()).toEqual([]);
  return [...kernel.keys(routes)].sort().flatMap((name) => kernel.get(routes, name) ?? []);
}

function object(kind: Kind, name: string, generation: number, spec: unknown): FairwayObject {
  const scope = kind === 'Fleet' ? {} : { scope: 'default' };
  const metadata = { name, ...scope, labels: {}, annotations: {}, uid: name, generation, revision: String(generation) };
  const written = { ...metadata, createdRevision: '1', createdAt: '2030-01-01T00:00:00Z' };
  return { apiVersion: 'fairway/v1', kind, metadata: written, spec } as FairwayObject;
}

const listeners = [
  { name: 'web', port: 443, protocol: 'HTTPS', certificates: ['c'] },
  { name: 'other', port: 443, protocol: 'HTTPS', certificates: ['c'], hosts: ['h0.example', 'elsewhere.example'] },
];

const service = (generation: number, status: number | undefined): FairwayObject =>
  object('VirtualService', 'shop', generation, {
    fleet: 'edge',
    listeners: listeners.map((one) =>
      status === undefined ? one : { ...one, defaultAction: { respond: { status } } },
    ),
  });

interface Way {
  readonly hosts: readonly number[];
  readonly pool: number;
}

const route = (at: number, generation: number, { hosts, pool }: Way): FairwayObject =>
  object('Route', `r${at}`, generation, {
    attachTo: [{ virtualService: 'shop', listener: 'web' }],
    hosts: hosts.map((host) => `h${host}.example`),
    rules: [{ name: 'all', action: { forward: [{ pool: `p${pool}` }] } }],
  });

const pool = (at: number, generation: number, hashed: boolean): FairwayObject =>
  object('BackendPool', `p${at}`, generation, {
    members: [{ address: '10.0.0.1', port: 80 }],
    ...(hashed ? { algorithm: 'ringHash', hash: { source: 'header', name: `x-${generation}` } } : {}),
  });

/** More than are made from nothing each time. */
const size = 70;
const pools = 5;

const beginning: Objects = new Map<string, FairwayObject>([
  ['Fleet/edge', object('Fleet', 'edge', 1, {})],
  ['Certificate/default/c', object('Certificate', 'c', 1, { chain: 'one', key: 'one' })],
  ['VirtualService/default/shop', service(1, undefined)],
  ...Array.from({ length: pools }, (_, at) => [`BackendPool/default/p${at}`, pool(at, 1, false)] as const),
  ...Array.from(
    { length: size },
    (_, at) => [`Route/default/r${at}`, route(at, 1, { hosts: [at], pool: at % pools })] as const,
  ),
]);

const index = fc.nat({ max: size + 10 });
type Make = (generation: number) => readonly [string, FairwayObject | undefined];
const edit = fc.oneof<fc.Arbitrary<Make>[]>(
  fc
    .record({ at: index, hosts: fc.uniqueArray(index, { minLength: 1, maxLength: 3 }), pool: fc.nat({ max: pools }) })
    .map(({ at, ...way }) => (generation) => [`Route/default/r${at}`, route(at, generation, way)]),
  index.map((at) => () => [`Route/default/r${at}`, undefined]),
  fc.record({ at: fc.nat({ max: pools }), hashed: fc.boolean() }).map(({ at, hashed }) => (generation) => [
    `BackendPool/default/p${at}`,
    pool(at, generation, hashed),
  ]),
  fc
    .constantFrom(undefined, 404, 503)
    .map((status) => (generation) => ['VirtualService/default/shop', service(generation, status)]),
);
const step = fc.record({ edits: fc.array(edit, { minLength: 1, maxLength: 4 }), adopted: fc.boolean() });

describe('a table of many hosts', () => {
  it('is that of a new controller with the same objects, whatever came before', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        const lived = controller();
        changed(lived, beginning);
        const objects = new Map(beginning);
        for (const [at, { edits, adopted }] of steps.entries()) {
          const changes = new Map(edits.map((make) => make(at + 2)));
          changed(lived, changes, adopted);
          if (adopted) for (const [key, one] of changes) objects.set(key, one);
        }
        const fresh = controller();
        changed(fresh, new Map([...objects].reverse().filter(([, one]) => one !== undefined)));
        expect(tables(lived)).toEqual(tables(fresh));
      }),
      { numRuns: 60 },
    );
  });

  it('has in its bytes what its pieces say, and needs and parts in order', () => {
    const world = controller();
    changed(world, beginning);
    changed(world, new Map([['Route/default/r3', route(3, 2, { hosts: [200, 3], pool: 1 })]]));
    for (const { bytes, pieces = [], needs, parts } of tables(world)) {
      const decoded = decodeResource(bytes);
      expect(Buffer.from(decoded.ok ? decoded.value.value : [])).toEqual(Buffer.concat(pieces.map((one) => one.bytes)));
      expect(needs).toEqual([...needs].sort((a, b) => (a.name < b.name ? -1 : 1)));
      expect(parts).toEqual([...parts].sort((a, b) => (a.unit < b.unit ? -1 : 1)));
    }
    expect(tables(world).map(({ pieces }) => (pieces?.length ?? 0) > size)).toContain(true);
  });

  it('keeps what did not change as the same values, so that the next one finds the change by looking at the ends', () => {
    const world = controller();
    changed(world, beginning);
    const before = tables(world);
    changed(world, new Map([['Route/default/r3', route(3, 2, { hosts: [3], pool: 1 })]]));
    const [was, is] = [before, tables(world)].map((all) => all.find(({ name }) => name === 'default/shop/web'));
    const others = is?.pieces?.filter((piece) => !was?.pieces?.includes(piece));
    expect(others?.map(({ key }) => key)).toEqual(['h3.example']);
    const known = new Set(was?.parts.map((part) => JSON.stringify(part)));
    const parts = is?.parts.filter((part) => !known.has(JSON.stringify(part)));
    expect(parts?.map(({ unit }) => unit)).toEqual(['Route/default/r3']);
  });
});

describe('a tally', () => {
  interface Item {
    readonly key: string;
    readonly text: string;
  }
  const item = fc.record({ key: fc.constantFrom(...'abcdefghij'), text: fc.constantFrom('x', 'y', 'z') });
  const make = () =>
    new Tally<Item>({
      keyOf: ({ key }) => key,
      textOf: ({ text }) => text,
      together: (items) => ({
        key: (items[0] as Item).key,
        text: items
          .map(({ text }) => text)
          .sort()
          .join(),
      }),
    });

  it('lists what was added and not removed, each key once and in order, whatever was asked in between', () => {
    const step = fc.oneof(
      item.map((value) => ({ add: value })),
      fc.nat().map((remove) => ({ remove })),
      fc.constant('list' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const tally = make();
        const there: Item[] = [];
        for (const one of steps) {
          if (one === 'list') void tally.list;
          else if ('add' in one) {
            tally.add(one.add);
            there.push(one.add);
          } else if (there.length > 0) {
            const [gone] = there.splice(one.remove % there.length, 1);
            // Another value that says the same.
            tally.remove({ ...(gone as Item) });
          }
        }
        const keys = [...new Set(there.map(({ key }) => key))].sort();
        const textsOf = (key: string) => there.filter((one) => one.key === key).map(({ text }) => text);
        expect(tally.list).toEqual(keys.map((key) => ({ key, text: [...new Set(textsOf(key))].sort().join() })));
      }),
    );
  });

  it('takes no notice of the removal of what was never added', () => {
    const tally = make();
    tally.remove({ key: 'a', text: 'x' });
    tally.add({ key: 'a', text: 'x' });
    tally.add({ key: 'a', text: 'y' });
    tally.remove({ key: 'a', text: 'z' });
    expect(tally.list).toEqual([{ key: 'a', text: 'x,y' }]);
  });
});
