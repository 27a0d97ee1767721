/** State-of-the-world on the machines; the rules that both protocols share are tried again here. */
import { describe, expect, it } from 'vitest';
import {
  cluster,
  endpoint,
  extension,
  listener,
  needs,
  Rig,
  resource,
  route,
  type SotwClient,
  secret,
  sotwText,
} from '../../support/xds-rig.ts';

function withResources(...resources: ReturnType<typeof resource>[]): { rig: Rig; client: SotwClient } {
  const rig = new Rig();
  rig.commit(resources);
  return { rig, client: rig.openSotw() };
}

describe('requests', () => {
  it('rule 1: each type is a sub-stream of its own', () => {
    const { rig, client } = withResources(resource(cluster, 'c1'), resource(listener, 'l1'));
    client.want(cluster);
    client.want(listener);
    const [clusters, listeners] = client.take();
    // The nonce of one type says nothing to another.
    client.send({ typeUrl: listener, nonce: clusters?.nonce ?? '', version: '1' });
    expect(rig.hub.fleet.delivery(listener, 'l1')).toMatchObject([{ state: 'pending' }]);
    client.nack(clusters);
    client.ack(listeners);
    expect(rig.hub.fleet.delivery(listener, 'l1')).toMatchObject([{ state: 'acked' }]);
    expect(rig.hub.fleet.delivery(cluster, 'c1')).toMatchObject([{ state: 'rejected' }]);
  });

  it('rule 2: the first request must carry a node with an id, and it is kept', () => {
    const rig = new Rig();
    rig.commit([]);
    const nameless = rig.openSotw({}, { id: '', cluster: 'edge' });
    nameless.want(cluster);
    expect(nameless.error?.reason).toBe('node-missing');
    const client = rig.openSotw();
    client.want(cluster);
    client.want(listener);
    expect(client.error).toBeUndefined();
    expect(rig.hub.fleet.streams().map(({ node, protocol }) => [node.id, protocol])).toEqual([['n1', 'sotw']]);
  });

  it('rule 3: an empty type is an error, an unknown one is not', () => {
    const { client } = withResources();
    client.want('type.googleapis.com/nobody.knows.This', ['x']);
    expect(client.error).toBeUndefined();
    client.want('');
    expect(client.error?.reason).toBe('type-missing');
  });

  it('rule 4: a nonce and a version of an earlier stream make no difference in a first request', () => {
    const { rig, client } = withResources(resource(cluster, 'c1'));
    client.want(cluster);
    const [response] = client.take();
    client.stream.close(rig.now);
    const after = rig.openSotw();
    after.send({ typeUrl: cluster, nonce: response?.nonce ?? '', version: response?.version ?? '' });
    expect(after.texts()).toEqual(['cluster: c1=1']);
  });

  it('rule 5: a fresh nonce, the type and the controller are in each response', () => {
    const rig = new Rig({ identifier: 'controller-7' });
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.openSotw();
    client.want(cluster);
    const [first] = client.take();
    client.ack(first);
    rig.commit([resource(cluster, 'c1', '2')]);
    const [second] = client.take();
    expect(first).toMatchObject({ typeUrl: cluster, controlPlane: 'controller-7', version: '1' });
    expect(second).toMatchObject({ typeUrl: cluster, controlPlane: 'controller-7', version: '2' });
    expect(first?.nonce).not.toBe(second?.nonce);
    expect(first?.resources.map(({ typeUrl }) => typeUrl)).toEqual([cluster]);
  });

  it('rule 6: names match exactly', () => {
    const { client } = withResources(resource(endpoint, 'a'), resource(endpoint, 'a/b'), resource(endpoint, 'A'));
    client.want(endpoint, ['a']);
    expect(client.settle()).toEqual(['endpoint: a=1']);
  });

  it('malformed bytes end the stream with a reason', () => {
    const { rig, client } = withResources();
    expect(client.stream.receive(Uint8Array.of(0x12, 0xff), rig.now)?.reason).toBe('malformed');
  });
});

