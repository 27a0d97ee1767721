import { describe, expect, test } from 'vitest';
import { createControllers } from '../../../src/server/controllers.ts';
import type { ControllerRecord, DeliveryRecord, NodeRecord } from '../../../src/status/index.ts';

function record(id: string, leading: ControllerRecord['leading'] = null): ControllerRecord {
  const doors = { address: `${id}:1`, xdsAddress: `${id}:2` };
  const times = { startedAt: '2026-01-01T00:00:00Z', seenAt: '2026-01-01T00:00:01Z' };
  const figures = { revision: 7, lag: 0, proxies: 2, memoryBytes: 1, cpu: 0.5 };
  return { id, run: `run of ${id}`, ...doors, version: '1', roles: ['api'], ...times, leading, ...figures };
}

const nothing: DeliveryRecord = { revision: 1, fleets: {}, rejected: [] };

/** The controller `a`, on a clock of its own; the others are heard of when the test says so. */
function rig(leading: ControllerRecord['leading'] = null) {
  let now = 0;
  const controllersById = new Map<string, ControllerRecord>();
  const deliveries = new Map<string, DeliveryRecord>();
  const nodes = new Map<string, NodeRecord>();
  const controllers = createControllers({
    records: { controllers: controllersById, deliveries, nodes },
    self: () => record('a', leading),
    shared: true,
    now: () => now,
  });
  return {
    controllers,
    nodes,
    hear(...records: readonly ControllerRecord[]) {
      for (const one of records) {
        controllersById.set(one.id, { ...one });
        deliveries.set(one.id, nothing);
      }
      controllers.adopted();
    },
    leave(id: string) {
      controllersById.delete(id);
      deliveries.delete(id);
      controllers.adopted();
    },
    elapse(ms: number) {
      now += ms;
    },
  };
}

describe('another controller', () => {
  test('is there while it is heard of, and unreachable when only we are', () => {
    const { controllers, hear, elapse } = rig();
    hear(record('a'), record('b'));
    expect([controllers.isAlive('b'), controllers.others]).toEqual([true, ['b']]);
    for (let i = 0; i < 4; i += 1) {
      elapse(3_000);
      hear(record('a'));
    }
    expect([controllers.isAlive('b'), controllers.others]).toEqual([false, []]);
    expect(controllers.list().map(({ id, state }) => [id, state])).toEqual([
      ['a', 'Ready'],
      ['b', 'Unreachable'],
    ]);
    hear(record('b'));
    expect(controllers.isAlive('b')).toBe(true);
  });

  test('is not declared dead while nobody is heard of: the store is out of reach', () => {
    const { controllers, hear, elapse } = rig();
    hear(record('a'), record('b'));
    elapse(600_000);
    expect([controllers.isAlive('b'), controllers.gone()]).toEqual([true, []]);
  });

  test('that leaves in order is there no more, at once', () => {
    const { controllers, hear, leave } = rig();
    hear(record('a'), record('b'));
    const { edition } = controllers;
    leave('b');
    expect([controllers.isAlive('b'), controllers.others]).toEqual([false, []]);
    expect(controllers.edition).toBeGreaterThan(edition);
  });

  test('is cleared away when it was silent for long, with what only nodes still name', () => {
    const { controllers, nodes, hear, elapse } = rig();
    const seen = { nodeId: 'lb', fleet: 'edge', version: '1', connected: true, since: '', controller: 'ghost' };
    nodes.set('lb', seen);
    hear(record('a'), record('b'));
    elapse(20_000);
    hear(record('a'));
    expect(controllers.gone()).toEqual([]);
    elapse(20_000);
    hear(record('a'));
    expect(controllers.gone().sort()).toEqual(['b', 'ghost']);
  });
});

describe('the leader', () => {
  const led = (term: number) => ({ term, since: '2026-01-01T00:00:00Z' });

  test('is the one that says so', () => {
    const { controllers, hear } = rig();
    hear(record('a'), record('b', led(5)));
    expect(controllers.list()).toMatchObject([
      { id: 'a', leader: false },
      { id: 'b', leader: true, term: 5, leaderSince: '2026-01-01T00:00:00Z' },
    ]);
    expect(controllers.list()[0]).not.toHaveProperty('term');
  });

  test('of two that say so is that of the later term', () => {
    const { controllers, hear } = rig(led(9));
    hear(record('a', led(9)), record('b', led(5)));
    expect(controllers.list().map(({ leader }) => leader)).toEqual([true, false]);
  });

  test('is nobody when the last one is silent', () => {
    const { controllers, hear, elapse } = rig();
    hear(record('a'), record('b', led(5)));
    elapse(12_000);
    hear(record('a'));
    expect(controllers.list().map(({ leader }) => leader)).toEqual([false, false]);
  });
});
