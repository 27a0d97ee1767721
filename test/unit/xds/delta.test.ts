/** Rules of delta that the other files of this folder do not come by. */
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../src/lib/errors.ts';
import { cluster, endpoint, extension, listener, needs, Rig, resource, route } from '../../support/xds-rig.ts';

function withResources(...resources: ReturnType<typeof resource>[]): Rig {
  const rig = new Rig();
  rig.commit(resources);
  return rig;
}

describe('delta', () => {
  it('rule 1: each type is a sub-stream of its own', () => {
    const rig = withResources(resource(cluster, 'c1'), resource(listener, 'l1'));
    const client = rig.join({ typeUrl: cluster });
    client.send({ typeUrl: listener });
    const [clusters, listeners] = client.take();
    // The nonce of one type says nothing to another.
    client.send({ typeUrl: listener, nonce: clusters?.nonce ?? '' });
    expect(rig.hub.fleet.delivery(listener, 'l1')).toMatchObject([{ state: 'pending' }]);
    client.nack(clusters);
    client.ack(listeners);
    expect(rig.hub.fleet.delivery(listener, 'l1')).toMatchObject([{ state: 'acked' }]);
    expect(rig.hub.fleet.delivery(cluster, 'c1')).toMatchObject([{ state: 'rejected' }]);
  });

  it('rule 6: names match exactly', () => {
    const rig = withResources(...['a', 'a/b', 'A'].map((name) => resource(endpoint, name)));
    expect(rig.join({ typeUrl: endpoint, subscribe: ['a'] }).settle()).toEqual(['endpoint: a=1']);
  });

  it('rule 6: * is never a resource', () => {
    const rig = withResources(resource(endpoint, 'a'));
    expect(() => rig.commit([resource(endpoint, '*')])).toThrow(InvariantError);
    const initialVersions = new Map([['*', 'x']]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['*'], initialVersions });
    expect(client.settle()).toEqual(['endpoint: a=1']);
  });

  it('rule 14: routes wait for endpoints and not for the answer of clusters', () => {
    const rig = withResources(
      resource(cluster, 'c1', '1', needs(endpoint, 'c1')),
      resource(endpoint, 'c1'),
      resource(route, 'r1', '1', needs(cluster, 'c1')),
    );
    const client = rig.join({ typeUrl: cluster });
    client.take();
    client.send({ typeUrl: endpoint, subscribe: ['c1'] });
    client.settle();
    client.send({ typeUrl: route, subscribe: ['r1'] });
    expect(client.texts()).toEqual(['route: r1=1']);
    expect(rig.events('stalled')).toEqual([]);
  });

  it('rule 15: an answer that never comes stops neither its type nor another for good', () => {
    const rig = withResources(resource(listener, 'l1'), resource(route, 'r1'));
    const client = rig.join({ typeUrl: listener });
    client.take();
    client.send({ typeUrl: route, subscribe: ['r1'] });
    expect(client.settle()).toEqual(['route: r1=1']);
    rig.commit([resource(listener, 'l1', '2')]);
    expect(client.texts()).toEqual([]);
    rig.pass(16_000);
    expect(client.texts()).toEqual(['listener: l1=2']);
    expect(rig.events('stalled')).toMatchObject([{ reason: 'answer', type: listener, names: ['l1'] }]);
  });

  it('rule 30: no heartbeat is ever sent, whatever the client can do', () => {
    const rig = withResources(resource(cluster, 'c1'));
    const node = { id: 'n1', cluster: 'edge', clientFeatures: ['xds.config.supports-resource-ttl'] };
    const client = rig.join({ typeUrl: cluster }, node);
    client.settle();
    rig.pass(86_400_000);
    expect(client.texts()).toEqual([]);
  });

  it('rule 37: an extension is never taken away, nor told as missing', () => {
    const rig = withResources(resource(extension, 'e1'));
    const client = rig.join({ typeUrl: extension, subscribe: ['e1', 'e2'] });
    client.settle();
    rig.remove([extension, 'e1']);
    rig.pass(60_000);
    expect(client.texts()).toEqual([]);
    const back = rig.join({ typeUrl: extension, subscribe: ['e1'], initialVersions: new Map([['e1', 'old']]) });
    rig.pass(60_000);
    expect(back.texts()).toEqual([]);
  });

  it("the drain time is that of the proxy's subjects, the longest of them", () => {
    const rig = new Rig({ drainMs: 1_000 });
    rig.commit([resource(cluster, 'c1'), resource(listener, 'l1', '1', needs(cluster, 'c1'))], {
      audiences: [
        { subject: 'cluster/edge', audiences: ['all'], drainMs: 5_000 },
        { subject: 'node/n1', audiences: ['all'], drainMs: 30_000 },
        { subject: 'cluster/other', audiences: ['all'] },
      ],
    });
    const clients = [
      { id: 'n1', cluster: 'edge' },
      { id: 'n2', cluster: 'edge' },
      { id: 'n3', cluster: 'other' },
    ].map((node) => {
      const client = rig.join({ typeUrl: cluster }, node);
      client.settle();
      client.send({ typeUrl: listener });
      client.settle();
      return client;
    });
    rig.remove([listener, 'l1'], [cluster, 'c1']);
    for (const client of clients) client.settle();
    const gone = [500, 1_000, 4_000, 25_000].map((ms) => {
      rig.pass(ms);
      return clients.map((client) => client.settle().join());
    });
    expect(gone).toEqual([
      ['', '', ''],
      ['', '', 'cluster: -c1'],
      ['', 'cluster: -c1', ''],
      ['cluster: -c1', '', ''],
    ]);
  });
});
