import { describe, expect, test } from 'vitest';
import { createRemoteProxies } from '../../../src/server/remote-proxies.ts';
import type { DeliveryRecord, NodeRecord } from '../../../src/status/index.ts';

/** The controller `a`, which hears of proxies of `b` and `c`. */
function rig() {
  const nodes = new Map<string, NodeRecord>();
  const deliveries = new Map<string, DeliveryRecord>();
  const controllers = { others: ['b', 'c'] as readonly string[], edition: 1 };
  const here = new Set<string>();
  const lostHere = new Map<string, number>();
  let now = 0;
  const proxies = createRemoteProxies({
    ...{ self: 'a', records: { nodes, deliveries }, controllers },
    isHere: (name) => here.has(name),
    release(name) {
      const acked = lostHere.get(name);
      lostHere.delete(name);
      return acked;
    },
    now: () => now,
  });
  proxies.adopted([]);
  return {
    ...{ proxies, controllers, deliveries, here, lostHere },
    record(name: string, controller: string, connected = true) {
      nodes.set(name, { nodeId: name, fleet: 'edge', version: '1', connected, since: '', controller });
      return proxies.adopted([name]);
    },
    forget(name: string) {
      nodes.delete(name);
      proxies.adopted([name]);
    },
    tell(controller: string, revision: number) {
      const edge = { proxies: 1, acked: revision, behind: [], more: 0 };
      deliveries.set(controller, { revision, fleets: { edge }, rejected: [] });
      proxies.adopted([]);
    },
    have(...others: readonly string[]) {
      controllers.others = others;
      controllers.edition += 1;
      proxies.adopted([]);
    },
    elapse(ms: number) {
      now += ms;
    },
    where() {
      const attached = [...proxies.attached].map(([name, { record }]) => `${name} at ${record.controller}`);
      return [...attached, ...[...proxies.lost].map(([name, { acked }]) => `${name} lost at ${acked}`)];
    },
  };
}

describe('a proxy of another controller', () => {
  test('that leaves is lost for half a minute, with what it had', () => {
    const { record, tell, where, elapse, proxies } = rig();
    record('n1', 'b');
    tell('b', 7);
    record('n1', 'b', false);
    expect(where()).toEqual(['n1 lost at 7']);
    elapse(29_999);
    expect([proxies.sweep(), where()]).toEqual([false, ['n1 lost at 7']]);
    elapse(1);
    expect([proxies.sweep(), where()]).toEqual([true, []]);
  });

  test('and comes back is lost no more', () => {
    const { record, where } = rig();
    record('n1', 'b');
    expect(record('n1', 'b', false)).toBe(true);
    expect(record('n1', 'b')).toBe(true);
    expect(record('n1', 'b')).toBe(false);
    expect(where()).toEqual(['n1 at b']);
  });

  test.each([
    ['at once', false],
    ['after it was lost', true],
  ])('that moves to a third one %s has what it had until that one tells of it', (_, isLost) => {
    const { record, tell, where, proxies } = rig();
    record('n1', 'b');
    tell('b', 7);
    if (isLost) record('n1', 'b', false);
    record('n1', 'c');
    expect(where()).toEqual(['n1 at c']);
    expect(proxies.attached.get('n1')?.former).toBe(7);
    // What it had goes along, until somebody knows better.
    record('n1', 'b');
    expect(proxies.attached.get('n1')?.former).toBe(7);
  });

  test('is lost with its controller, which took back what it had told, and back with it', () => {
    const { record, tell, deliveries, have, where } = rig();
    record('n1', 'b');
    record('n2', 'c');
    tell('b', 7);
    deliveries.delete('b');
    have('c');
    expect(where()).toEqual(['n2 at c', 'n1 lost at 7']);
    have('b', 'c');
    expect(where()).toEqual(['n2 at c', 'n1 at b']);
  });

  test('that comes to us is ours to tell of, also when it is gone at once', () => {
    const { record, here, where } = rig();
    record('n1', 'b');
    here.add('n1');
    record('n1', 'a');
    expect(where()).toEqual([]);
    here.delete('n1');
    record('n2', 'b');
    record('n2', 'a');
    expect(where()).toEqual([]);
  });

  test('that came from us is not looked for here any more', () => {
    const { record, lostHere, proxies } = rig();
    lostHere.set('n1', 5);
    record('n1', 'b');
    expect(lostHere.size).toBe(0);
    expect(proxies.attached.get('n1')?.former).toBe(5);
  });

  test('of whose fleet its controller tells no more is said to have what it had, and lost with it', () => {
    const { record, tell, deliveries, proxies, where } = rig();
    record('n1', 'b');
    tell('b', 7);
    deliveries.set('b', { revision: 9, fleets: {}, rejected: [] });
    proxies.adopted([]);
    expect(proxies.attached.get('n1')?.former).toBe(7);
    record('n1', 'b', false);
    expect(where()).toEqual(['n1 lost at 7']);
  });

  test('whose Node was deleted is not looked for', () => {
    const { record, forget, where } = rig();
    record('n1', 'b');
    forget('n1');
    expect(where()).toEqual([]);
  });
});