describe('answers', () => {
  it('rule 7: a NACK is the presence of an error, even an empty one', () => {
    const { rig, client } = withResources(resource(route, 'r1'));
    client.want(route, ['r1']);
    const [response] = client.take();
    client.send({ typeUrl: route, names: ['r1'], nonce: response?.nonce ?? '', error: { code: 0, message: '' } });
    expect(rig.events('rejected')).toMatchObject([{ type: route, name: 'r1' }]);
  });

  it('rule 10: a stale nonce gets no answer, but its names are taken in', () => {
    const { rig, client } = withResources(resource(endpoint, 'a'), resource(endpoint, 'b'));
    client.want(endpoint, ['a']);
    const [first] = client.take();
    client.ack(first);
    rig.commit([resource(endpoint, 'a', '2')]);
    const [second] = client.take();
    // It asks for b before it has seen the second response.
    client.send({ typeUrl: endpoint, names: ['a', 'b'], nonce: first?.nonce ?? '', version: '1' });
    expect(client.texts()).toEqual([]);
    expect(rig.hub.fleet.delivery(endpoint, 'a')).toMatchObject([{ state: 'pending' }]);
    client.names.set(endpoint, ['a', 'b']);
    client.ack(second);
    expect(client.settle()).toEqual(['endpoint: b=1']);
  });

  it('rule 10: an error with a stale nonce convicts nobody', () => {
    const { rig, client } = withResources(resource(route, 'r1'));
    client.want(route, ['r1']);
    client.settle();
    client.send({ typeUrl: route, names: ['r1'], nonce: 'stale', error: { code: 13, message: 'bad' } });
    expect(rig.events('rejected')).toEqual([]);
    expect(client.texts()).toEqual([]);
  });

  it('rule 11: convicted content is sent to nobody again, the next form is', () => {
    const { rig, client } = withResources(resource(listener, 'l1'), resource(listener, 'l2', 'bad'));
    client.want(listener);
    client.nack(client.take()[0]);
    // Each suspect alone beside what is known to be good: nothing yet.
    const [one] = client.take();
    expect(one && sotwText(one)).toBe('listener: l1=1');
    client.ack(one);
    const [two] = client.take();
    expect(two && sotwText(two)).toBe('listener: l1=1 l2=bad');
    client.nack(two);
    expect(client.take()).toEqual([]);
    expect(rig.events('rejected')).toMatchObject([{ name: 'l2', scope: 'convicted' }]);
    const other = rig.openSotw({}, { id: 'n2', cluster: 'edge' });
    other.want(listener);
    expect(other.settle()).toEqual(['listener: l1=1']);
    rig.commit([resource(listener, 'l2', 'good')]);
    expect([client.settle(), other.settle()]).toEqual([['listener: l1=1 l2=good'], ['listener: l1=1 l2=good']]);
  });

  it('rule 12: after a refusal, going back to what was acknowledged sends nothing', () => {
    const { rig, client } = withResources(resource(route, 'r1', 'good'));
    client.want(route, ['r1']);
    client.settle();
    rig.commit([resource(route, 'r1', 'bad')]);
    client.nack(client.take()[0]);
    rig.commit([resource(route, 'r1', 'good')]);
    expect(client.texts()).toEqual([]);
    expect(rig.hub.fleet.delivery(route, 'r1')).toMatchObject([{ state: 'acked' }]);
  });

  it('rule 13: suspects stand in the full set in their last good form, and one of them in its new one', () => {
    const names = ['a', 'b', 'c'];
    const { rig, client } = withResources(...names.map((name) => resource(cluster, name)));
    client.want(cluster);
    client.settle();
    rig.commit([resource(cluster, 'a', '2'), resource(cluster, 'b', 'bad'), resource(cluster, 'new')]);
    const sent: string[] = [];
    for (;;) {
      const responses = client.take();
      if (responses.length === 0) break;
      for (const response of responses) {
        sent.push(sotwText(response));
        if (sotwText(response).includes('bad')) client.nack(response);
        else client.ack(response);
      }
    }
    expect(sent).toEqual([
      'cluster: a=2 b=bad c=1 new=1',
      'cluster: a=2 b=1 c=1',
      'cluster: a=2 b=bad c=1',
      'cluster: a=2 b=1 c=1',
      'cluster: a=2 b=1 c=1 new=1',
    ]);
    expect(rig.events('rejected')).toMatchObject([{ name: 'b', scope: 'convicted' }]);
    // The next change leaves the culprit in its good form.
    rig.commit([resource(cluster, 'c', '2')]);
    expect(client.settle()).toEqual(['cluster: a=2 b=1 c=2 new=1']);
  });

  it('rule 13: a new client gets the last good form that anyone accepted', () => {
    const { rig, client } = withResources(resource(cluster, 'a'), resource(cluster, 'b'));
    client.want(cluster);
    client.settle();
    rig.commit([resource(cluster, 'b', 'bad')]);
    client.nack(client.take()[0]);
    const other = rig.openSotw({}, { id: 'n2', cluster: 'edge' });
    other.want(cluster);
    expect(other.settle()).toEqual(['cluster: a=1 b=1']);
    expect(rig.hub.fleet.delivery(cluster, 'b').map(({ state }) => state)).toEqual(['rejected', 'rejected']);
    rig.commit([resource(cluster, 'a', '2')]);
    expect(other.settle()).toEqual(['cluster: a=2 b=1']);
  });

  it('rule 14: routes wait for endpoints and not for the answer of clusters', () => {
    const { rig, client } = withResources(
      resource(cluster, 'c1', '1', needs(endpoint, 'c1')),
      resource(endpoint, 'c1'),
      resource(route, 'r1', '1', needs(cluster, 'c1')),
    );
    client.want(cluster);
    client.take();
    client.want(endpoint, ['c1']);
    client.settle();
    client.want(route, ['r1']);
    expect(client.texts()).toEqual(['route: r1=1']);
    expect(rig.events('stalled')).toEqual([]);
  });

  it('rule 15: an answer stands for the full sets before it, which a busy client leaves unanswered', () => {
    const { rig, client } = withResources(resource(cluster, 'a'), resource(cluster, 'b'));
    client.want(cluster);
    client.settle();
    rig.commit([resource(cluster, 'a', '2')]);
    client.take();
    rig.commit([], { removals: [{ type: cluster, name: 'b' }] });
    const [last] = client.take();
    expect(last && sotwText(last)).toBe('cluster: a=2');
    client.ack(last);
    expect(rig.hub.fleet.delivery(cluster, 'a')).toMatchObject([{ state: 'acked' }]);
    expect(rig.hub.fleet.streams()[0]?.types[0]).toMatchObject({ acked: 1, pending: 0 });
    expect(client.texts()).toEqual([]);
  });

  it('rule 15: of other responses that were skipped it is not known, so they are sent again', () => {
    const names = ['a', 'b', 'c'];
    const { client } = withResources(...names.map((name) => resource(route, name)));
    client.want(route, names);
    const responses = client.take();
    expect(responses.map(sotwText)).toEqual(['route: a=1', 'route: b=1', 'route: c=1']);
    client.ack(responses[2]);
    expect(client.settle()).toEqual(['route: a=1', 'route: b=1']);
    expect(client.settle()).toEqual([]);
  });
});

