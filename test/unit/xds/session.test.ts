import { describe, expect, it } from 'vitest';
import type { DeltaRequestInit } from '../../../src/xds/wire.ts';
import { cluster, endpoint, extension, listener, Rig, resource, route, secret } from '../../support/xds-rig.ts';

function withClusters(...names: string[]): Rig {
  const rig = new Rig();
  rig.commit(names.map((name) => resource(cluster, name)));
  return rig;
}

describe('requests', () => {
  it('rule 2: the first request must carry a node with an id', () => {
    const rig = withClusters();
    const without = rig.open();
    without.send({ typeUrl: cluster });
    expect(without.error?.reason).toBe('node-missing');
    const empty = rig.join({ typeUrl: cluster }, { id: '', cluster: 'edge' });
    expect(empty.error?.reason).toBe('node-missing');
  });

  it('rule 2: the node of the first request is kept', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    client.send({ typeUrl: listener });
    expect(client.error).toBeUndefined();
    expect(rig.hub.fleet.streams().map(({ node }) => node.id)).toEqual(['n1']);
  });

  it('rule 3: an empty type is an error, an unknown one is not', () => {
    const rig = withClusters();
    const client = rig.join({ typeUrl: 'type.googleapis.com/nobody.knows.This', subscribe: ['x'] });
    expect(client.error).toBeUndefined();
    expect(client.texts()).toEqual(['type.googleapis.com/nobody.knows.This: -x']);
    client.send({ typeUrl: '' });
    expect(client.error?.reason).toBe('type-missing');
  });

  it('rule 3: a client cannot make the server keep any number of types', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    for (let at = 0; at < 1_000; at++) client.send({ typeUrl: `type/${at}` });
    client.settle();
    expect(rig.hub.fleet.streams()[0]?.types.length).toBeLessThan(50);
  });

  it('rule 4: a nonce of an earlier stream makes no difference in a first request', () => {
    const rig = withClusters('c1');
    const before = rig.join({ typeUrl: cluster });
    const [response] = before.take();
    before.stream.close(rig.now);
    const after = rig.join({ typeUrl: cluster, nonce: response?.nonce ?? '' });
    expect(after.texts()).toEqual(['cluster: c1=1']);
  });

  it('rule 5: a fresh nonce, the type and the controller are in each response', () => {
    const rig = new Rig({ identifier: 'controller-7' });
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.join({ typeUrl: cluster });
    const [first] = client.take();
    client.ack(first);
    rig.commit([resource(cluster, 'c1', '2')]);
    const [second] = client.take();
    expect(first).toMatchObject({ typeUrl: cluster, controlPlane: 'controller-7', systemVersion: '1' });
    expect(second).toMatchObject({ typeUrl: cluster, controlPlane: 'controller-7', systemVersion: '2' });
    expect(first?.nonce).not.toBe(second?.nonce);
  });

  it('malformed bytes end the stream with a reason', () => {
    const rig = withClusters();
    const client = rig.open();
    expect(client.stream.receive(Uint8Array.of(0x0a, 0xff), rig.now)?.reason).toBe('malformed');
  });

  it('answers nothing before the first commit', () => {
    const rig = new Rig();
    const client = rig.join({ typeUrl: cluster });
    expect(client.take()).toEqual([]);
    rig.commit([resource(cluster, 'c1')]);
    expect(client.texts()).toEqual(['cluster: c1=1']);
  });
});

