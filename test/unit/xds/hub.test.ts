import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../src/lib/errors.ts';
import { finish } from '../../../src/xds/pieces.ts';
import { cluster, endpoint, listener, needs, Rig, resource, route } from '../../support/xds-rig.ts';

describe('table', () => {
  it('refuses to go back', () => {
    const rig = new Rig();
    rig.commit([]);
    rig.commit([]);
    expect(() => rig.hub.commit({ revision: 1, puts: [], removals: [], audiences: [] })).toThrow(InvariantError);
  });

  it('keeps the bytes and the revision of what did not change, and takes in its origin', () => {
    const rig = new Rig();
    const first = resource(cluster, 'c1', '1', { parts: [{ unit: 'BackendPool/a', generation: 1, hash: 'h' }] });
    rig.commit([first]);
    rig.commit([resource(cluster, 'c1', '1', { parts: [{ unit: 'BackendPool/a', generation: 2, hash: 'h' }] })]);
    const entry = rig.hub.table.get(cluster, 'c1');
    expect(entry?.resource.bytes).toBe(first.bytes);
    expect(entry?.resource.parts[0]?.generation).toBe(2);
    expect(entry?.revision).toBe(1);
    expect(rig.hub.table.revision).toBe(2);
  });

  it('leaves no index behind', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1', '1', { audience: 'A', ...needs(endpoint, 'e1') })]);
    expect([...rig.hub.table.namesOf(cluster, 'A'), ...rig.hub.table.clustersUsing('e1')]).toEqual(['c1', 'c1']);
    rig.remove([cluster, 'c1'], [cluster, 'never']);
    expect([...rig.hub.table.namesOf(cluster, 'A'), ...rig.hub.table.clustersUsing('e1')]).toEqual([]);
    expect([...rig.hub.table.typesOf('A')]).toEqual([]);
    expect(rig.hub.table.get(cluster, 'c1')).toBeUndefined();
  });
});

describe('change log', () => {
  it('a hub that lags behind its log compares instead, and reaches the same', () => {
    const rig = new Rig({ maxLogEntries: 4 });
    rig.commit([resource(cluster, 'c0')]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    for (let at = 1; at <= 20; at++)
      rig.commit([resource(cluster, `c${at}`)], { removals: [{ type: cluster, name: 'c0' }] });
    rig.commit([], { audiences: [{ subject: 'node/n1', audiences: ['late'] }] });
    rig.commit([resource(cluster, 'late', '1', { audience: 'late' })]);
    const names = Array.from({ length: 20 }, (_, at) => `c${at + 1}=1`).sort();
    expect(client.settle()).toEqual([`cluster: ${names.join(' ')} late=1 -c0`]);
  });
});

describe('hub', () => {
  it('makes one response of the commits that came since the last one', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    for (let at = 2; at < 10; at++) rig.commit([resource(cluster, 'c1', `${at}`), resource(cluster, `c${at}`)]);
    expect(client.take()).toHaveLength(1);
  });

  it('sends nothing to streams that a change does not concern', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b')]);
    const [one, two] = ['n1', 'n2'].map((id) =>
      rig.join({ typeUrl: endpoint, subscribe: [id === 'n1' ? 'a' : 'b'] }, { id, cluster: 'edge' }),
    );
    one?.settle();
    two?.settle();
    rig.commit([resource(endpoint, 'a', '2')]);
    expect([one?.settle(), two?.settle()]).toEqual([['endpoint: a=2'], []]);
  });

  it('builds nothing for a stream whose socket is full, and then the newest', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    client.stream.setWritable(false);
    for (let at = 2; at < 10; at++) rig.commit([resource(cluster, 'c1', `${at}`)]);
    expect(client.texts()).toEqual([]);
    client.stream.setWritable(true);
    expect(client.texts()).toEqual(['cluster: c1=9']);
  });

  it('gives every stream a frame before it gives any a second one', () => {
    const rig = new Rig({ maxFrameBytes: 100 });
    rig.commit(['a', 'b'].map((name) => resource(cluster, name, 'x'.repeat(100))));
    const clients = ['n1', 'n2'].map((id) => rig.join({ typeUrl: cluster }, { id, cluster: 'edge' }));
    const order: number[] = [];
    for (let work = rig.hub.next(rig.now); work !== undefined; work = rig.hub.next(rig.now)) {
      const { kind } = work;
      if (kind === 'frame')
        order.push(clients.findIndex(({ stream }) => work?.kind === 'frame' && stream === work.stream));
    }
    expect(order).toEqual([0, 1, 0, 1]);
  });

  it('tells once that there is work, however much comes', () => {
    const rig = new Rig();
    let told = 0;
    rig.commit([resource(cluster, 'c1')]);
    rig.hub.onWork(() => {
      told += 1;
    });
    expect(told).toBe(1);
    rig.commit([resource(cluster, 'c2')]);
    const client = rig.join({ typeUrl: cluster });
    expect(told).toBe(1);
    client.settle();
    const before = told;
    rig.commit([resource(cluster, 'c3')]);
    rig.commit([resource(cluster, 'c4')]);
    expect(told).toBe(before + 1);
  });

  it('large commits are marked in pieces, and arrive whole', () => {
    const rig = new Rig();
    rig.commit([]);
    const clients = Array.from({ length: 30 }, (_, at) =>
      rig.join({ typeUrl: cluster }, { id: `n${at}`, cluster: 'edge' }),
    );
    for (const client of clients) client.settle();
    rig.commit(Array.from({ length: 1_000 }, (_, at) => resource(cluster, `c${at}`)));
    expect(rig.hub.next(rig.now)).toEqual({ kind: 'more' });
    expect(rig.hub.next(rig.now)).toEqual({ kind: 'more' });
    expect(clients.map((client) => client.take().map(({ resources }) => resources.length))).toEqual(
      clients.map(() => [1_000]),
    );
  });
});

