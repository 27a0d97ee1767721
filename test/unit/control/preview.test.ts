import { afterEach, describe, expect, test } from 'vitest';
import { preview, type Write } from '../../../src/control/index.ts';
import type { DraftObject, FairwayObject, ObjectKey } from '../../../src/model/index.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import { certificate, draft, fleet, http, https, pool, route, service, tcp } from '../../support/drafts.ts';
import { createMirrored, type Mirrored } from '../../support/mirrored.ts';
import { keyOf } from '../../support/world.ts';

const open: Mirrored[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const budget = { sliceMs: 4, now: () => 0, pause: async () => undefined };
const members = [{ address: '10.0.0.1', port: 80 }];

async function started(...objects: readonly DraftObject[]): Promise<Mirrored> {
  const one = createMirrored();
  open.push(one);
  for (const object of objects) await one.put(object);
  await one.mirror.start();
  return one;
}

/** Three services of two fleets. */
const world = [
  fleet('edge'),
  fleet('core'),
  pool('p'),
  pool('q'),
  certificate('c'),
  service('a', { fleet: 'edge', listeners: [tcp('p', { port: 1 })] }),
  service('b', { fleet: 'edge', listeners: [https(['c'], { port: 2 })] }),
  service('c', { fleet: 'core', listeners: [http({ port: 3, allowedRoutes: { scopes: ['*'] } })] }),
];

/** A write of an object as the API would put it, one generation further. */
function write({ mirror }: Mirrored, object: DraftObject): Write {
  const key = keyOf(object);
  const table = mirror.world.graph.objects[object.kind];
  const before = mirror.world.kernel.get(table, key)?.metadata;
  const metadata = {
    ...object.metadata,
    uid: before?.uid ?? 'new',
    generation: (before?.generation ?? 0) + 1,
    revision: String(mirror.revision + 1),
    createdRevision: before?.createdRevision ?? String(mirror.revision + 1),
    createdAt: '2026-01-01T00:00:00Z',
  };
  return { key, object: { ...object, metadata } as FairwayObject };
}

const gone = (key: ObjectKey): Write => ({ key, object: undefined });

function resourcesOf({ mirror }: Mirrored): Map<string, string> {
  const { kernel, translation } = mirror.world;
  return new Map(
    translation.outputs.flatMap((output) =>
      [...kernel.keys(output)].map((name): [string, string] => {
        const resource = kernel.get(output, name);
        return [`${resource?.type} ${name}`, resource?.hash ?? ''];
      }),
    ),
  );
}

describe('a dry run says what the write then does', () => {
  test.each<[string, (one: Mirrored) => Write[]]>([
    ['a setting of a pool', (one) => [write(one, pool('p', { members, connectTimeout: '9s' }))]],
    ['a member', (one) => [write(one, pool('p', { members: [...members, { address: '10.0.0.2', port: 80 }] }))]],
    ['a new service', (one) => [write(one, service('new', { fleet: 'edge', listeners: [tcp('q', { port: 4 })] }))]],
    ['a conflict', (one) => [write(one, service('new', { fleet: 'edge', listeners: [tcp('q', { port: 1 })] }))]],
    ['a service that goes', () => [gone('VirtualService/default/a')]],
    ['a pool that goes from under a service', () => [gone('BackendPool/default/p')]],
    ['a fleet that goes', () => [gone('Fleet/edge')]],
    [
      'a service that moves to another fleet',
      (one) => [write(one, service('a', { fleet: 'core', listeners: [tcp('p', { port: 1 })] }))],
    ],
    [
      'several at once',
      (one) => [
        write(one, route('red/r', 'default/c', { pools: ['x'] })),
        write(one, pool('red/x')),
        gone('VirtualService/default/b'),
      ],
    ],
    ['labels only', (one) => [{ key: 'BackendPool/default/p', object: write(one, pool('p')).object }]],
    ['a pool that nobody uses', (one) => [write(one, pool('q', { members: [] }))]],
  ])('%s', async (_, writesOf) => {
    const one = await started(...world);
    const before = resourcesOf(one);
    const { kernel, graph } = one.mirror.world;
    const verdictsOf = () =>
      new Map([...kernel.keys(graph.verdicts)].map((key) => [key, kernel.get(graph.verdicts, key)?.conditions]));
    const verdicts = verdictsOf();
    const writes = writesOf(one);
    const said = await preview(one.mirror, writes, budget);
    expect(resourcesOf(one)).toEqual(before);

    for (const { key, object } of writes) {
      if (object === undefined) await one.remove(key);
      else
        await one.put({
          ...object,
          metadata: (({ name, scope, labels, annotations }) => ({
            name,
            ...(scope === undefined ? {} : { scope }),
            labels,
            annotations,
          }))(object.metadata),
        } as DraftObject);
    }
    await one.settled();
    const after = resourcesOf(one);
    const names = (list: readonly { type: string; name: string }[]) =>
      list.map(({ type, name }) => `${type} ${name}`).sort();
    const moved = names(said.resources.added).filter((name) => names(said.resources.removed).includes(name));
    expect(names(said.resources.added).filter((name) => !moved.includes(name))).toEqual(
      [...after.keys()].filter((name) => !before.has(name)).sort(),
    );
    expect(names(said.resources.removed).filter((name) => !moved.includes(name))).toEqual(
      [...before.keys()].filter((name) => !after.has(name)).sort(),
    );
    expect(names(said.resources.changed)).toEqual(
      [...after]
        .filter(([name, hash]) => before.has(name) && before.get(name) !== hash)
        .map(([name]) => name)
        .sort(),
    );
    const now = verdictsOf();
    const differing = [...new Set([...verdicts.keys(), ...now.keys()])].filter(
      (key) => JSON.stringify(verdicts.get(key)) !== JSON.stringify(now.get(key)),
    );
    expect(said.conditions.map(({ key }) => key)).toEqual(differing.sort());
    for (const { key, after: conditions } of said.conditions) expect(conditions).toEqual(now.get(key) ?? []);
  });
});

describe('the fleets that get something', () => {
  test.each<[string, (one: Mirrored) => Write[], fleets: string[]]>([
    ['of an edit', (one) => [write(one, pool('p', { members: [] }))], ['edge']],
    ['of a pool that a second fleet begins to use', (one) => [write(one, route('r', 'c', { pools: ['p'] }))], ['core']],
    [
      'of a service that moves',
      (one) => [write(one, service('a', { fleet: 'core', listeners: [tcp('p', { port: 1 })] }))],
      ['core', 'edge'],
    ],
    ['of a new fleet', (one) => [write(one, fleet('new'))], ['new']],
    ['of a fleet that goes', () => [gone('Fleet/core')], ['core']],
    ['of an edit of a fleet', (one) => [write(one, fleet('edge', { drainTimeout: '5s' }))], []],
    ['of what nobody uses', (one) => [write(one, pool('q', { members: [] }))], []],
    ['of a scope', (one) => [write(one, draft('Scope', 'team', {}))], []],
  ])('%s', async (_, writesOf, fleets) => {
    const one = await started(...world);
    const said = await preview(one.mirror, writesOf(one), budget);
    expect([...said.fleets].sort()).toEqual(fleets);
  });
});

describe('what a fleet would lose', () => {
  test('is counted when services go', async () => {
    const one = await started(...world);
    const said = await preview(one.mirror, [gone('VirtualService/default/a')], budget);
    expect(said.removals).toEqual([
      { fleet: 'edge', listeners: { removed: 1, of: 2 }, clusters: { removed: 1, of: 1 } },
    ]);
    expect(said.drains.listeners).toEqual(['default/a/any:1']);
  });

  test('when they move to another fleet', async () => {
    const one = await started(...world);
    const moving = service('a', { fleet: 'core', listeners: [tcp('p', { port: 1 })] });
    const said = await preview(one.mirror, [write(one, moving)], budget);
    expect(said.removals).toMatchObject([{ fleet: 'edge', listeners: { removed: 1 }, clusters: { removed: 1 } }]);
    expect(said.drains.listeners).toEqual(['default/a/any:1']);
    const listener = { type: typeUrls.listener, name: 'default/a/any:1' };
    expect(said.resources.added).toContainEqual(listener);
    expect(said.resources.removed).toContainEqual(listener);
  });

  test('and when the fleet itself goes', async () => {
    const one = await started(...world);
    const said = await preview(one.mirror, [gone('Fleet/edge')], budget);
    expect(said.removals).toMatchObject([{ fleet: 'edge', listeners: { removed: 2, of: 2 } }]);
  });

  test('is nothing when a second fleet begins to use a pool', async () => {
    const one = await started(...world);
    const said = await preview(one.mirror, [write(one, route('r', 'c', { pools: ['p'] }))], budget);
    expect(said.removals).toEqual([]);
    expect(said.drains).toEqual({ listeners: [], filterChains: [] });
  });
});

test('dry runs and commits take turns', async () => {
  const one = await started(...world);
  const said = Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      preview(one.mirror, [write(one, pool('p', { members, connectTimeout: `${n + 6}s` }))], budget),
    ),
  );
  for (let n = 0; n < 10; n += 1) await one.put(pool(`x${n}`));
  await one.settled();
  for (const { resources } of await said) expect(resources.changed.map(({ name }) => name)).toEqual(['default/p']);
});
