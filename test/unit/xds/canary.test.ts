import { describe, expect, it } from 'vitest';
import { encodeNode, type TypeUrl } from '../../../src/xds/index.ts';
import { type Client, cluster, endpoint, listener, needs, Rig, resource, route, text } from '../../support/xds-rig.ts';

// After a refusal, what is new of a name goes to one client of each version first.

interface Proxy {
  readonly client: Client;
  /** Answers all that came, refusing what contains `bad`; gives what came. */
  answer(): string[];
}

function proxy(rig: Rig, id: string, version = '1.40.0', type: TypeUrl = route): Proxy {
  const subscribe = type === cluster ? [] : ['r1'];
  const node = { id, cluster: 'edge', userAgent: 'envoy', version };
  const client = rig.open();
  client.send({ typeUrl: type, subscribe, node: encodeNode(node) });
  return {
    client,
    answer() {
      const responses = client.take();
      for (const response of responses) {
        if (text(response).includes('bad')) client.nack(response, 'it is bad');
        else client.ack(response);
      }
      return responses.map(text);
    },
  };
}

function commit(rig: Rig, content: string): void {
  rig.commit([resource(route, 'r1', content)]);
}

/** Three proxies that have refused a form. */
function refused(): { rig: Rig; proxies: [Proxy, Proxy, Proxy] } {
  const rig = new Rig();
  commit(rig, '1');
  const proxies: [Proxy, Proxy, Proxy] = [proxy(rig, 'a'), proxy(rig, 'b'), proxy(rig, 'c')];
  for (const one of proxies) one.answer();
  commit(rig, 'bad');
  for (const one of proxies) one.answer();
  rig.events('rejected');
  return { rig, proxies };
}

describe('after a refusal', () => {
  it('the oldest client tries what is new; the others get it when that one has accepted it', () => {
    const { rig, proxies } = refused();
    const [a, b, c] = proxies;
    commit(rig, '2');
    expect([b, c].map((one) => one.client.texts())).toEqual([[], []]);
    expect(a.answer()).toEqual(['r1=2']);
    expect(rig.events('proven')).toMatchObject([
      { type: route, name: 'r1', version: 'envoy 1.40.0', acquitted: false },
    ]);
    expect([b, c].map((one) => one.answer())).toEqual([['r1=2'], ['r1=2']]);
    // Said once.
    expect(rig.events('proven')).toEqual([]);
  });

  it('what that one refuses is sent to no other', () => {
    const { rig, proxies } = refused();
    commit(rig, 'bad too');
    expect(proxies.map((one) => one.answer())).toEqual([['r1=bad too'], [], []]);
    expect(rig.events('rejected')).toMatchObject([{ nodeId: 'a', scope: 'convicted', version: 'envoy 1.40.0' }]);
    expect(rig.hub.fleet.delivery(route, 'r1').map(({ state }) => state)).toEqual(['rejected', 'rejected', 'rejected']);
    commit(rig, '3');
    expect(proxies.map((one) => one.answer())).toEqual([['r1=3'], ['r1=3'], ['r1=3']]);
  });

  it('each version tries for itself', () => {
    const { rig, proxies } = refused();
    const old = proxy(rig, 'old', '1.39.0');
    // Convicted by the others only.
    expect(old.answer()).toEqual(['r1=bad']);
    expect(rig.events('rejected')).toMatchObject([{ nodeId: 'old', version: 'envoy 1.39.0' }]);
    const older = proxy(rig, 'older', '1.39.0');
    // Nor is it known what this version makes of the form that the others have.
    expect(older.client.texts()).toEqual([]);
    expect(old.answer()).toEqual(['r1=1']);
    expect(older.answer()).toEqual(['r1=1']);
    rig.events('proven');
    commit(rig, '2');
    expect(old.answer()).toEqual(['r1=2']);
    expect(rig.events('proven')).toMatchObject([{ version: 'envoy 1.39.0' }]);
    expect(proxies[1].client.texts()).toEqual([]);
    expect(older.answer()).toEqual(['r1=2']);
    expect(proxies[0].answer()).toEqual(['r1=2']);
    expect(rig.events('proven')).toMatchObject([{ version: 'envoy 1.40.0' }]);
  });

  it.each<[string, (rig: Rig, first: Proxy) => void]>([
    ['goes away', (rig, first) => first.client.stream.close(rig.now)],
    ['gives the name up', (_, first) => first.client.send({ typeUrl: route, unsubscribe: ['r1'] })],
    ['does not answer', (rig) => rig.pass(15_000)],
  ])('when the one that tries %s, the next one does', (_, happens) => {
    const { rig, proxies } = refused();
    const [a, b, c] = proxies;
    commit(rig, '2');
    expect(a.client.texts()).toEqual(['route: r1=2']);
    happens(rig, a);
    expect(b.answer()).toEqual(['r1=2']);
    expect(c.answer()).toEqual(['r1=2']);
  });

  it('one that comes meanwhile gets what was accepted last', () => {
    const { rig, proxies } = refused();
    commit(rig, '2');
    const late = proxy(rig, 'late');
    expect(late.answer()).toEqual(['r1=1']);
    proxies[0].answer();
    expect(late.answer()).toEqual(['r1=2']);
  });

  it('all get what is new at once again when the name is beyond doubt', () => {
    const { rig, proxies } = refused();
    commit(rig, '2');
    for (const one of proxies) one.answer();
    rig.hub.clear(route, 'r1');
    commit(rig, '3');
    expect(proxies.map((one) => one.client.texts())).toEqual([['route: r1=3'], ['route: r1=3'], ['route: r1=3']]);
  });

  it('a form that comes back is told of, and sent to nobody', () => {
    const { rig, proxies } = refused();
    commit(rig, '2');
    for (const one of proxies) one.answer();
    commit(rig, 'bad');
    expect(proxies.map((one) => one.answer())).toEqual([[], [], []]);
    expect(rig.events('withheld')).toMatchObject([
      { type: route, name: 'r1', version: 'envoy 1.40.0', words: 'it is bad', revision: 4 },
    ]);
  });

  it('a client whose refusals others do not share tries nothing for them', () => {
    const rig = new Rig();
    commit(rig, '1');
    const odd = proxy(rig, 'odd');
    const [b, c] = [proxy(rig, 'b'), proxy(rig, 'c')];
    for (const one of [odd, b, c]) one.answer();
    commit(rig, '2');
    for (const one of [b, c]) one.answer();
    odd.client.nack(odd.client.take()[0], 'I am odd');
    expect(rig.events('rejected')).toMatchObject([{ nodeId: 'odd', scope: 'local' }]);
    commit(rig, 'bad');
    for (const one of [odd, b, c]) one.answer();
    commit(rig, '3');
    expect(odd.client.texts()).toEqual([]);
    expect(b.answer()).toEqual(['r1=3']);
    expect([odd.answer(), c.answer()]).toEqual([['r1=3'], ['r1=3']]);
  });
});

