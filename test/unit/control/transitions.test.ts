import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, test } from 'vitest';
import { createTransitionWriter, type TransitionWriter } from '../../../src/control/index.ts';
import type { ObjectKey } from '../../../src/model/index.ts';
import type { ConditionDraft, Transition } from '../../../src/status/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { fleet, pool } from '../../support/drafts.ts';
import { createMirrored, type Mirrored, unavailable } from '../../support/mirrored.ts';
import { until } from '../../support/until.ts';

interface Rig extends Mirrored {
  readonly writer: TransitionWriter;
  /** What the conditions of objects are now; Programmed=True where nothing is said. */
  readonly now: Map<ObjectKey, ConditionDraft[]>;
  /** How often each object was looked at. */
  readonly looks: Map<ObjectKey, number>;
  proxiesKnown: boolean;
  time: string;
  stored(key: ObjectKey): Record<string, [status: string, since: string]>;
}

const open: Rig[] = [];

afterEach(async () => {
  for (const rig of open.splice(0)) {
    await rig.writer.close();
    await rig.close();
  }
});

async function rigged(): Promise<Rig> {
  const one = createMirrored();
  const now = new Map<ObjectKey, ConditionDraft[]>();
  const looks = new Map<ObjectKey, number>();
  let ids = 0;
  const rig: Rig = Object.assign(one, {
    now,
    looks,
    proxiesKnown: true,
    time: '2026-01-01T00:00:00.000Z',
    writer: createTransitionWriter({
      mirror: one.mirror,
      store: one.store,
      conditions: (key) => {
        looks.set(key, (looks.get(key) ?? 0) + 1);
        return now.get(key) ?? [programmed('True')];
      },
      proxiesKnown: () => rig.proxiesKnown,
      now: () => Date.parse(rig.time),
      newId: () => {
        ids += 1;
        return `writer-${ids}`;
      },
      budget: {
        sliceMs: 4,
        now: () => performance.now(),
        pause: () => new Promise((resolve) => setImmediate(resolve)),
      },
      log: createLogger({ level: 'silent' }),
    }),
    stored(key: ObjectKey) {
      const { records, world } = one.mirror;
      const [kind] = key.split('/');
      const table = Object.values(world.graph.objects).find(({ name }) => name === `${kind} objects`);
      const uid = table === undefined ? '' : (world.kernel.get(table, key)?.metadata.uid ?? '');
      const transitions: readonly Transition[] = records.transitionsOf(key, uid);
      return Object.fromEntries(
        transitions.map(({ type, status, since }) => [type, [status, since] as [string, string]]),
      );
    },
  });
  open.push(rig);
  await one.put(fleet('edge'), pool('p'), pool('q'));
  await one.mirror.start();
  return rig;
}

function programmed(
  status: ConditionDraft['status'],
  reason = status === 'True' ? 'Programmed' : 'Pending',
): ConditionDraft {
  return { type: 'Programmed', status, reason, message: '' };
}

const p = 'BackendPool/default/p';
const q = 'BackendPool/default/q';

/** Waits until nothing is left to do: a write of a marker that is made after all others. */
async function idle(rig: Rig): Promise<void> {
  const looked = rig.looks.get(q) ?? 0;
  rig.writer.touch([q]);
  await until('the writer to come round', () => (rig.looks.get(q) ?? 0) > looked);
  await rig.settled();
}