describe('subscriptions', () => {
  const clusters = ['a', 'b'].map((name) => resource(cluster, name));

  it('rule 16: an empty list means all until the first name', () => {
    const { client } = withResources(...clusters);
    client.want(cluster);
    expect(client.settle()).toEqual(['cluster: a=1 b=1']);
    client.want(cluster, ['a']);
    client.want(cluster, []);
    expect(client.settle()).toEqual([]);
    client.want(cluster, ['*']);
    expect(client.settle()).toEqual(['cluster: a=1 b=1']);
  });

  it('rule 17: * and a name keep all', () => {
    const { rig, client } = withResources(...clusters);
    client.want(cluster);
    client.settle();
    client.want(cluster, ['*', 'a']);
    expect(client.settle()).toEqual([]);
    rig.commit([resource(cluster, 'c')]);
    expect(client.settle()).toEqual(['cluster: a=1 b=1 c=1']);
  });

  it('rule 17: a name alone drops the wildcard, and then an empty list means nothing', () => {
    const { rig, client } = withResources(...clusters);
    client.want(cluster);
    client.settle();
    client.want(cluster, ['a']);
    rig.commit([resource(cluster, 'b', '2')]);
    expect(client.settle()).toEqual([]);
    rig.commit([resource(cluster, 'a', '2')]);
    expect(client.settle()).toEqual(['cluster: a=2']);
    client.want(cluster, []);
    rig.commit([resource(cluster, 'a', '3')]);
    expect(client.settle()).toEqual([]);
  });

  it.each([endpoint, route, secret, extension])('rule 20: an empty list of %s is never all', (type) => {
    const { rig, client } = withResources(resource(type, 'a'), resource(type, 'b'));
    client.want(type, []);
    expect(client.settle()).toEqual([]);
    client.want(type, ['a']);
    expect(client.settle()).toHaveLength(1);
    client.want(type, []);
    rig.commit([resource(type, 'a', '2')]);
    expect(client.settle()).toEqual([]);
    client.want(type, ['*']);
    expect(client.settle().length).toBeGreaterThan(0);
  });

  it('rule 21: a new name is answered, the others are not sent again', () => {
    const { client } = withResources(resource(endpoint, 'a'), resource(endpoint, 'b'));
    client.want(endpoint, ['a']);
    client.settle();
    client.want(endpoint, ['a', 'b']);
    expect(client.settle()).toEqual(['endpoint: b=1']);
    client.want(endpoint, ['b', 'a']);
    expect(client.settle()).toEqual([]);
  });

  it('rule 22: given up and asked for again is sent again', () => {
    const { client } = withResources(resource(endpoint, 'a'));
    client.want(endpoint, ['a']);
    client.settle();
    client.want(endpoint, []);
    client.want(endpoint, ['a']);
    expect(client.settle()).toEqual(['endpoint: a=1']);
  });

  it('rule 25: a full set without it tells that a cluster does not exist, once; it is sent when it appears', () => {
    const { rig, client } = withResources();
    client.want(cluster, ['c1']);
    expect(client.settle()).toEqual(['cluster:']);
    rig.commit([resource(cluster, 'other')]);
    expect(client.settle()).toEqual([]);
    rig.commit([resource(cluster, 'c1')]);
    expect(client.settle()).toEqual(['cluster: c1=1']);
  });

  it('rule 25: of other types there is nothing to tell, and it is sent when it appears', () => {
    const { rig, client } = withResources();
    client.want(route, ['r1']);
    client.want(extension, ['e1']);
    expect(client.settle()).toEqual([]);
    rig.commit([resource(route, 'r1'), resource(extension, 'e1')]);
    expect(client.settle()).toEqual(['extension: e1=1', 'route: r1=1']);
  });

  it('rules 25, 26: the endpoints of a cluster that has none are empty', () => {
    const { client } = withResources(resource(cluster, 'c1'));
    client.want(endpoint, ['c1', 'c2']);
    const [response, ...none] = client.take();
    expect(none).toEqual([]);
    expect(response?.resources.map(({ value }) => [...value])).toEqual([[0x0a, 2, 0x63, 0x31]]);
  });

  it('rule 42: nothing of a stream stays when it closes', () => {
    const { rig, client } = withResources(...clusters);
    client.want(cluster);
    client.settle();
    client.stream.close(rig.now);
    expect(rig.hub.fleet.streams()).toEqual([]);
    rig.commit([resource(cluster, 'a', '2')]);
    expect(client.texts()).toEqual([]);
  });
});