describe('answers', () => {
  it('rule 7: a NACK is the presence of an error, even an empty one', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    const [response] = client.take();
    client.send({ typeUrl: cluster, nonce: response?.nonce ?? '', error: { code: 0, message: '' } });
    expect(rig.events('rejected')).toMatchObject([{ type: cluster, name: 'c1' }]);
  });

  it('rule 8: a request without a nonce answers nothing', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    client.take();
    client.send({ typeUrl: cluster });
    expect(rig.hub.fleet.delivery(cluster, 'c1')).toMatchObject([{ state: 'pending' }]);
  });

  it('rule 9: the lists of a request with a stale nonce are taken', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a'] });
    client.settle();
    client.send({ typeUrl: endpoint, nonce: 'stale', subscribe: ['b'] });
    expect(client.texts()).toEqual(['endpoint: b=1']);
    client.send({ typeUrl: endpoint, nonce: 'stale', unsubscribe: ['a'] });
    rig.commit([resource(endpoint, 'a', '2')]);
    expect(client.texts()).toEqual([]);
  });

  it('rule 12: after a refusal, going back to what was acknowledged sends nothing', () => {
    const rig = new Rig();
    rig.commit([resource(route, 'r1', 'good')]);
    const client = rig.join({ typeUrl: route, subscribe: ['r1'] });
    client.settle();
    rig.commit([resource(route, 'r1', 'bad')]);
    client.nack(client.take()[0]);
    rig.commit([resource(route, 'r1', 'good')]);
    expect(client.texts()).toEqual([]);
    expect(rig.hub.fleet.delivery(route, 'r1')).toMatchObject([{ state: 'acked' }]);
  });

  it('rule 15: late answers count, in any order', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    const [one] = client.take();
    rig.commit([resource(cluster, 'c1', '2')]);
    const [two] = client.take();
    rig.commit([resource(cluster, 'c1', '3')]);
    const [three] = client.take();
    for (const response of [one, three, two]) client.ack(response);
    expect(rig.hub.fleet.delivery(cluster, 'c1')).toMatchObject([{ state: 'acked' }]);
    expect(client.texts()).toEqual([]);
  });

  it('one unanswered response per type, up to eight for clusters', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1', '0'), resource(endpoint, 'c1', '0')]);
    const client = rig.join({ typeUrl: cluster });
    client.send({ typeUrl: endpoint, subscribe: ['c1'] });
    client.settle();
    const counts: Record<string, number> = { [cluster]: 0, [endpoint]: 0 };
    for (let at = 1; at <= 12; at++) {
      rig.commit([resource(cluster, 'c1', `${at}`)]);
      for (const { typeUrl } of client.take()) counts[typeUrl] = (counts[typeUrl] ?? 0) + 1;
    }
    expect(counts).toEqual({ [cluster]: 8, [endpoint]: 1 });
    rig.pass(20_000);
    const last = client.settle();
    // Built when it is sent: what was skipped is never sent.
    expect(last).toContain('cluster: c1=12');
    expect(last).not.toContain('cluster: c1=10');
  });
});

describe('subscriptions', () => {
  it('rule 21: every name subscribed is answered, even if unchanged', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a'] });
    expect(client.settle()).toEqual(['endpoint: a=1']);
    client.send({ typeUrl: endpoint, subscribe: ['a'] });
    expect(client.settle()).toEqual(['endpoint: a=1']);
  });

  it('rule 22: given up and subscribed again is sent again', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a'] });
    client.settle();
    client.send({ typeUrl: endpoint, unsubscribe: ['a'] });
    client.send({ typeUrl: endpoint, subscribe: ['a'] });
    expect(client.settle()).toEqual(['endpoint: a=1']);
  });

  it('rule 23: a name given up while * is active is answered with the resource, or its removal', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster, subscribe: ['*', 'c1', 'gone'] });
    expect(client.settle()).toEqual(['cluster: c1=1 -gone']);
    client.send({ typeUrl: cluster, unsubscribe: ['c1'] });
    expect(client.settle()).toEqual(['cluster: c1=1']);
    client.send({ typeUrl: cluster, unsubscribe: ['gone'] });
    expect(client.settle()).toEqual(['cluster: -gone']);
    client.send({ typeUrl: cluster, unsubscribe: ['never'] });
    expect(client.settle()).toEqual([]);
  });

  it('rule 25: what does not exist is told once as removed, and sent when it appears', () => {
    const rig = withClusters();
    const client = rig.join({ typeUrl: route, subscribe: ['r1'] });
    expect(client.settle()).toEqual(['route: -r1']);
    rig.commit([resource(route, 'other')]);
    expect(client.settle()).toEqual([]);
    rig.commit([resource(route, 'r1')]);
    expect(client.settle()).toEqual(['route: r1=1']);
  });

  it('rule 25: never so for ECDS', () => {
    const rig = new Rig();
    rig.commit([resource(extension, 'kept')]);
    const client = rig.join({ typeUrl: extension, subscribe: ['kept', 'missing'] });
    expect(client.settle()).toEqual(['extension: kept=1']);
    rig.remove([extension, 'kept']);
    expect(client.settle()).toEqual([]);
    rig.commit([resource(extension, 'missing')]);
    expect(client.settle()).toEqual(['extension: missing=1']);
  });

  it('rules 25, 26: the endpoints of a cluster that exists are empty rather than removed', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: endpoint, subscribe: ['c1', 'c2'] });
    const [response] = client.take();
    expect(response?.removed).toEqual(['c2']);
    expect(response?.resources.map(({ name, value }) => [name, [...value]])).toEqual([['c1', [0x0a, 2, 0x63, 0x31]]]);
    client.ack(response);
    rig.commit([resource(endpoint, 'c1')]);
    expect(client.settle()).toEqual(['endpoint: c1=1']);
  });

  it('rules 25, 26: also when the cluster names its assignment', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1', '1', { needs: [{ type: endpoint, name: 'pool' }] })]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['pool', 'c1'] });
    const [response] = client.take();
    expect([response?.resources.map(({ name }) => name), response?.removed]).toEqual([['pool'], ['c1']]);
  });

  it('rule 29: nothing is sent when nothing changed for the client', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'foreign', '1', { audience: 'others' })]);
    expect(client.settle()).toEqual([]);
  });

  it('rule 29: the first wildcard request is answered even when empty, by name it is not', () => {
    const rig = withClusters();
    const client = rig.join({ typeUrl: cluster });
    expect(client.settle()).toEqual(['cluster:']);
    client.send({ typeUrl: listener });
    expect(client.settle()).toEqual(['listener:']);
  });

  it('rule 42: nothing of a stream stays when it closes', () => {
    const rig = withClusters('c1');
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    client.stream.close(rig.now);
    client.stream.close(rig.now);
    expect(rig.hub.fleet.streams()).toEqual([]);
    expect(rig.events('closed')).toMatchObject([{ nodeId: 'n1' }]);
    rig.commit([resource(cluster, 'c1', '2')]);
    expect(client.texts()).toEqual([]);
  });
});

