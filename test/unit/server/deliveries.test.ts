import { describe, expect, test } from 'vitest';
import { createDeliveries, type Deliveries } from '../../../src/server/deliveries.ts';
import { type Client, cluster, endpoint, listener, needs, Rig, resource } from '../../support/xds-rig.ts';

/** A rig whose progress goes to deliveries, as the server's does. */
function rigged(): { rig: Rig; deliveries: Deliveries; told(): void } {
  const rig = new Rig();
  const deliveries = createDeliveries(rig.hub, (nodeId) => nodeId.toLowerCase());
  return {
    rig,
    deliveries,
    told() {
      rig.pump();
      deliveries.observe(rig.progress.splice(0));
    },
  };
}

const node = (id: string) => ({ id, cluster: 'edge' });

/** Asks for clusters and listeners, as Envoy does, and leaves them unanswered. */
function open(rig: Rig, id: string): Client {
  const client = rig.join({ typeUrl: cluster }, node(id));
  client.send({ typeUrl: listener });
  return client;
}

function settled(rig: Rig, id: string): Client {
  const client = open(rig, id);
  client.settle();
  return client;
}

/** What is said of a resource, in short: `a:acked`, with `?` where it does not count and `!` where it is lost. */
function said(deliveries: Deliveries, type: string, name: string): string[] {
  return deliveries
    .of({ type, name })
    .map(({ node: of, state, counts, lost }) => `${of}:${state}${counts ? '' : '?'}${lost === true ? '!' : ''}`)
    .sort();
}

describe('how far proxies are with a resource', () => {
  test('is told of each that should have it', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'theirs', '1', { audience: 'others' })]);
    settled(rig, 'A');
    settled(rig, 'b');
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:acked']);
    expect(said(deliveries, cluster, 'theirs')).toEqual([]);
    expect(said(deliveries, cluster, 'absent')).toEqual([]);
  });

  test('follows a change, before it is even handed to the streams', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    const a = settled(rig, 'a');
    const b = settled(rig, 'b');
    told();
    rig.commit([resource(cluster, 'c1', '2')]);
    deliveries.tableChanged();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:pending', 'b:pending']);
    a.settle();
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:pending']);
    b.settle();
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:acked']);
  });

  test('is one list for all clusters that everybody has, though proxies are behind with other things', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'c2'), resource(endpoint, 'c1')]);
    const clients = ['a', 'b'].map((id) => {
      const client = settled(rig, id);
      client.send({ typeUrl: endpoint, subscribe: ['c1'] });
      client.settle();
      return client;
    });
    told();
    rig.commit([resource(endpoint, 'c1', '2')]);
    told();
    expect(said(deliveries, endpoint, 'c1')).toEqual(['a:pending', 'b:pending']);
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:acked']);
    expect(deliveries.of({ type: cluster, name: 'c1' })).toBe(deliveries.of({ type: cluster, name: 'c2' }));

    rig.commit([resource(cluster, 'c2', '2')]);
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:acked']);
    expect(said(deliveries, cluster, 'c2')).toEqual(['a:pending', 'b:pending']);
    const [a] = clients;
    a?.nack(a.take().at(-1));
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:acked']);
    expect(said(deliveries, cluster, 'c2')).toContain('a:rejected');
  });

  test('is one list for all that nobody was told of yet, though proxies are behind with other things', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'c2'), resource(cluster, 'c3')]);
    settled(rig, 'a');
    open(rig, 'b');
    told();
    rig.commit([resource(cluster, 'c1', '2')]);
    told();
    rig.commit([resource(cluster, 'c2', '2'), resource(cluster, 'c3', '2')]);
    deliveries.tableChanged();
    expect(said(deliveries, cluster, 'c2')).toEqual(['a:pending', 'b:pending']);
    expect(deliveries.of({ type: cluster, name: 'c3' })).toBe(deliveries.of({ type: cluster, name: 'c2' }));
  });

  test('says who refused it, in whose words', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    const a = settled(rig, 'a');
    told();
    rig.commit([resource(cluster, 'c1', '2')]);
    deliveries.tableChanged();
    for (const response of a.take()) a.nack(response, 'bad timeout');
    told();
    expect(deliveries.of({ type: cluster, name: 'c1' })).toMatchObject([{ state: 'rejected', words: 'bad timeout' }]);
    expect(deliveries.ofNode('a')?.delivery).toMatchObject({ state: 'rejected', words: 'bad timeout' });
  });

  test('does not wait for what a proxy in step has not asked for', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1'), resource(endpoint, 'e1')]);
    const a = open(rig, 'a');
    told();
    expect(said(deliveries, endpoint, 'e1')).toEqual(['a:pending?']);
    a.settle();
    told();
    expect(said(deliveries, endpoint, 'e1')).not.toContain('a:pending');
    a.send({ typeUrl: endpoint, subscribe: ['e1'] });
    a.settle();
    told();
    expect(said(deliveries, endpoint, 'e1')).toEqual(['a:acked']);
  });
});

