import { afterEach, describe, expect, test } from 'vitest';
import { createPinner, objectOf, type Pinner } from '../../../src/control/index.ts';
import { wantedPins } from '../../../src/control/pins.ts';
import { type ObjectKey, storeKey } from '../../../src/model/index.ts';
import type { PinRecord, Rejection, Suspect } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { fleet, pool, service, tcp } from '../../support/drafts.ts';
import { createMirrored, type Mirrored, unavailable } from '../../support/mirrored.ts';
import { until } from '../../support/until.ts';

const p = 'BackendPool/default/p';
const q = 'BackendPool/default/q';

function suspect(rest: Partial<Suspect> = {}): Suspect {
  return { unit: p, uid: 'u1', refused: 2, good: 1, words: 'no', ...rest };
}

function rejection(suspects: readonly Suspect[], rest: Partial<Rejection> = {}): Rejection {
  return {
    type: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
    name: 'default/p',
    hash: 'h',
    words: 'no',
    scope: 'convicted',
    nodes: ['a'],
    nodeCount: 1,
    count: 1,
    first: '2026-01-01T00:00:00Z',
    last: '2026-01-01T00:00:00Z',
    suspects,
    ...rest,
  };
}

describe('the pins that refusals ask for', () => {
  const present = new Map([[p, { uid: 'u1', refused: 1, good: 7 }]]);
  test.each<[string, Rejection[], ReadonlyMap<ObjectKey, PinRecord>, want: Record<string, [number, number | null]>]>([
    ['the last good generation', [rejection([suspect()])], new Map(), { [p]: [2, 1] }],
    ['none that was good', [rejection([suspect({ good: null })])], new Map(), { [p]: [2, null] }],
    [
      'none that was good since a restart: what the pin of an earlier one says',
      [rejection([suspect({ good: null })])],
      present,
      { [p]: [2, 7] },
    ],
    [
      'not what the pin of a former object says',
      [rejection([suspect({ good: null })])],
      new Map([[p, { uid: 'u0', refused: 1, good: 7 }]]),
      { [p]: [2, null] },
    ],
    [
      'not what is refused itself',
      [rejection([suspect({ good: null })])],
      new Map([[p, { uid: 'u1', refused: 1, good: 2 }]]),
      { [p]: [2, null] },
    ],
    ['nothing for what was good in the same generation', [rejection([suspect({ good: 2 })])], new Map(), {}],
    ['nothing for an older generation', [rejection([suspect({ refused: 1 })])], new Map(), {}],
    ['nothing for a former object', [rejection([suspect({ uid: 'u0' })])], new Map(), {}],
    ['nothing for an object that is gone', [rejection([suspect({ unit: 'BackendPool/default/gone' })])], new Map(), {}],
    ['nothing where other proxies took it', [rejection([suspect()], { scope: 'local' })], new Map(), {}],
    ['nothing for a fault of a host', [rejection([suspect()], { scope: 'host' })], new Map(), {}],
    [
      'each of several suspects',
      [rejection([suspect(), suspect({ unit: q, uid: 'u2', refused: 5, good: 4 })])],
      new Map(),
      { [p]: [2, 1], [q]: [5, 4] },
    ],
    [
      'what one of two refusals knows',
      [rejection([suspect()]), rejection([suspect({ good: null })], { name: 'x' })],
      new Map(),
      { [p]: [2, 1] },
    ],
    [
      'the same in the other order',
      [rejection([suspect({ good: null })]), rejection([suspect()], { name: 'x' })],
      new Map(),
      { [p]: [2, 1] },
    ],
  ])('%s', (_, rejections, pins, want) => {
    const metadata: Record<string, { uid: string; generation: number }> = {
      [p]: { uid: 'u1', generation: 2 },
      [q]: { uid: 'u2', generation: 5 },
    };
    const wanted = wantedPins(rejections, pins, (key) => metadata[key]);
    expect(Object.fromEntries([...wanted].map(([key, { refused, good }]) => [key, [refused, good]]))).toEqual(want);
    for (const [key, pin] of wanted) expect(pin.uid).toBe(metadata[key]?.uid);
  });
});

interface Rig extends Mirrored {
  readonly pinner: Pinner;
  /** Objects that all proxies have accepted as they stand. */
  readonly accepted: Set<ObjectKey>;
  refuse(key: ObjectKey, good: number | null, rest?: Partial<Rejection>): Promise<void>;
}

const open: Rig[] = [];