describe('content', () => {
  it.each([cluster, listener])('rule 27: a response of %s is the full set, and an absent one is deleted', (type) => {
    const { rig, client } = withResources(...['a', 'b', 'c'].map((name) => resource(type, name)));
    client.want(type);
    client.settle();
    rig.commit([resource(type, 'b', '2')], { removals: [{ type, name: 'a' }] });
    const [response, ...none] = client.take();
    expect([response && sotwText(response).split(': ')[1], none]).toEqual(['b=2 c=1', []]);
    client.ack(response);
    rig.remove([type, 'b'], [type, 'c']);
    expect(client.settle().map((one) => one.split(':')[1])).toEqual(['']);
  });

  it.each([endpoint, route, secret, extension])('rule 27: a response of %s may be partial', (type) => {
    const { rig, client } = withResources(resource(type, 'a'), resource(type, 'b'));
    client.want(type, ['a', 'b']);
    client.settle();
    rig.commit([resource(type, 'a', '2')]);
    expect(client.settle().map((one) => one.split(': ')[1])).toEqual(['a=2']);
    rig.remove([type, 'b']);
    expect(client.settle()).toEqual([]);
  });

  it('rule 27: the full set is not split, whatever its size', () => {
    const rig = new Rig({ maxFrameBytes: 1_000 });
    rig.commit(Array.from({ length: 10 }, (_, at) => resource(cluster, `c${at}`, 'x'.repeat(300))));
    const client = rig.openSotw();
    client.want(cluster);
    expect(client.take().map(({ resources }) => resources.length)).toEqual([10]);
  });

  it('rule 27: a first set of thousands is judged in pieces and sent whole', () => {
    const rig = new Rig();
    rig.commit(Array.from({ length: 10_000 }, (_, at) => resource(cluster, `c${at}`)));
    const client = rig.openSotw();
    client.want(cluster);
    expect(client.take().map(({ resources }) => resources.length)).toEqual([10_000]);
  });

  it('rule 27: a set in flight is not forgotten by the next', () => {
    const { rig, client } = withResources(resource(cluster, 'a'));
    client.want(cluster);
    client.settle();
    rig.commit([resource(cluster, 'b')]);
    const [one] = client.take();
    rig.commit([resource(cluster, 'c')]);
    const [two] = client.take();
    expect([one, two].map((response) => response && sotwText(response))).toEqual([
      'cluster: a=1 b=1',
      'cluster: a=1 b=1 c=1',
    ]);
    client.ack(one);
    client.ack(two);
    expect(client.texts()).toEqual([]);
  });

  it('shares the bytes of the resources with delta', () => {
    const { rig } = withResources(resource(cluster, 'c1', 'x'.repeat(10_000)));
    const shared = rig.hub.table.get(cluster, 'c1')?.resource.bytes.buffer;
    const client = rig.openSotw();
    client.want(cluster);
    for (let work = rig.hub.next(rig.now); work !== undefined; work = rig.hub.next(rig.now)) {
      if (work.kind === 'frame') expect(work.frame.chunks.at(-1)?.buffer).toBe(shared);
    }
    expect.assertions(1);
  });

  it('rule 28: no name twice', () => {
    const { client } = withResources(resource(cluster, 'c1'), resource(cluster, 'c2'));
    client.want(cluster, ['*', 'c1', 'c1', 'c3']);
    expect(client.settle()).toEqual(['cluster: c1=1 c2=1']);
  });

  it('rule 29: nothing is sent when nothing changed for the client', () => {
    const { rig, client } = withResources(resource(cluster, 'c1'));
    client.want(cluster);
    client.settle();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'foreign', '1', { audience: 'others' })]);
    expect(client.settle()).toEqual([]);
  });

  it('rule 29: the first wildcard request is answered even when empty', () => {
    const { client } = withResources();
    client.want(cluster);
    client.want(listener);
    expect(client.settle()).toEqual(['cluster:', 'listener:']);
  });

  it('rule 30: no heartbeat is ever sent', () => {
    const { rig, client } = withResources(resource(cluster, 'c1'));
    client.want(cluster);
    client.settle();
    rig.pass(86_400_000);
    expect(client.texts()).toEqual([]);
  });
});

