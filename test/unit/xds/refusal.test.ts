import { describe, expect, it } from 'vitest';
import {
  type Client,
  cluster,
  endpoint,
  listener,
  needs,
  Rig,
  resource,
  route,
  secret,
  text,
} from '../../support/xds-rig.ts';

/** Answers until nothing comes any more, refusing what contains `bad`. Gives what was sent. */
function answering(client: Client, bad: string, words = `there is ${bad}`): string[] {
  const sent: string[] = [];
  for (;;) {
    const responses = client.take();
    if (responses.length === 0) return sent;
    for (const response of responses) {
      sent.push(text(response));
      if (text(response).includes(bad)) client.nack(response, words);
      else client.ack(response);
    }
  }
}

const part = (unit: string, hash: string, generation = 1) => ({ unit, generation, hash });

describe('refusals', () => {
  it('rule 13: one NACK covers all of a batch; each of it is sent again alone until the bad one is known', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'c2', 'bad'), resource(cluster, 'c3')]);
    const client = rig.join({ typeUrl: cluster });
    // Of a refused cluster Envoy may keep a ghost, which is taken away in the end.
    expect(answering(client, 'bad')).toEqual(['c1=1 c2=bad c3=1', 'c1=1', 'c2=bad', 'c3=1', '-c2']);
    expect(rig.events('rejected')).toMatchObject([
      { type: cluster, name: 'c2', words: 'there is bad', scope: 'convicted', nodeId: 'n1' },
    ]);
    expect(rig.hub.fleet.delivery(cluster, 'c2')).toMatchObject([
      { state: 'rejected', refusal: { words: 'there is bad', scope: 'convicted' } },
    ]);
    expect(rig.hub.fleet.delivery(cluster, 'c3')).toMatchObject([{ state: 'acked' }]);
    expect(rig.hub.fleet.streams()[0]?.types[0]).toMatchObject({ acked: 2, pending: 0, rejected: [{ name: 'c2' }] });
  });

  it('the ghost of a refused cluster is taken away once nothing in use names it', () => {
    const rig = new Rig();
    rig.commit([
      resource(cluster, 'c1', 'bad'),
      resource(listener, 'l1', '1', needs(route, 'r1')),
      resource(route, 'r1', '1', needs(cluster, 'c1')),
    ]);
    const client = rig.join({ typeUrl: cluster });
    client.send({ typeUrl: listener });
    client.send({ typeUrl: route, subscribe: ['r1'] });
    expect(answering(client, 'bad')).toEqual(['c1=bad', 'l1=1', 'r1=1']);
    rig.commit([resource(route, 'r1', '2')]);
    expect(answering(client, 'bad')).toEqual(['r1=2', '-c1']);
  });

  it('a refused cluster that was removed behind its back is not removed once more', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1', 'bad')]);
    const client = rig.join({ typeUrl: cluster });
    const [bad] = client.take();
    rig.remove([cluster, 'c1']);
    const [removal] = client.take();
    expect(removal && text(removal)).toBe('-c1');
    client.nack(bad);
    client.ack(removal);
    expect(client.take()).toEqual([]);
  });

  it('the removals of a refused batch are sent again', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'c2')]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    rig.commit([resource(cluster, 'c1', 'bad')], { removals: [{ type: cluster, name: 'c2' }] });
    expect(answering(client, 'bad')).toEqual(['c1=bad -c2', 'c1=1 -c2']);
  });

  it('a refused removal is not sent in a loop', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    rig.remove([cluster, 'c1']);
    client.nack(client.take()[0]);
    expect(client.take()).toEqual([]);
  });

  it('rule 12: what may have been applied in part is sent even if the table goes back', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a', 'b'] });
    client.settle();
    rig.commit([resource(endpoint, 'a', '2'), resource(endpoint, 'b', 'bad')]);
    client.nack(client.take()[0]);
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b')]);
    expect(client.settle()).toEqual(['endpoint: a=1 b=1']);
    expect(client.settle()).toEqual([]);
  });

  it('rule 11: convicted content is sent to nobody again, the next form is', () => {
    const rig = new Rig();
    rig.commit([resource(route, 'r1', 'bad')]);
    const first = rig.join({ typeUrl: route, subscribe: ['r1'] });
    expect(answering(first, 'bad')).toEqual(['r1=bad']);
    first.send({ typeUrl: route, subscribe: ['r1'] });
    expect(first.take()).toEqual([]);
    const second = rig.join({ typeUrl: route, subscribe: ['r1'] }, { id: 'n2', cluster: 'edge' });
    expect(second.take()).toEqual([]);
    expect(rig.hub.fleet.delivery(route, 'r1').map(({ state }) => state)).toEqual(['rejected', 'rejected']);
    rig.commit([resource(route, 'r1', 'good')]);
    expect([first.settle(), second.settle()]).toEqual([['route: r1=good'], ['route: r1=good']]);
    rig.commit([resource(route, 'r1', 'bad')]);
    expect([first.settle(), second.settle()]).toEqual([[], []]);
  });

  it('rule 11: also after a restart', () => {
    const before = new Rig();
    before.commit([resource(route, 'r1', 'bad')]);
    answering(before.join({ typeUrl: route, subscribe: ['r1'] }), 'bad');
    const after = new Rig({ convictions: structuredClone(before.hub.convictions()) });
    after.commit([resource(route, 'r1', 'bad')]);
    const client = after.join({ typeUrl: route, subscribe: ['r1'] });
    expect(client.take()).toEqual([]);
    expect(after.hub.fleet.delivery(route, 'r1')).toMatchObject([
      { state: 'rejected', refusal: { words: 'there is bad', scope: 'convicted' } },
    ]);
    expect(after.hub.fleet.streams()[0]?.types[0]?.rejected).toMatchObject([{ name: 'r1', words: 'there is bad' }]);
  });

  it('what another client accepted is refused for this one only', () => {
    const rig = new Rig();
    rig.commit([resource(route, 'r1', 'odd')]);
    const good = rig.join({ typeUrl: route, subscribe: ['r1'] });
    good.settle();
    const bad = rig.join({ typeUrl: route, subscribe: ['r1'] }, { id: 'n2', cluster: 'edge' });
    expect(answering(bad, 'odd')).toEqual(['r1=odd']);
    expect(rig.events('rejected')).toMatchObject([{ nodeId: 'n2', scope: 'local' }]);
    expect(rig.hub.convictions()).toEqual([]);
    const third = rig.join({ typeUrl: route, subscribe: ['r1'] }, { id: 'n3', cluster: 'edge' });
    expect(third.settle()).toEqual(['route: r1=odd']);
    bad.send({ typeUrl: route, subscribe: ['r1'] });
    expect(bad.take()).toEqual([]);
  });

  it('a conviction is lifted when a client accepts the same bytes after all', () => {
    const rig = new Rig();
    rig.commit([resource(route, 'r1', 'odd')]);
    const [one, two, three] = ['n1', 'n2', 'n3'].map((id) =>
      rig.join({ typeUrl: route, subscribe: ['r1'] }, { id, cluster: 'edge' }),
    );
    if (one === undefined || two === undefined || three === undefined) throw new Error('three clients');
    const [toOne] = one.take();
    const [toTwo] = two.take();
    one.nack(toOne);
    three.stream.close(rig.now);
    const late = rig.join({ typeUrl: route, subscribe: ['r1'] }, { id: 'n4', cluster: 'edge' });
    expect(late.take()).toEqual([]);
    two.ack(toTwo);
    expect(late.texts()).toEqual(['route: r1=odd']);
    expect(rig.events('proven')).toMatchObject([{ type: route, name: 'r1', acquitted: true }]);
    expect(rig.hub.convictions()).toEqual([]);
    // Who refused it is not asked again.
    expect(one.take()).toEqual([]);
  });

  it('blames the parts that changed since the last accepted form', () => {
    const rig = new Rig();
    const composite = (content: string, ...parts: ReturnType<typeof part>[]) =>
      resource(route, 'r1', content, { parts });
    rig.commit([composite('1', part('Route/a', 'a1'), part('Route/b', 'b1'))]);
    const client = rig.join({ typeUrl: route, subscribe: ['r1'] });
    client.settle();
    rig.commit([composite('bad', part('Route/a', 'a1'), part('Route/b', 'b2', 2), part('Route/c', 'c1'))]);
    answering(client, 'bad');
    expect(rig.events('rejected')[0]?.parts.map(({ unit }) => unit)).toEqual(['Route/b', 'Route/c']);
    rig.commit([composite('bad too', part('Route/a', 'a1'))]);
    answering(client, 'bad');
    expect(rig.events('rejected')[0]?.parts.map(({ unit }) => unit)).toEqual(['Route/a']);
  });

  describe('the newest form that was accepted counts', () => {
    const form = (content: string, generation: number) =>
      resource(route, 'r1', content, { parts: [part('Route/a', content, generation)] });
    const node = (id: string) => ({ id, cluster: 'edge' });
    const good = (rig: Rig) => rig.events('rejected').map((event) => event.good?.parts[0]?.generation);

    it('and not the older one of a late answer', () => {
      const rig = new Rig();
      rig.commit([form('1', 1)]);
      const [late, other] = ['n1', 'n2'].map((id) => rig.join({ typeUrl: route, subscribe: ['r1'] }, node(id)));
      if (late === undefined || other === undefined) throw new Error('two clients');
      const [first] = late.take();
      other.settle();
      rig.commit([form('2', 2)]);
      other.settle();
      late.ack(first);
      rig.commit([form('bad', 3)]);
      answering(other, 'bad');
      expect(good(rig)).toEqual([2]);
    });

    it('and not the older one that a client gets in place of what it alone refused', () => {
      const rig = new Rig();
      const cluster1 = (content: string, generation: number) =>
        resource(cluster, 'c1', content, { parts: [part('BackendPool/a', content, generation)] });
      rig.commit([cluster1('1', 1)]);
      const [odd, other] = ['n1', 'n2'].map((id) => rig.join({ typeUrl: cluster }, node(id)));
      if (odd === undefined || other === undefined) throw new Error('two clients');
      for (const client of [odd, other]) client.settle();
      rig.commit([cluster1('2', 2)]);
      other.settle();
      expect(answering(odd, '=2')).toEqual(['c1=2', 'c1=1']);
      rig.events('rejected');
      rig.commit([cluster1('bad', 3)]);
      answering(other, 'bad');
      expect(good(rig)).toEqual([2]);
    });
  });

  it('an accepted form is known from what a client brings along', () => {
    const rig = new Rig();
    const good = resource(route, 'r1', '1', { parts: [part('Route/a', 'a1')] });
    rig.commit([good]);
    const client = rig.join({ typeUrl: route, subscribe: ['r1'], initialVersions: new Map([['r1', good.hash]]) });
    client.settle();
    rig.commit([resource(route, 'r1', 'bad', { parts: [part('Route/a', 'a1'), part('Route/b', 'b1')] })]);
    answering(client, 'bad');
    expect(rig.events('rejected')[0]?.parts.map(({ unit }) => unit)).toEqual(['Route/b']);
  });

  it('a fault of the host stays with the node and is tried again, ever more slowly', () => {
    const rig = new Rig();
    rig.commit([resource(listener, 'l1', 'busy'), resource(listener, 'l2')]);
    const words = "error adding listener(s) l1: cannot bind '127.0.0.1:80': Address already in use";
    const client = rig.join({ typeUrl: listener });
    expect(answering(client, 'busy', words)).toEqual(['l1=busy l2=1', 'l1=busy', 'l2=1']);
    expect(rig.events('rejected')).toMatchObject([{ name: 'l1', scope: 'host' }]);
    const other = rig.join({ typeUrl: listener }, { id: 'n2', cluster: 'edge' });
    expect(other.settle()).toEqual(['listener: l1=busy l2=1']);
    const tries: number[] = [];
    const start = rig.now;
    while (rig.now - start < 1_000_000) {
      rig.pass(1_000);
      if (answering(client, 'busy', words).length > 0) tries.push(Math.round((rig.now - start) / 1_000));
    }
    expect(tries.slice(0, 5)).toEqual([5, 15, 35, 75, 155]);
    expect(tries.length).toBeLessThan(10);
    for (let second = 0; second < 301; second++) rig.pass(1_000);
    expect(client.settle()).toEqual(['listener: l1=busy']);
    expect(rig.hub.fleet.delivery(listener, 'l1').map(({ state }) => state)).toEqual(['acked', 'acked']);
  });

  it('suspects and new changes do not mix', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'a'), resource(endpoint, 'b'), resource(endpoint, 'c')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['a', 'b', 'c'] });
    client.settle();
    rig.commit([resource(endpoint, 'a', '2'), resource(endpoint, 'b', '2')]);
    client.nack(client.take()[0]);
    rig.commit([resource(endpoint, 'c', '2'), resource(endpoint, 'b', '3')]);
    const sent = client.settle();
    expect(sent.sort()).toEqual(['endpoint: a=2', 'endpoint: b=3', 'endpoint: c=2']);
  });

  it('a refusal of something given up meanwhile changes nothing', () => {
    const rig = new Rig();
    rig.commit([resource(secret, 's1')]);
    const client = rig.join({ typeUrl: secret, subscribe: ['s1'] });
    const [response] = client.take();
    client.send({ typeUrl: secret, unsubscribe: ['s1'] });
    client.ack(response);
    expect(rig.hub.fleet.delivery(secret, 's1')).toMatchObject([{ state: 'unsubscribed' }]);
  });

  it('what one accepted is not in doubt again because another accepts an older form later', () => {
    const rig = new Rig();
    rig.commit([resource(secret, 's1')]);
    const one = rig.join({ typeUrl: secret, subscribe: ['s1'] });
    one.settle();
    rig.commit([resource(secret, 's1', 'bad')]);
    one.nack(one.take()[0]);
    const two = rig.join({ typeUrl: secret, subscribe: ['s1'] }, { id: 'n2', cluster: 'edge' });
    const [lastGood] = two.take();
    expect(lastGood && text(lastGood)).toBe('s1=1');
    rig.commit([resource(secret, 's1', 'good')]);
    const [good] = one.take();
    // Nothing is sent between the two answers.
    one.ack(good);
    two.ack(lastGood);
    expect(two.settle()).toEqual(['secret: s1=good']);
  });
});