describe('after the refusal of a batch', () => {
  it('one client gets each of it alone; the others then get what is good together', () => {
    const rig = new Rig();
    const names = ['c1', 'c2', 'c3', 'c4'];
    const proxies = ['a', 'b', 'c'].map((id) => proxy(rig, id, '1.40.0', cluster));
    rig.commit(names.map((name) => resource(cluster, name, name === 'c3' ? 'bad' : '1')));
    const all = 'c1=1 c2=1 c3=bad c4=1';
    expect(proxies.map((one) => one.answer())).toEqual([[all], [all], [all]]);
    const [a, b, c] = proxies as [Proxy, Proxy, Proxy];
    const alone: string[] = [];
    for (let step = 0; step < names.length; step += 1) alone.push(...a.answer());
    expect(alone.sort()).toEqual(['c1=1', 'c2=1', 'c3=bad', 'c4=1']);
    // The first was proven before the next was tried; a refusal beside a cluster that warms would never be told.
    for (const one of [b, c]) expect([one.answer(), one.answer()]).toEqual([['c1=1'], ['c2=1 c4=1']]);
    expect(rig.events('rejected')).toMatchObject([{ name: 'c3', nodeId: 'a' }]);
    // What was good in it is in doubt no more.
    rig.commit([resource(cluster, 'c1', '2')]);
    expect([b.answer(), c.answer()]).toEqual([['c1=2'], ['c1=2']]);
  });

  it('for a fault of the host is the matter of that client', () => {
    const rig = new Rig();
    const open = (id: string) => rig.join({ typeUrl: listener }, { id, cluster: 'edge' });
    const [a, b] = [open('a'), open('b')];
    rig.commit([resource(listener, 'l1'), resource(listener, 'l2')]);
    const words = "l1: cannot bind '0.0.0.0:80': Address already in use";
    a.nack(a.take()[0], words);
    // Nobody waits for what this one makes of it.
    rig.commit([resource(listener, 'l2', '2')]);
    expect(b.settle()).toEqual(['listener: l1=1 l2=1', 'listener: l2=2']);
    expect(rig.hub.fleet.delivery(listener, 'l1').map(({ state }) => state)).toEqual(['pending', 'acked']);
  });

  it('a fault of the host of the one that tries says nothing: another one tries', () => {
    const rig = new Rig();
    const open = (id: string) => rig.join({ typeUrl: listener }, { id, cluster: 'edge' });
    const [a, b] = [open('a'), open('b')];
    rig.commit([resource(listener, 'l1', 'bad')]);
    for (const one of [a, b]) one.nack(one.take()[0], 'it is bad');
    rig.commit([resource(listener, 'l1', '2')]);
    expect(b.texts()).toEqual([]);
    a.nack(a.take()[0], "cannot bind '0.0.0.0:80'");
    expect(b.settle()).toEqual(['listener: l1=2']);
  });
});

describe('a cluster in doubt', () => {
  it('is waited for by the routes of those who do not have it yet', () => {
    const rig = new Rig();
    const open = (id: string) => {
      const client = rig.join({ typeUrl: cluster }, { id, cluster: 'edge' });
      client.send({ typeUrl: endpoint, subscribe: ['c1'] });
      client.send({ typeUrl: route, subscribe: ['r1'] });
      return client;
    };
    const [a, b] = [open('a'), open('b')];
    rig.commit([resource(cluster, 'c1', 'bad'), resource(route, 'r1', '1')]);
    for (const one of [a, b]) {
      for (const response of one.take()) {
        if (text(response).includes('bad')) one.nack(response);
        else one.ack(response);
      }
    }
    // What they may have kept of the bad one is taken back.
    for (const one of [a, b]) one.settle();
    rig.commit([resource(cluster, 'c1', '2'), resource(route, 'r1', '2', needs(cluster, 'c1'))]);
    expect(b.settle()).toEqual([]);
    expect(a.settle()).toEqual(['cluster: c1=2', 'route: r1=2']);
    expect(b.settle()).toEqual(['cluster: c1=2', 'route: r1=2']);
  });
});
