import { describe, expect, it } from 'vitest';
import { cluster, endpoint, listener, Rig, resource, route } from '../../support/xds-rig.ts';

describe('the slow compare', () => {
  it.each([route, endpoint, listener, cluster])('repairs a message of %s that was lost on its way', (type) => {
    const rig = new Rig({ answerMs: 15_000 });
    rig.commit([resource(type, 'a')]);
    const client = rig.join({ typeUrl: type, subscribe: ['a'] });
    client.settle();
    client.deaf = true;
    rig.commit([resource(type, 'a', '2')]);
    // Clusters are pushed again by themselves, three times.
    rig.pass(160_000);
    client.deaf = false;
    expect(client.texts()).toEqual([]);
    rig.hub.compareAll();
    expect(client.settle().map((one) => one.split(': ')[1])).toEqual(['a=2']);
    expect(rig.hub.fleet.delivery(type, 'a')).toMatchObject([{ state: 'acked' }]);
  });

  it('repairs a full set that was lost on its way', () => {
    const rig = new Rig({ answerMs: 15_000 });
    rig.commit([resource(listener, 'a'), resource(listener, 'b')]);
    const client = rig.openSotw();
    client.want(listener);
    client.settle();
    client.deaf = true;
    rig.commit([resource(listener, 'a', '2')]);
    rig.pass(16_000);
    client.deaf = false;
    expect(client.texts()).toEqual([]);
    rig.hub.compareAll();
    expect(client.settle()).toEqual(['listener: a=2 b=1']);
  });

  it('is of one stream, or of others that it was asked for meanwhile', () => {
    const rig = new Rig({ answerMs: 15_000 });
    rig.commit([resource(route, 'a')]);
    const clients = ['n1', 'n2', 'n3'].map((id) =>
      rig.join({ typeUrl: route, subscribe: ['a'] }, { id, cluster: 'edge' }),
    );
    for (const client of clients) {
      client.settle();
      client.deaf = true;
    }
    rig.commit([resource(route, 'a', '2')]);
    rig.pass(16_000);
    for (const client of clients) client.deaf = false;
    const [one, two] = rig.hub.fleet.streams();
    expect([one, two].map((stream) => rig.hub.compare(stream?.streamId ?? ''))).toEqual([true, true]);
    expect(rig.hub.compare('nobody')).toBe(false);
    expect(clients.map((client) => client.texts())).toEqual([['route: a=2'], ['route: a=2'], []]);
  });

  it('sends nothing to whom nothing was lost, and does not take a slow answer for a lost message', () => {
    const rig = new Rig({ answerMs: 15_000 });
    rig.commit([resource(cluster, 'a'), resource(route, 'r')]);
    const client = rig.join({ typeUrl: cluster });
    client.send({ typeUrl: route, subscribe: ['r'] });
    client.settle();
    rig.commit([resource(route, 'r', '2')]);
    const [slow] = client.take();
    rig.pass(10_000);
    rig.hub.compareAll();
    expect(client.texts()).toEqual([]);
    client.ack(slow);
    expect(client.texts()).toEqual([]);
  });

  it('goes in pieces, between which frames are made', () => {
    const rig = new Rig();
    const names = Array.from({ length: 20_000 }, (_, at) => `c${at}`);
    rig.commit(names.map((name) => resource(cluster, name)));
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    rig.hub.compareAll();
    const kinds: string[] = [];
    for (let at = 0; at < 4; at++) kinds.push(rig.hub.next(rig.now)?.kind ?? 'none');
    expect(kinds).toEqual(['more', 'more', 'more', 'more']);
    rig.commit([resource(cluster, 'new')]);
    expect(client.texts()).toEqual(['cluster: new=1']);
    expect(rig.hub.next(rig.now)).toBeUndefined();
  });

  it('goes on although there are always frames to be made', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'a')]);
    const clients = Array.from({ length: 200 }, (_, at) =>
      rig.join({ typeUrl: cluster }, { id: `n${at}`, cluster: 'edge' }),
    );
    for (const client of clients) client.settle();
    rig.commit([resource(cluster, 'b')]);
    rig.hub.compareAll();
    const kinds = Array.from({ length: 96 }, () => rig.hub.next(rig.now)?.kind);
    expect(kinds.filter((kind) => kind === 'more').length).toBe(6);
    expect(kinds.filter((kind) => kind === 'frame').length).toBe(90);
  });
});