describe('order', () => {
  const pool = (name: string, content = '1') => [
    resource(cluster, name, content, needs(endpoint, name)),
    resource(endpoint, name, content),
  ];
  const web = [
    ...pool('c1'),
    resource(route, 'r1', 'c1', needs(cluster, 'c1')),
    resource(listener, 'l1', '1', needs(route, 'r1')),
  ];

  function filled() {
    const { rig, client } = withResources(...web);
    client.want(cluster);
    client.settle();
    client.want(endpoint, ['c1']);
    client.settle();
    client.want(listener);
    client.settle();
    client.want(route, ['r1']);
    client.settle();
    return { rig, client };
  }

  it('rule 35: a changed cluster gets its endpoints again, that cluster only', () => {
    const { rig, client } = withResources(...pool('c1'), ...pool('c2'));
    client.want(cluster);
    client.settle();
    client.want(endpoint, ['c1', 'c2']);
    client.settle();
    rig.commit([resource(cluster, 'c1', '2', needs(endpoint, 'c1'))]);
    expect(client.settle()).toEqual(['cluster: c1=2 c2=1', 'endpoint: c1=1']);
  });

  it('rule 36: endpoints never before their cluster', () => {
    const { rig, client } = filled();
    rig.commit(pool('c1', '2').reverse());
    expect(client.settle()).toEqual(['cluster: c1=2', 'endpoint: c1=2']);
  });

  it('rule 37: an extension is never taken away', () => {
    const { rig, client } = withResources(resource(extension, 'e1'));
    client.want(extension, ['e1']);
    client.settle();
    rig.remove([extension, 'e1']);
    expect(client.settle()).toEqual([]);
  });

  it('rule 39: a cluster stays in the set until the routes without it are acknowledged', () => {
    const { rig, client } = filled();
    rig.commit([...pool('c2'), resource(route, 'r1', 'c2', needs(cluster, 'c2'))], {
      removals: [{ type: cluster, name: 'c1' }],
    });
    expect(client.settle()).toEqual(['cluster: c1=1 c2=1']);
    client.want(endpoint, ['c1', 'c2']);
    expect(client.settle()).toEqual(['endpoint: c2=1', 'route: r1=c2', 'cluster: c2=1']);
  });

  it('rule 39: what a removed listener used stays until its connections are drained', () => {
    const { rig, client } = filled();
    rig.commit([], { audiences: [{ subject: 'cluster/edge', audiences: ['all'], drainMs: 30_000 }] });
    rig.remove([listener, 'l1'], [route, 'r1'], [cluster, 'c1']);
    expect(client.settle()).toEqual(['listener:']);
    client.want(route, []);
    rig.pass(29_000);
    expect(client.texts()).toEqual([]);
    rig.pass(1_100);
    expect(client.settle()).toEqual(['cluster:']);
  });

  it('a listener that waits is not left out of a first set: the client may have it from before', () => {
    const rig = new Rig({ needMs: 5_000 });
    rig.commit([...web, resource(listener, 'l2', 'tcp', needs(cluster, 'c1'))]);
    const client = rig.openSotw();
    client.versions.set(listener, 'earlier');
    client.want(listener);
    expect(client.texts()).toEqual([]);
    client.want(cluster);
    client.settle();
    client.want(endpoint, ['c1']);
    expect(client.settle()).toEqual(['endpoint: c1=1', 'listener: l1=1 l2=tcp']);
  });

  it('a new listener that waits is left out of the sets before it', () => {
    const { rig, client } = filled();
    rig.commit([
      ...pool('c2'),
      resource(listener, 'l2', 'tcp', needs(cluster, 'c2')),
      resource(listener, 'l1', '2', needs(route, 'r1')),
    ]);
    expect(client.settle()).toEqual(['cluster: c1=1 c2=1', 'listener: l1=2']);
    client.want(endpoint, ['c1', 'c2']);
    expect(client.settle()).toEqual(['endpoint: c2=1', 'listener: l1=2 l2=tcp']);
  });

  it('stuck warming: the full set is pushed again with the endpoints', () => {
    const { rig, client } = filled();
    rig.commit([resource(cluster, 'c1', '2', needs(endpoint, 'c1'))]);
    const [, endpoints] = client.take();
    client.ack(endpoints);
    rig.pass(15_100);
    expect(rig.events('stalled')).toMatchObject([{ reason: 'answer', type: cluster, names: ['c1'] }]);
    expect(client.settle()).toEqual(['cluster: c1=2', 'endpoint: c1=1']);
    expect(client.settle()).toEqual([]);
  });
});

