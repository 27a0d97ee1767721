import { afterEach, describe, expect, test } from 'vitest';
import { objectOf } from '../../../src/control/index.ts';
import { type ObjectKey, specKey, storeKey } from '../../../src/model/index.ts';
import { encodeRejection, encodeSearch } from '../../../src/status/index.ts';
import { typeUrls } from '../../../src/xds/index.ts';
import { fleet, pool, route, service, tcp } from '../../support/drafts.ts';
import { compacted, createFaultyStore, createMirrored, type Mirrored, unavailable } from '../../support/mirrored.ts';
import { convictionOf, recordKey, rejectionOf, suspectOf } from '../../support/refusal-records.ts';
import { until } from '../../support/until.ts';

const open: Mirrored[] = [];

function mirrored(options?: Parameters<typeof createMirrored>[0]): Mirrored {
  const made = createMirrored(options);
  open.push(made);
  return made;
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const members = (address: string) => ({ members: [{ address, port: 80 }] });
const listening = service('shop', { listeners: [tcp('p')] });

function namesOf({ mirror }: Mirrored): string[] {
  const { kernel, graph } = mirror.world;
  return Object.values(graph.objects)
    .flatMap((table) => [...kernel.keys(table)])
    .sort();
}

describe('the first build', () => {
  test('has all that the store holds, in one adoption', async () => {
    const one = mirrored();
    await one.put(fleet('edge'), pool('p'), listening);
    expect(one.mirror.ready).toBe(false);
    expect(one.mirror.revision).toBe(0);
    await one.mirror.start();
    expect(one.mirror).toMatchObject({ ready: true, revision: 1 });
    expect(one.adoptions).toHaveLength(1);
    expect(one.adoptions[0]).toMatchObject({ first: true, revision: 1 });
    expect(one.adoptions[0]?.commit.puts.map(({ type }) => type)).toContain(typeUrls.listener);
    expect(namesOf(one)).toEqual(['BackendPool/default/p', 'Fleet/edge', 'VirtualService/default/shop']);
  });

  test('of an empty store is one too', async () => {
    const one = mirrored();
    await one.mirror.start();
    expect(one.mirror.ready).toBe(true);
    expect(one.adoptions).toHaveLength(1);
  });

  test('that cannot be read is none', async () => {
    const one = mirrored();
    one.store.fail('list', unavailable);
    await expect(one.mirror.start()).rejects.toThrow('away');
    expect(one.mirror.ready).toBe(false);
  });

  test('leaves out what a later version wrote, and says so', async () => {
    const one = mirrored();
    await one.put(fleet('edge'));
    await one.commit({ 'spec/AddressPool/public': { kind: 'AddressPool', metadata: { name: 'public' }, spec: {} } });
    await one.mirror.start();
    expect(namesOf(one)).toEqual(['Fleet/edge']);
    expect(one.logged).toContainEqual(expect.objectContaining({ event: 'unknown_kind', object: 'AddressPool/public' }));
  });
});

describe('following the store', () => {
  test('every commit is adopted, and those that wait are merged into one step', async () => {
    const one = mirrored();
    await one.mirror.start();
    // The world stands still for a dry run: what comes meanwhile waits.
    const gate = Promise.withResolvers<void>();
    const standing = one.mirror.exclusive(() => gate.promise);
    await one.put(fleet('edge'), listening);
    for (let n = 1; n <= 20; n += 1) await one.put(pool('p', members(`10.0.0.${n}`)));
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(one.adoptions).toHaveLength(1);
    gate.resolve();
    await standing;
    await one.settled();
    // The first build, what was being taken in when the world stood still, and all the rest.
    expect(one.adoptions).toHaveLength(3);
    expect(
      one.mirror.world.kernel.get(one.mirror.world.graph.effective.BackendPool, 'BackendPool/default/p'),
    ).toMatchObject({
      generation: 20,
      spec: members('10.0.0.20'),
    });
    const revisions = one.adoptions.map(({ revision }) => revision);
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
    expect(one.adoptions.slice(1).every(({ first }) => !first)).toBe(true);
  });

  test('the world changes in one step: revision, objects, records and resources together', async () => {
    const seen: unknown[] = [];
    // A pause after every look at the clock: whatever can be seen half done is seen.
    let time = 0;
    const one: Mirrored = mirrored({
      budget: {
        sliceMs: 1,
        now: () => {
          time += 1;
          return time;
        },
        pause: async () => {
          const { revision, records, world } = one.mirror;
          const object = world.kernel.get(world.graph.objects.BackendPool, 'BackendPool/default/p');
          seen.push([revision, object?.metadata.generation, records.searches.size]);
        },
      },
    });
    await one.put(fleet('edge'), pool('p'), listening);
    await one.mirror.start();
    const created = one.mirror.revision;
    await one.put(pool('p', members('10.0.0.2')));
    await one.commit({ [storeKey('pin', recordKey)]: encodeSearch(convictionOf(suspectOf({ refused: 9 }))) });
    await one.settled();
    const kinds = new Set(seen.map((state) => JSON.stringify(state)));
    const want = [
      [0, undefined, 0],
      [created, 1, 0],
      [created + 1, 2, 0],
      [created + 2, 2, 1],
    ].map((state) => JSON.stringify(state));
    expect(kinds.size).toBeGreaterThan(1);
    expect([...kinds].filter((state) => !want.includes(state))).toEqual([]);
  });

  test('a watch that fails is taken up where it stopped', async () => {
    const one = mirrored();
    await one.mirror.start();
    await one.put(fleet('edge'));
    await one.settled();
    one.store.breakWatch(unavailable);
    await one.put(pool('p'));
    await one.settled();
    expect(namesOf(one)).toEqual(['BackendPool/default/p', 'Fleet/edge']);
    expect(one.store.watches).toEqual([0, 1]);
    expect(one.store.lists).toBe(1);
  });

  test('so is one that merely ends, and one that cannot be begun', async () => {
    const one = mirrored();
    await one.mirror.start();
    one.store.fail('watch', unavailable, 3);
    one.store.breakWatch();
    await one.put(fleet('edge'));
    await one.settled();
    expect(one.store.watches).toEqual([0, 0, 0, 0, 0]);
    expect(one.logged.filter(({ event }) => event === 'watch_failed')).toHaveLength(4);
  });

  test('what fails within a step is done again, and nothing of it is lost', async () => {
    const one = mirrored();
    await one.mirror.start();
    await one.put(fleet('edge'), pool('p'), listening);
    await one.put(pool('p', members('10.0.0.2')));
    await one.settled();
    const before = one.adoptions.length;
    // The spec of the good generation is read from the store.
    one.store.fail('get', unavailable, 2);
    const uid = objectOf(one.mirror, 'BackendPool/default/p')?.metadata.uid ?? '';
    const search = convictionOf(suspectOf({ uid, refused: 2, good: 1 }));
    await one.commit({ [storeKey('pin', recordKey)]: encodeSearch(search) });
    await one.settled();
    const { kernel, graph } = one.mirror.world;
    expect(kernel.get(graph.effective.BackendPool, 'BackendPool/default/p')).toMatchObject({ generation: 1 });
    expect(one.adoptions.length).toBe(before + 1);
  });
});

describe('after compaction', () => {
  test('the store is listed anew: what vanished goes, what is the same stays, and it is never empty for a moment', async () => {
    const one = mirrored({ store: createFaultyStore({ retain: { revisions: 2 } }) });
    await one.put(fleet('edge'), pool('p'), pool('q'), listening);
    await one.commit({
      [storeKey('node', 'n1')]: { nodeId: 'n1', connected: true },
      [storeKey('transitions', 'Fleet/edge')]: { uid: 'u', transitions: [] },
      [storeKey('rejection', recordKey)]: encodeRejection(rejectionOf()),
    });
    await one.mirror.start();
    const { kernel, graph } = one.mirror.world;
    const shop = kernel.get(graph.objects.VirtualService, 'VirtualService/default/shop');
    // The watch is away for long.
    one.store.fail('watch', unavailable, 1_000_000);
    one.store.breakWatch(unavailable);
    await one.remove('BackendPool/default/q');
    await one.put(pool('p', members('10.0.0.2')), pool('new'));
    await one.commit({}, [
      storeKey('node', 'n1'),
      storeKey('transitions', 'Fleet/edge'),
      storeKey('rejection', recordKey),
    ]);
    for (let n = 0; n < 5; n += 1) await one.relabel(fleet('edge'), { n: String(n) });
    const before = one.adoptions.length;
    one.store.fail('watch', unavailable, 0);
    await one.settled();

    expect(one.logged).toContainEqual(expect.objectContaining({ event: 'watch_compacted' }));
    expect(one.store.lists).toBe(2);
    expect(namesOf(one)).toEqual([
      'BackendPool/default/new',
      'BackendPool/default/p',
      'Fleet/edge',
      'VirtualService/default/shop',
    ]);
    // One step: nobody saw a View without what the store had all the time.
    expect(one.adoptions.length).toBe(before + 1);
    const adoption = one.adoptions.at(-1);
    expect(adoption?.first).toBe(false);
    expect(adoption?.commit.removals).toEqual([]);
    expect(adoption?.changes.map(({ key, object }) => [key, object === undefined]).sort()).toEqual([
      ['BackendPool/default/new', false],
      ['BackendPool/default/p', false],
      ['BackendPool/default/q', true],
      ['Fleet/edge', false],
    ]);
    // What is the same was not even decoded.
    expect(kernel.get(graph.objects.VirtualService, 'VirtualService/default/shop')).toBe(shop);
    const { records } = one.mirror;
    expect([records.nodes.size, records.transitions.size, records.rejections.size]).toEqual([0, 0, 0]);
    expect(adoption?.over).toEqual([rejectionOf()]);
  });

  test('a list that fails is tried again, and nothing is deleted meanwhile', async () => {
    const one = mirrored();
    await one.put(fleet('edge'), pool('p'));
    await one.mirror.start();
    one.store.fail('list', unavailable, 3);
    one.store.breakWatch(compacted);
    await until('the lists to fail', () => one.store.lists >= 4);
    expect(namesOf(one)).toEqual(['BackendPool/default/p', 'Fleet/edge']);
    await one.put(pool('q'));
    await one.settled();
    expect(namesOf(one)).toContain('BackendPool/default/q');
    expect(one.adoptions.flatMap(({ changes }) => changes).every(({ object }) => object !== undefined)).toBe(true);
  });
});

describe('what a step tells', () => {
  test('are changes in the order of their revisions, with what was before', async () => {
    const one = mirrored();
    await one.put(fleet('edge'), pool('p'), pool('q'));
    await one.mirror.start();
    one.store.hold();
    const first = await one.put(pool('p', members('10.0.0.2')));
    const second = await one.put(pool('r'));
    const third = await one.put(pool('p', members('10.0.0.3')));
    const fourth = await one.remove('BackendPool/default/q');
    one.store.release();
    await one.settled();
    const changes = one.adoptions.slice(1).flatMap((adoption) => adoption.changes);
    const revisions = changes.map(({ revision }) => revision);
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
    const last = new Map(changes.map((change) => [change.key, change]));
    expect(last.get('BackendPool/default/p')).toMatchObject({
      revision: third,
      object: { metadata: { generation: 3 } },
    });
    expect(last.get('BackendPool/default/r')).toMatchObject({ revision: second });
    expect(last.get('BackendPool/default/r')).not.toHaveProperty('last');
    expect(last.get('BackendPool/default/q')).toMatchObject({
      revision: fourth,
      object: undefined,
      last: { kind: 'BackendPool' },
    });
    expect(first).toBeLessThan(second);
  });

  test('a new time of a condition is a change of its object, as it is now', async () => {
    const one = mirrored();
    await one.put(fleet('edge'), pool('p'));
    await one.mirror.start();
    const record = { uid: 'u', transitions: [] };
    const at = await one.commit({
      [storeKey('transitions', 'BackendPool/default/p')]: record,
      [storeKey('transitions', 'BackendPool/default/gone')]: record,
    });
    await one.settled();
    const changes = one.adoptions.at(-1)?.changes;
    expect(changes).toMatchObject([{ revision: at, key: 'BackendPool/default/p', kind: 'BackendPool' }]);
    expect(changes?.[0]?.object).toBe(objectOf(one.mirror, 'BackendPool/default/p'));
  });

  test.each<[string, (one: Mirrored, key: ObjectKey) => Promise<unknown>, want: number | undefined]>([
    ['changed', (one) => one.put(pool('p', members('10.0.0.2'))), 2],
    ['deleted', (one, key) => one.remove(key), undefined],
  ])('but not beside that of an object that was %s in the same step', async (_, edit, generation) => {
    const one = mirrored();
    await one.put(fleet('edge'), pool('p'));
    await one.mirror.start();
    const key = 'BackendPool/default/p';
    one.store.hold();
    await one.put(pool('other'));
    await edit(one, key);
    await one.commit({ [storeKey('transitions', key)]: { uid: 'u', transitions: [] } });
    one.store.release();
    await one.settled();
    const changes = one.adoptions.flatMap((adoption) => adoption.changes).filter((change) => change.key === key);
    expect(changes.at(-1)?.object?.metadata.generation).toBe(generation);
  });

  test('touched objects are those whose conditions may be others: of a table, whose rules changed', async () => {
    const one = mirrored();
    await one.put(
      fleet('edge'),
      service('shop'),
      route('a', 'shop', { hosts: ['a.b'] }),
      route('b', 'shop', { hosts: ['b.b'] }),
    );
    await one.mirror.start();
    await one.put(route('a', 'shop', { hosts: ['a.b'], pools: ['p'] }));
    await one.settled();
    expect([...(one.adoptions.at(-1)?.touched ?? [])]).toEqual(['Route/default/a']);
    await one.put(pool('p'));
    await one.settled();
    expect([...(one.adoptions.at(-1)?.touched ?? [])].sort()).toEqual(['BackendPool/default/p', 'Route/default/a']);
  });

  test('suspects of a rejection are touched when it comes and when it goes', async () => {
    const one = mirrored();
    await one.put(fleet('edge'), pool('p'));
    await one.mirror.start();
    const key = storeKey('rejection', recordKey);
    for (const [puts, deletes] of [
      [{ [key]: encodeRejection(rejectionOf()) }, []],
      [{}, [key]],
    ] as const) {
      await one.commit(puts, deletes);
      await one.settled();
      expect([...(one.adoptions.at(-1)?.touched ?? [])]).toEqual(['BackendPool/default/p']);
    }
  });
});

test('what is derived with an error is told once, and again only when it is another', async () => {
  const one = mirrored();
  await one.mirror.start();
  const broken = {
    apiVersion: 'fairway/v1',
    kind: 'VirtualService',
    metadata: { name: 'bad', scope: 'default', labels: {} },
    spec: {},
  };
  await one.commit({ [specKey('VirtualService/default/bad')]: broken });
  await one.put(fleet('edge'), pool('p'), listening);
  await one.settled();
  const told = one.logged.filter(({ event }) => event === 'derivation_failed');
  expect(told.length).toBeGreaterThan(0);
  expect(told.every(({ row }) => String(row).startsWith('VirtualService/default/bad'))).toBe(true);
  // It harms itself only.
  const { kernel, graph } = one.mirror.world;
  expect(kernel.get(graph.listeners, 'VirtualService/default/shop|25|*')).toBeDefined();
  await one.put(pool('q'));
  await one.settled();
  expect(one.logged.filter(({ event }) => event === 'derivation_failed')).toHaveLength(told.length);
});

test('a large first build lets others run', async () => {
  const one = mirrored();
  const count = 3000;
  for (let from = 0; from < count; from += 50) {
    const numbers = Array.from({ length: 50 }, (_, n) => from + n);
    await one.put(...numbers.map((n) => pool(`p${n}`)));
    await one.put(...numbers.map((n) => service(`s${n}`, { listeners: [tcp(`p${n}`, { port: 1000 + n })] })));
  }
  await one.put(fleet('edge'));
  let turns = 0;
  let counting = true;
  const count1 = (): void => {
    turns += 1;
    if (counting) setImmediate(count1);
  };
  setImmediate(count1);
  await one.mirror.start();
  counting = false;
  expect(one.mirror.world.kernel.cells).toBeGreaterThan(count * 10);
  // Cut into slices of 4 ms: a build of one piece would leave none in between.
  expect(turns).toBeGreaterThan(20);
});

describe('the end', () => {
  test('comes while the store is away, and lets those go who wait', async () => {
    const one = mirrored();
    await one.mirror.start();
    one.store.fail('watch', unavailable, 1_000_000);
    one.store.breakWatch(unavailable);
    const waiting = one.mirror.reached(99, { timeoutMs: 60_000 });
    const refused = expect(waiting).rejects.toMatchObject({ code: 'NotReady' });
    await one.mirror.close();
    await refused;
  });

  test('no step follows it', async () => {
    const one = mirrored();
    await one.mirror.start();
    await one.mirror.close();
    const { length } = one.adoptions;
    await one.put(fleet('edge'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(one.adoptions).toHaveLength(length);
  });
});