describe('audiences', () => {
  it('a stream has the audiences of its cluster and of its node, and nothing else', () => {
    const rig = new Rig();
    rig.commit(
      ['all', 'mine', 'other'].map((audience) => resource(cluster, audience, '1', { audience })),
      {
        audiences: [
          { subject: 'cluster/edge', audiences: ['all'] },
          { subject: 'node/n1', audiences: ['mine'] },
          { subject: 'node/n2', audiences: ['other'] },
        ],
      },
    );
    expect(rig.join({ typeUrl: cluster }).settle()).toEqual(['cluster: all=1 mine=1']);
    expect(rig.join({ typeUrl: cluster, subscribe: ['other', 'all'] }).settle()).toEqual(['cluster: all=1 -other']);
  });

  it('an audience gained or lost adds or removes its resources', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'a', '1', { audience: 'A' }), resource(cluster, 'b', '1', { audience: 'B' })], {
      audiences: [{ subject: 'node/n1', audiences: ['A'] }],
    });
    const client = rig.join({ typeUrl: cluster });
    expect(client.settle()).toEqual(['cluster: a=1']);
    rig.commit([], { audiences: [{ subject: 'node/n1', audiences: ['A', 'B'] }] });
    expect(client.settle()).toEqual(['cluster: b=1']);
    rig.commit([], { audiences: [{ subject: 'node/n1', audiences: ['B'] }] });
    expect(client.settle()).toEqual(['cluster: -a']);
    rig.commit([], { audiences: [{ subject: 'node/n1', audiences: [] }] });
    expect(client.settle()).toEqual(['cluster: -b']);
  });

  it('a resource that moves to another audience leaves the one and comes to the other', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c', '1', { audience: 'A' })], {
      audiences: [
        { subject: 'node/a', audiences: ['A'] },
        { subject: 'node/b', audiences: ['B'] },
        { subject: 'node/ab', audiences: ['A', 'B'] },
      ],
    });
    const [a, b, ab] = ['a', 'b', 'ab'].map((id) => rig.join({ typeUrl: cluster }, { id, cluster: '' }));
    expect([a, b, ab].map((client) => client?.settle())).toEqual([['cluster: c=1'], ['cluster:'], ['cluster: c=1']]);
    rig.commit([resource(cluster, 'c', '1', { audience: 'B' })]);
    expect([a, b, ab].map((client) => client?.settle())).toEqual([['cluster: -c'], ['cluster: c=1'], []]);
  });
});