describe('what a client brought along is not known', () => {
  it('so it is when something names what was refused', () => {
    const { rig, client } = withResources(resource(cluster, 'c1'), resource(route, 'r1', '1', needs(cluster, 'c2')));
    client.want(cluster);
    client.want(route, ['r1']);
    client.settle();
    client.stream.close(rig.now);
    rig.remove([cluster, 'c1']);
    rig.commit([resource(cluster, 'c2', 'bad')]);
    const again = rig.openSotw();
    again.versions.set(cluster, '1');
    again.want(cluster);
    again.want(route, ['r1']);
    const [clusters, routes] = again.take();
    expect(clusters && sotwText(clusters)).toBe('cluster: c2=bad');
    again.ack(routes);
    again.nack(clusters);
    // It still has c1, until it is told otherwise.
    expect(again.texts()).toEqual(['cluster:']);
  });

  it('a first set that is refused is followed by one that is good, though nothing else is new', () => {
    const { rig, client } = withResources(resource(listener, 'l1', 'bad'));
    client.want(listener);
    client.nack(client.take()[0]);
    // It may have had another listener before.
    expect(client.settle()).toEqual(['listener:']);
    rig.commit([resource(listener, 'l1', 'good')]);
    client.settle();
    rig.commit([resource(listener, 'l1', 'bad again')]);
    client.nack(client.take()[0]);
    expect(client.settle()).toEqual([]);
  });

  it('a suspect of before that waits for what it needs does not hold a first set back for good', () => {
    const { rig, client } = withResources(
      resource(listener, 'a', 'bad'),
      resource(listener, 'b', '1', needs(cluster, 'c1')),
      resource(cluster, 'c1'),
    );
    client.want(listener);
    client.nack(client.take()[0]);
    client.stream.close(rig.now);
    const again = rig.openSotw();
    again.versions.set(route, 'earlier');
    again.want(route);
    again.want(listener);
    expect(again.texts()).toEqual([]);
    rig.pass(5_100);
    const [first] = again.take();
    again.nack(first);
    expect(first && sotwText(first)).toBe('listener: a=bad');
    rig.pass(5_100);
    expect(again.settle()).toContain('listener: b=1');
  });
});