describe('progress', () => {
  it('is structured-clonable and tells what happened in order', () => {
    const rig = new Rig();
    rig.commit([
      resource(cluster, 'c1', '1', needs(endpoint, 'c1')),
      resource(endpoint, 'c1'),
      resource(listener, 'l1', '1', needs(route, 'r1')),
      resource(route, 'r1', '1', needs(cluster, 'c1')),
    ]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    client.send({ typeUrl: endpoint, subscribe: ['c1'] });
    client.settle();
    client.send({ typeUrl: listener });
    client.settle();
    expect(rig.events('filled')).toEqual([]);
    expect(rig.hub.fleet.streams()).toMatchObject([{ filledAt: undefined, ackedRevision: 0 }]);
    client.send({ typeUrl: route, subscribe: ['r1'] });
    client.settle();
    rig.pump();
    const [opened] = rig.progress;
    expect(structuredClone(rig.progress)).toEqual(rig.progress);
    expect(opened).toMatchObject({ kind: 'opened', streamId: '1', nodeId: 'n1', peer: 'test', revision: 1 });
    expect(rig.events('filled')).toMatchObject([{ revision: 1 }]);
    expect(rig.hub.fleet.streams()).toMatchObject([{ filledAt: rig.now, ackedRevision: 1, openedRevision: 1 }]);
  });

  it('acknowledgements are coalesced and carry the revision that was reached', () => {
    const rig = new Rig();
    rig.commit([]);
    const client = rig.join({ typeUrl: cluster, subscribe: ['a', 'b'] });
    client.settle();
    rig.pass(5_100);
    rig.events('acked');
    rig.commit([resource(cluster, 'a')]);
    const [one] = client.take();
    rig.commit([resource(cluster, 'b')]);
    const [two] = client.take();
    client.ack(one);
    expect(rig.events('acked').map(({ revision }) => revision)).toEqual([1]);
    rig.commit([resource(cluster, 'a', '2')]);
    const [three] = client.take();
    client.ack(two);
    client.ack(three);
    expect(rig.events('acked').map(({ revision }) => revision)).toEqual([4]);
  });

  it('a stream that asks for no listeners is filled when it has rested for a while', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    rig.pass(4_000);
    expect(rig.events('filled')).toEqual([]);
    rig.pass(2_000);
    expect(rig.events('filled')).toHaveLength(1);
  });

  it('a stream that a commit does not concern has reached it all the same', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a')]);
    rig.join({ typeUrl: endpoint, subscribe: ['a'] }).settle();
    rig.commit([resource(endpoint, 'b')]);
    rig.pump();
    expect(rig.hub.fleet.streams()).toMatchObject([{ ackedRevision: 2 }]);
  });

  it('versions say what a stream has and should have', () => {
    const rig = new Rig();
    const before = resource(endpoint, 'a');
    rig.commit([before]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a', 'b'] });
    client.settle();
    const after = resource(endpoint, 'a', '2');
    rig.commit([after]);
    client.take();
    expect(finish(rig.hub.fleet.versions('1'))).toEqual([
      { type: endpoint, name: 'a', wanted: after.hash, sent: after.hash, acked: before.hash },
      { type: endpoint, name: 'b', wanted: undefined, sent: undefined, acked: undefined },
    ]);
    expect(finish(rig.hub.fleet.versions('2'))).toBeUndefined();
  });

  it('a resource that is not there is delivered to nobody', () => {
    const rig = new Rig();
    rig.commit([]);
    rig.join({ typeUrl: cluster }).settle();
    expect(rig.hub.fleet.delivery(cluster, 'c1')).toEqual([]);
  });
});
