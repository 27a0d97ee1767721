import { afterEach, describe, expect, test } from 'vitest';
import { createSearcher, objectOf, type Searcher } from '../../../src/control/index.ts';
import { storeKey } from '../../../src/model/index.ts';
import { encodeRejection, type Rejection } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { fleet, pool, service, tcp } from '../../support/drafts.ts';
import { createMirrored, type Mirrored, unavailable } from '../../support/mirrored.ts';
import { recordKey, rejectionOf, suspectOf } from '../../support/refusal-records.ts';
import { until } from '../../support/until.ts';

const p = 'BackendPool/default/p';

interface Rig extends Mirrored {
  readonly searcher: Searcher;
  /** A proxy refuses the cluster as it is made now. */
  refuse(good: number | null): Promise<void>;
  /** It accepts the cluster as it is made now. */
  accept(): Promise<void>;
}

const open: Rig[] = [];

afterEach(async () => {
  for (const rig of open.splice(0)) {
    await rig.searcher.close();
    await rig.close();
  }
});

async function rigged(): Promise<Rig> {
  const one = createMirrored();
  let ids = 0;
  const searcher = createSearcher({
    mirror: one.mirror,
    store: one.store,
    newId: () => {
      ids += 1;
      return `searcher-${ids}`;
    },
    log: createLogger({ level: 'silent' }),
  });
  let last: Rejection | undefined;
  const hash = (): string => {
    const { kernel, translation } = one.mirror.world;
    return kernel.get(translation.clusters, 'default/p')?.hash ?? '';
  };
  async function record(rejection: Rejection): Promise<void> {
    last = rejection;
    await one.commit({ [storeKey('rejection', recordKey)]: encodeRejection(rejection) });
    await one.settled();
    searcher.nudge();
  }
  const rig: Rig = {
    ...one,
    searcher,
    async refuse(good) {
      const metadata = objectOf(one.mirror, p)?.metadata;
      if (metadata === undefined) throw new Error('the pool is not there');
      const suspect = suspectOf({ unit: p, uid: metadata.uid, refused: metadata.generation, good });
      const accepted = last?.accepted ?? { hash: 'good', revision: 0 };
      await record(rejectionOf({ hash: hash(), revision: one.mirror.revision, accepted, suspects: [suspect] }));
    },
    async accept() {
      if (last === undefined) throw new Error('nothing was refused');
      await record({ ...last, accepted: { hash: hash(), revision: one.mirror.revision } });
    },
  };
  open.push(rig);
  await one.put(fleet('edge'), pool('p'), service('shop', { listeners: [tcp('p')] }));
  await one.mirror.start();
  return rig;
}

const left = ({ mirror }: Mirrored) => mirror.records.searches.size + mirror.records.rejections.size;

const timeout = (connectTimeout: string) => ({ connectTimeout, members: [{ address: '10.0.0.1', port: 80 }] });

function inForce({ mirror }: Mirrored): number | undefined {
  const { kernel, graph } = mirror.world;
  return kernel.get(graph.effective.BackendPool, p)?.generation;
}

describe('the searcher', () => {
  test('puts the last good form in force, and lets it go once a newer one is accepted', async () => {
    const rig = await rigged();
    await rig.put(pool('p', timeout('2s')));
    await rig.settled();
    await rig.refuse(1);
    await until('the good form', () => inForce(rig) === 1);
    await rig.put(pool('p', timeout('3s')));
    await rig.settled();
    rig.searcher.nudge();
    expect(inForce(rig)).toBe(3);
    // Not accepted yet: the good one must stay known.
    await rig.put(pool('other'));
    await rig.settled();
    expect(rig.mirror.records.searches.size).toBe(1);
    await rig.accept();
    await until('the records to go', () => left(rig) === 0);
    expect(inForce(rig)).toBe(3);
  });

  test('a newer generation that is refused too goes back to the same good one', async () => {
    const rig = await rigged();
    for (const [time, generation] of [
      ['2s', 2],
      ['3s', 3],
    ] as const) {
      await rig.put(pool('p', timeout(time)));
      await rig.settled();
      expect(inForce(rig)).toBe(generation);
      // After the first, nobody remembers what was good but the record.
      await rig.refuse(generation === 2 ? 1 : null);
      await until('the good form', () => inForce(rig) === 1);
    }
    expect(rig.mirror.records.held(p)).toMatchObject([{ verdict: 'guilty', suspect: { refused: 3, good: 1 } }]);
  });

  test('withholds what never was good', async () => {
    const rig = await rigged();
    await rig.refuse(null);
    await until('nothing to be served', () => inForce(rig) === undefined);
  });

  test('forgets the refusal of an object that is deleted, and holds nothing against one of the same name', async () => {
    const rig = await rigged();
    await rig.refuse(null);
    await until('nothing to be served', () => inForce(rig) === undefined);
    await rig.remove(p);
    await rig.put(pool('p', timeout('9s')));
    await rig.settled();
    expect(inForce(rig)).toBe(1);
    rig.searcher.nudge();
    await rig.accept();
    await until('the records to go', () => left(rig) === 0);
    expect(inForce(rig)).toBe(1);
  });

  test('writes nothing twice, and nothing at all without refusals', async () => {
    const rig = await rigged();
    const { commits } = rig.store;
    rig.searcher.nudge();
    await rig.refuse(null);
    await until('nothing to be served', () => inForce(rig) === undefined);
    for (let n = 0; n < 5; n += 1) rig.searcher.nudge();
    await rig.searcher.close();
    // The refusal and what was decided.
    expect(rig.store.commits - commits).toBe(2);
  });

  test('tries again when the store is away', async () => {
    const rig = await rigged();
    await rig.put(pool('p', timeout('2s')));
    await rig.settled();
    await rig.refuse(1);
    rig.store.fail('commit', unavailable, 2);
    await until('the good form', () => inForce(rig) === 1);
  });
});