afterEach(async () => {
  for (const rig of open.splice(0)) {
    await rig.pinner.close();
    await rig.close();
  }
});

async function rigged(): Promise<Rig> {
  const one = createMirrored();
  const accepted = new Set<ObjectKey>();
  let ids = 0;
  const pinner = createPinner({
    mirror: one.mirror,
    store: one.store,
    accepted: (key) => accepted.has(key),
    newId: () => {
      ids += 1;
      return `pinner-${ids}`;
    },
    log: createLogger({ level: 'silent' }),
  });
  const rig: Rig = {
    ...one,
    pinner,
    accepted,
    async refuse(key, good, rest = {}) {
      const metadata = objectOf(one.mirror, key)?.metadata;
      if (metadata === undefined) throw new Error(`${key} is not there`);
      const blamed = suspect({ unit: key, uid: metadata.uid, refused: metadata.generation, good });
      await one.commit({ [storeKey('rejection', 'Cluster/default/p')]: rejection([blamed], rest) });
      await one.settled();
      pinner.nudge();
    },
  };
  open.push(rig);
  await one.put(fleet('edge'), pool('p'), service('shop', { listeners: [tcp('p')] }));
  await one.mirror.start();
  return rig;
}

const members = (address: string) => ({ members: [{ address, port: 80 }] });

function inForce({ mirror }: Mirrored): number | undefined {
  const { kernel, graph } = mirror.world;
  return kernel.get(graph.effective.BackendPool, p)?.generation;
}

describe('the pinner', () => {
  test('puts the last good form in force, and lets it go once a newer one is accepted', async () => {
    const rig = await rigged();
    await rig.put(pool('p', members('10.0.0.2')));
    await rig.settled();
    await rig.refuse(p, 1);
    await until('the pin', () => inForce(rig) === 1);
    await rig.put(pool('p', members('10.0.0.3')));
    await rig.settled();
    rig.pinner.nudge();
    expect(inForce(rig)).toBe(3);
    // Not accepted yet: the good one must stay known.
    await rig.put(pool('other'));
    await rig.settled();
    expect(rig.mirror.records.pins.size).toBe(1);
    rig.accepted.add(p);
    rig.pinner.nudge();
    await until('the records to go', () => rig.mirror.records.pins.size + rig.mirror.records.rejections.size === 0);
    expect(inForce(rig)).toBe(3);
  });

  test('a newer generation that is refused too goes back to the same good one', async () => {
    const rig = await rigged();
    for (const [address, generation] of [
      ['10.0.0.2', 2],
      ['10.0.0.3', 3],
    ] as const) {
      await rig.put(pool('p', members(address)));
      await rig.settled();
      expect(inForce(rig)).toBe(generation);
      // After the first, nobody remembers what was good but the pin.
      await rig.refuse(p, generation === 2 ? 1 : null);
      await until('the pin', () => inForce(rig) === 1);
    }
    expect(rig.mirror.records.pins.get(p)).toMatchObject({ refused: 3, good: 1 });
  });

  test('withholds what never was good', async () => {
    const rig = await rigged();
    await rig.refuse(p, null);
    await until('the pin', () => inForce(rig) === undefined);
  });

  test('forgets the refusal of an object that is deleted, and holds nothing against one of the same name', async () => {
    const rig = await rigged();
    await rig.refuse(p, null);
    await until('the pin', () => inForce(rig) === undefined);
    await rig.remove(p);
    await rig.put(pool('p', members('10.0.0.9')));
    await rig.settled();
    expect(inForce(rig)).toBe(1);
    rig.pinner.nudge();
    await until('the records to go', () => rig.mirror.records.pins.size + rig.mirror.records.rejections.size === 0);
    expect(inForce(rig)).toBe(1);
  });

  test('writes nothing twice, and nothing at all without refusals', async () => {
    const rig = await rigged();
    const { commits } = rig.store;
    rig.pinner.nudge();
    await rig.refuse(p, null);
    await until('the pin', () => inForce(rig) === undefined);
    for (let n = 0; n < 5; n += 1) rig.pinner.nudge();
    await rig.pinner.close();
    // The refusal and its pin.
    expect(rig.store.commits - commits).toBe(2);
  });

  test('tries again when the store is away', async () => {
    const rig = await rigged();
    await rig.put(pool('p', members('10.0.0.2')));
    await rig.settled();
    await rig.refuse(p, 1, {});
    rig.store.fail('commit', unavailable, 2);
    await until('the pin', () => inForce(rig) === 1);
  });
});