test('a commit that changes no resource puts nobody out of step, before it is handed to the streams or after', () => {
  const { rig, deliveries, told } = rigged();
  rig.commit([resource(cluster, 'c1')]);
  settled(rig, 'a');
  told();
  const state = () => deliveries.ofNode('a')?.delivery?.state;
  expect(state()).toBe('acked');
  rig.commit([]);
  deliveries.tableChanged();
  expect(state()).toBe('acked');
  rig.pump();
  expect(state()).toBe('acked');
});

describe('a proxy that is being filled for the first time', () => {
  test('counts for what came after it, and for all once it is filled', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    settled(rig, 'a');
    const b = open(rig, 'b');
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:pending?']);
    rig.commit([resource(cluster, 'c2')]);
    deliveries.tableChanged();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:pending?']);
    expect(said(deliveries, cluster, 'c2')).toEqual(['a:pending', 'b:pending']);
    b.settle();
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:acked']);
  });

  test('is not counted in its fleet, nor is it done', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    settled(rig, 'a');
    open(rig, 'b');
    told();
    expect(deliveries.ofFleet('edge')).toMatchObject([
      { node: 'a', state: 'acked', counts: true },
      { node: 'b', state: 'pending', counts: false },
    ]);
    expect(deliveries.ofFleet('other')).toEqual([]);
  });
});

describe('a proxy whose stream broke', () => {
  test('counts for half a minute with what it had, and is then forgotten', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    const a = settled(rig, 'a');
    told();
    a.stream.close(rig.now);
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked!']);
    expect(deliveries.ofNode('a')).toBeUndefined();
    rig.commit([resource(cluster, 'c1', '2'), resource(cluster, 'c2')]);
    deliveries.tableChanged();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:pending!']);
    expect(deliveries.ofFleet('edge')).toMatchObject([{ node: 'a', state: 'pending', lost: true }]);
    expect(deliveries.sweep(rig.now + 29_999)).toBe(false);
    expect(said(deliveries, cluster, 'c2')).toEqual(['a:pending!']);
    expect(deliveries.sweep(rig.now + 30_000)).toBe(true);
    expect(said(deliveries, cluster, 'c1')).toEqual([]);
    expect(deliveries.sweep(rig.now + 60_000)).toBe(false);
  });

  test('while it was being filled does not count for what was there before it', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    settled(rig, 'a');
    const b = open(rig, 'b');
    told();
    b.stream.close(rig.now);
    told();
    rig.commit([resource(cluster, 'c2')]);
    deliveries.tableChanged();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked', 'b:pending?!']);
    expect(said(deliveries, cluster, 'c2')).toEqual(['a:pending', 'b:pending!']);
  });

  test('is no longer lost when it comes back', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    settled(rig, 'a').stream.close(rig.now);
    told();
    settled(rig, 'a');
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked']);
    expect(deliveries.sweep(rig.now + 60_000)).toBe(false);
  });

  test('and that has another already is not lost at all', () => {
    const { rig, deliveries, told } = rigged();
    rig.commit([resource(cluster, 'c1')]);
    const old = settled(rig, 'a');
    told();
    settled(rig, 'a');
    told();
    expect(deliveries.ofNode('a')?.delivery).toMatchObject({ state: 'acked' });
    old.stream.close(rig.now);
    told();
    expect(said(deliveries, cluster, 'c1')).toEqual(['a:acked']);
    expect(deliveries.streams()).toHaveLength(1);
  });
});

describe('after a restart', () => {
  test('it is known what proxies have when those of before are filled', () => {
    const { rig, deliveries, told } = rigged();
    expect(deliveries.complete).toBe(true);
    deliveries.expect(['a', 'b'], rig.now);
    rig.commit([resource(cluster, 'c1')]);
    settled(rig, 'a');
    const b = open(rig, 'b');
    told();
    expect(deliveries.complete).toBe(false);
    b.settle();
    told();
    expect(deliveries.complete).toBe(true);
  });

  test('or when they have not come back for half a minute', () => {
    const { rig, deliveries } = rigged();
    deliveries.expect(['a'], rig.now);
    expect(deliveries.sweep(rig.now + 29_999)).toBe(false);
    expect(deliveries.complete).toBe(false);
    expect(deliveries.sweep(rig.now + 30_000)).toBe(true);
    expect(deliveries.complete).toBe(true);
  });
});

test('what each node has is told by type', () => {
  const { rig, deliveries, told } = rigged();
  rig.commit([resource(cluster, 'c1'), resource(cluster, 'c2'), resource(listener, 'l1', '1', needs(cluster, 'c1'))]);
  settled(rig, 'a');
  told();
  const { revision } = rig.hub.table;
  expect(deliveries.ofNode('a')).toMatchObject({
    types: [
      { type: cluster, sent: revision, acked: revision, resources: 2, nack: 0 },
      { type: listener, sent: revision, acked: revision, resources: 1, nack: 0 },
    ],
    delivery: { node: 'a', state: 'acked', counts: true },
  });
  expect(deliveries.ofNode('other')).toBeUndefined();
});