describe('reconnect', () => {
  function hashOf(rig: Rig, type: string, name: string): string {
    return rig.hub.table.get(type, name)?.resource.hash ?? '';
  }

  it('rule 31: what differs is sent, what no longer exists is removed', () => {
    const rig = withClusters('same', 'differs', 'new');
    const initialVersions = new Map([
      ['same', hashOf(rig, cluster, 'same')],
      ['differs', 'old'],
      ['gone', 'old'],
    ]);
    const client = rig.join({ typeUrl: cluster, initialVersions });
    expect(client.settle()).toEqual(['cluster: differs=1 new=1 -gone']);
  });

  it('rule 32: an Envoy before 1.21 that lists what it holds stays a wildcard', () => {
    const rig = withClusters('a');
    const initialVersions = new Map([['a', hashOf(rig, cluster, 'a')]]);
    const first = { typeUrl: cluster, subscribe: ['a'], initialVersions };
    const node = { id: 'n1', cluster: 'edge', userAgent: 'envoy' };
    const old = rig.join(first, { ...node, version: '1.18.2' });
    const today = rig.join(first, { ...node, version: '1.40.0' });
    old.settle();
    today.settle();
    rig.commit([resource(cluster, 'b')]);
    expect([old.settle(), today.settle()]).toEqual([['cluster: b=1'], []]);
  });

  it('rule 33: equal versions are not sent again', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1'), resource(endpoint, 'c1'), resource(route, 'r1')]);
    const versions = (type: string, ...names: string[]) =>
      new Map(names.map((name) => [name, hashOf(rig, type, name)]));
    const client = rig.join({ typeUrl: cluster, initialVersions: versions(cluster, 'c1') });
    client.send({ typeUrl: endpoint, subscribe: ['c1'], initialVersions: versions(endpoint, 'c1') });
    client.send({ typeUrl: route, subscribe: ['r1'], initialVersions: versions(route, 'r1') });
    const responses = client.take();
    // Rule 29: the wildcard gets its answer, which holds nothing.
    expect(responses.map((response) => [response.typeUrl, response.resources])).toEqual([[cluster, []]]);
    for (const type of [cluster, endpoint, route]) {
      const name = type === route ? 'r1' : 'c1';
      expect(rig.hub.fleet.delivery(type, name)).toMatchObject([{ state: 'acked' }]);
    }
  });

  it('rule 33: names without a version are sent', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b')]);
    const initialVersions = new Map([['a', hashOf(rig, endpoint, 'a')]]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a', 'b'], initialVersions });
    expect(client.settle()).toEqual(['endpoint: b=1']);
  });

  const orders: readonly (readonly [string, readonly string[]])[] = [
    ['before', [cluster, endpoint]],
    ['after', [endpoint, cluster]],
  ];
  it.each(orders)('rule 33: endpoints of a changed cluster are sent, asked for %s it', (_name, order) => {
    const rig = new Rig();
    rig.commit([
      resource(cluster, 'c1', '2'),
      resource(cluster, 'c2'),
      ...['c1', 'c2'].map((n) => resource(endpoint, n)),
    ]);
    const held = new Map([
      ['c1', 'old'],
      ['c2', hashOf(rig, cluster, 'c2')],
    ]);
    const requests: Record<string, DeltaRequestInit> = {
      [cluster]: { typeUrl: cluster, initialVersions: held },
      [endpoint]: {
        typeUrl: endpoint,
        subscribe: ['c1', 'c2'],
        initialVersions: new Map(['c1', 'c2'].map((name) => [name, hashOf(rig, endpoint, name)])),
      },
    };
    const texts: string[] = [];
    const node = rig.join({ typeUrl: secret });
    node.settle();
    for (const type of order) {
      const request = requests[type];
      if (request === undefined) throw new Error('unknown type');
      node.send(request);
      texts.push(...node.settle());
    }
    expect(node.error).toBeUndefined();
    expect(texts).toEqual(['cluster: c1=2', 'endpoint: c1=1']);
  });

  it('rule 33: all endpoints and secrets are sent when no clusters are asked for within a second', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1'), resource(endpoint, 'c1'), resource(secret, 's1')]);
    const first = {
      typeUrl: endpoint,
      subscribe: ['c1'],
      initialVersions: new Map([['c1', hashOf(rig, endpoint, 'c1')]]),
    };
    const client = rig.join(first);
    client.send({ typeUrl: secret, subscribe: ['s1'], initialVersions: new Map([['s1', hashOf(rig, secret, 's1')]]) });
    rig.pass(900);
    expect(client.texts()).toEqual([]);
    rig.pass(200);
    expect(client.settle()).toEqual(['endpoint: c1=1', 'secret: s1=1']);
    const other = rig.join(first, { id: 'n2', cluster: 'edge' });
    rig.pass(900);
    other.send({ typeUrl: cluster, initialVersions: new Map([['c1', hashOf(rig, cluster, 'c1')]]) });
    other.settle();
    rig.pass(5_000);
    expect(other.settle()).toEqual([]);
  });

  it('initial versions count in the first request of a type only', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a'] });
    client.settle();
    client.send({ typeUrl: endpoint, subscribe: ['b'], initialVersions: new Map([['b', hashOf(rig, endpoint, 'b')]]) });
    expect(client.settle()).toEqual(['endpoint: b=1']);
  });
});