describe('the transition writer', () => {
  test('stores since when a condition has its status, and then nothing as long as it has', async () => {
    const rig = await rigged();
    rig.writer.touch([p]);
    await until('the transition', () => rig.stored(p)['Programmed']);
    expect(rig.stored(p)).toEqual({ Programmed: ['True', '2026-01-01T00:00:00.000Z'] });
    await idle(rig);
    const { commits } = rig.store;
    rig.time = '2026-01-02T00:00:00.000Z';
    rig.writer.touch([p]);
    rig.writer.touchAll();
    rig.writer.progressed();
    await idle(rig);
    // The fleet was looked at for the first time.
    expect(rig.store.commits - commits).toBeLessThanOrEqual(1);
    expect(rig.stored(p)).toEqual({ Programmed: ['True', '2026-01-01T00:00:00.000Z'] });
  });

  test('stores nothing of what is over within the hold-off', async () => {
    const rig = await rigged();
    rig.writer.touchAll();
    await idle(rig);
    await idle(rig);
    const { commits } = rig.store;
    rig.now.set(p, [programmed('False')]);
    rig.writer.touch([p]);
    rig.now.set(p, [programmed('True')]);
    rig.writer.progressed();
    await idle(rig);
    expect(rig.store.commits).toBe(commits);
  });

  test('gives a status that changes the time of its change', async () => {
    const rig = await rigged();
    rig.writer.touch([p]);
    await until('the transition', () => rig.stored(p)['Programmed']);
    rig.time = '2026-01-02T00:00:00.000Z';
    rig.now.set(p, [programmed('False')]);
    rig.writer.touch([p]);
    await until('the next transition', () => rig.stored(p)['Programmed']?.[0] === 'False');
    expect(rig.stored(p)).toEqual({ Programmed: ['False', '2026-01-02T00:00:00.000Z'] });
    // Proxies take it: what was pending is looked at again with no touch of its own.
    rig.time = '2026-01-03T00:00:00.000Z';
    rig.now.delete(p);
    rig.writer.progressed();
    await until('the last transition', () => rig.stored(p)['Programmed']?.[0] === 'True');
    expect(rig.stored(p)).toEqual({ Programmed: ['True', '2026-01-03T00:00:00.000Z'] });
  });

  test('looks, when proxies answer, only at what waits for them', async () => {
    const rig = await rigged();
    rig.now.set(p, [programmed('False')]);
    rig.now.set('Fleet/edge', [{ type: 'Accepted', status: 'False', reason: 'HostConflict', message: '' }]);
    rig.writer.touchAll();
    await idle(rig);
    await idle(rig);
    rig.looks.clear();
    rig.writer.progressed();
    await idle(rig);
    expect([...rig.looks.keys()].sort()).toEqual([p, q]);
  });

  test('stores what is looked at for two reasons once', async () => {
    const rig = await rigged();
    rig.writer.touch([p, q]);
    rig.writer.touchAll();
    await until('both to be stored', () => [p, q].every((key) => 'Programmed' in rig.stored(key)));
    expect(rig.looks.get(p)).toBeLessThanOrEqual(2);
  });

  test('removes the record of an object that is gone', async () => {
    const rig = await rigged();
    rig.writer.touch([p]);
    await until('the transition', () => rig.mirror.records.transitions.has(p));
    await rig.remove(p);
    await rig.settled();
    rig.writer.touch([p]);
    await until('the record to go', () => !rig.mirror.records.transitions.has(p));
  });

  test('begins anew with an object of the same name', async () => {
    const rig = await rigged();
    rig.writer.touch([p]);
    await until('the transition', () => rig.stored(p)['Programmed']);
    rig.time = '2026-01-02T00:00:00.000Z';
    await rig.remove(p);
    await rig.put(pool('p'));
    await rig.settled();
    expect(rig.stored(p)).toEqual({});
    rig.writer.touch([p]);
    await until('the transition', () => rig.stored(p)['Programmed']);
    expect(rig.stored(p)).toEqual({ Programmed: ['True', '2026-01-02T00:00:00.000Z'] });
  });

  test('loses nothing when the store is away for a while', async () => {
    const rig = await rigged();
    rig.store.fail('commit', unavailable, 3);
    rig.writer.touch([p]);
    await until('the transition', () => rig.stored(p)['Programmed']);
    expect(rig.stored(p)).toEqual({ Programmed: ['True', '2026-01-01T00:00:00.000Z'] });
  });

  test('gives up an object that was deleted before its View knows, and goes on with the others', async () => {
    const rig = await rigged();
    rig.store.hold();
    await rig.remove(p);
    rig.writer.touch([p, q]);
    const { commits } = rig.store;
    await until('the refused write', () => rig.store.commits > commits);
    rig.store.release();
    await until('the transition of the other', () => rig.stored(q)['Programmed']);
    expect(rig.mirror.records.transitions.has(p)).toBe(false);
  });

  test('does not write what it cannot know, while proxies of before a restart may still come back', async () => {
    const rig = await rigged();
    rig.writer.touchAll();
    await until('the transition', () => rig.stored(p)['Programmed']);
    rig.proxiesKnown = false;
    rig.time = '2026-01-02T00:00:00.000Z';
    rig.now.set(p, [
      programmed('Unknown', 'NoProxies'),
      { type: 'Accepted', status: 'False', reason: 'X', message: '' },
    ]);
    await rig.put(pool('new'));
    await rig.settled();
    rig.now.set('BackendPool/default/new', [programmed('Unknown', 'NoProxies')]);
    rig.writer.touchAll();
    await until('the other condition', () => rig.stored(p)['Accepted']);
    await until('the new object', () => rig.stored('BackendPool/default/new')['Programmed']);
    expect(rig.stored(p)['Programmed']).toEqual(['True', '2026-01-01T00:00:00.000Z']);
    expect(rig.stored('BackendPool/default/new')['Programmed']?.[0]).toBe('Unknown');
    // They did not come back.
    rig.proxiesKnown = true;
    rig.writer.touchAll();
    await until('the change', () => rig.stored(p)['Programmed']?.[0] === 'Unknown');
    expect(rig.stored(p)['Programmed']).toEqual(['Unknown', '2026-01-02T00:00:00.000Z']);
  });

  test('writes many objects in commits of bounded size', async () => {
    const rig = await rigged();
    for (let from = 0; from < 200; from += 50) {
      await rig.put(...Array.from({ length: 50 }, (_, n) => pool(`x${from + n}`)));
    }
    await rig.settled();
    rig.writer.touchAll();
    await until('all transitions', () => rig.mirror.records.transitions.size === 203);
  });
});
