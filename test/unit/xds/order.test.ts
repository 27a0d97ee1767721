import { describe, expect, it } from 'vitest';
import type { Resource } from '../../../src/xds/index.ts';
import {
  type Client,
  cluster,
  endpoint,
  extension,
  listener,
  needs,
  Rig,
  resource,
  route,
  secret,
  text,
} from '../../support/xds-rig.ts';

/** A stream of an Envoy that has taken in all of the resources. */
function filled(resources: readonly Resource[], options: ConstructorParameters<typeof Rig>[0] = {}) {
  const rig = new Rig(options);
  rig.commit(resources);
  const client = rig.join({ typeUrl: cluster });
  client.settle();
  for (const type of [endpoint, secret, extension, route]) {
    const subscribe = resources.filter((one) => one.type === type).map(({ name }) => name);
    if (subscribe.length > 0) client.send({ typeUrl: type, subscribe });
    client.settle();
  }
  client.send({ typeUrl: listener });
  client.settle();
  return { rig, client };
}

/** Pool c: its cluster and its endpoints. */
function pool(name: string, content = '1', rest: Partial<Resource> = {}): Resource[] {
  return [resource(cluster, name, content, { ...needs(endpoint, name), ...rest }), resource(endpoint, name, content)];
}

const web = [
  ...pool('c1'),
  resource(route, 'r1', 'c1', needs(cluster, 'c1')),
  resource(listener, 'l1', '1', needs(route, 'r1')),
];

/** Takes what comes and acknowledges only the given types. */
function takeAcking(client: Client, ...types: string[]): string[] {
  const texts: string[] = [];
  for (;;) {
    const responses = client.take();
    if (responses.length === 0) return texts;
    for (const response of responses) {
      texts.push(text(response));
      if (types.includes(response.typeUrl)) client.ack(response);
    }
  }
}

describe('order of a change', () => {
  it('goes clusters, endpoints, secrets, extensions, listeners, routes', () => {
    const resources = [
      resource(route, 'r1'),
      resource(listener, 'l1'),
      resource(extension, 'e1'),
      resource(secret, 's1'),
      ...pool('c1'),
    ];
    const { rig, client } = filled(resources);
    rig.commit(resources.map(({ type, name }) => resource(type, name, '2')));
    expect(client.settle()).toEqual([
      'cluster: c1=2',
      'endpoint: c1=2',
      'secret: s1=2',
      'extension: e1=2',
      'listener: l1=2',
      'route: r1=2',
    ]);
  });

  it('sends at once what waits for nothing', () => {
    const { rig, client } = filled(web);
    rig.commit([resource(route, 'r1', 'other', needs(cluster, 'c1'))]);
    expect(client.texts()).toEqual(['route: r1=other']);
  });

  it('routes wait until the endpoints of a new cluster are acknowledged, but not for the answer of the cluster', () => {
    const { rig, client } = filled(web);
    rig.commit([...pool('c2'), resource(route, 'r1', 'c2', needs(cluster, 'c2'))]);
    const [clusters, ...none] = client.take();
    expect([clusters && text(clusters), none]).toEqual(['c2=1', []]);
    client.send({ typeUrl: endpoint, subscribe: ['c2'] });
    const [endpoints] = client.take();
    expect(endpoints && text(endpoints)).toBe('c2=1');
    client.ack(endpoints);
    expect(client.texts()).toEqual(['route: r1=c2']);
  });

  it('routes wait for the answer of a cluster that warms up, with a deadline', () => {
    const { rig, client } = filled(web, { needMs: 5_000 });
    rig.commit([...pool('c2', '1', { warmupMs: 3_000 }), resource(route, 'r1', 'c2', needs(cluster, 'c2'))]);
    const [clusters] = client.take();
    client.send({ typeUrl: endpoint, subscribe: ['c2'] });
    expect(takeAcking(client, endpoint)).toEqual(['c2=1']);
    rig.pass(7_900);
    expect(client.texts()).toEqual([]);
    rig.pass(200);
    expect(client.texts()).toEqual(['route: r1=c2']);
    expect(rig.events('stalled')).toMatchObject([
      { nodeId: 'n1', reason: 'needs', type: route, names: ['r1'], missing: { type: cluster, name: 'c2' } },
    ]);
    expect(rig.hub.fleet.streams()).toMatchObject([{ stall: { reason: 'needs', names: ['r1'] } }]);
    client.ack(clusters);
    client.settle();
  });

  it('does not wait for the answer of a warming cluster that the client had before', () => {
    const { rig, client } = filled([...pool('c1', '1', { warmupMs: 3_000 }), ...web.slice(2)]);
    rig.commit([...pool('c1', '2', { warmupMs: 3_000 }), resource(route, 'r1', 'again', needs(cluster, 'c1'))]);
    expect(takeAcking(client, endpoint, route)).toEqual(['c1=2', 'c1=2', 'r1=again']);
  });

  it('a newer form of what waits does not begin the wait anew', () => {
    const { rig, client } = filled(web, { needMs: 5_000 });
    rig.commit([resource(cluster, 'c2', '1', needs(endpoint, 'c2')), resource(route, 'r1', '0', needs(cluster, 'c2'))]);
    client.take();
    for (let second = 1; second <= 4; second++) {
      rig.pass(1_000);
      rig.commit([resource(route, 'r1', `${second}`, needs(cluster, 'c2'))]);
    }
    rig.pass(1_100);
    expect(takeAcking(client, route)).toEqual(['r1=4']);
  });

  it.each([
    ['is not in the table', [] as Resource[]],
    ['is not for this client', pool('c2', '1', { audience: 'others' })],
  ])('routes do not wait for a cluster that %s', (_name, more) => {
    const { rig, client } = filled(web);
    rig.commit([...more, resource(route, 'r1', 'c2', needs(cluster, 'c2'))]);
    expect(client.texts()).toEqual(['route: r1=c2']);
  });

  it('a client that asks for routes only gets them', () => {
    const rig = new Rig();
    rig.commit(web);
    expect(rig.join({ typeUrl: route, subscribe: ['r1'] }).settle()).toEqual(['route: r1=c1']);
  });

  it('a listener waits for its secrets to be in the table, and not to be asked for', () => {
    const { rig, client } = filled(web, { needMs: 5_000 });
    rig.commit([resource(listener, 'l2', '1', needs(secret, 's1'))]);
    expect(client.texts()).toEqual([]);
    rig.pass(1_000);
    rig.commit([resource(secret, 's1')]);
    expect(client.texts()).toEqual(['listener: l2=1']);
  });

  it('a TCP listener waits for its cluster', () => {
    const { rig, client } = filled(web);
    rig.commit([...pool('c2'), resource(listener, 'l2', 'tcp', needs(cluster, 'c2'))]);
    expect(takeAcking(client)).toEqual(['c2=1']);
    client.send({ typeUrl: endpoint, subscribe: ['c2'] });
    expect(takeAcking(client, endpoint, listener)).toEqual(['c2=1', 'l2=tcp']);
  });

  it('after a reconnect, routes to new clusters wait for a client that has not asked for clusters yet', () => {
    const rig = new Rig({ needMs: 5_000 });
    rig.commit([...pool('c2'), resource(route, 'r1', 'c2', needs(cluster, 'c2'))]);
    const client = rig.join({ typeUrl: route, subscribe: ['r1'], initialVersions: new Map([['r1', 'old']]) });
    expect(client.texts()).toEqual([]);
    rig.pass(5_100);
    expect(client.texts()).toEqual(['route: r1=c2']);
  });
});

describe('endpoints follow their cluster', () => {
  it('rule 35: after a changed cluster, of that cluster only', () => {
    const { rig, client } = filled([...pool('c1'), ...pool('c2')]);
    rig.commit([resource(cluster, 'c1', '2', needs(endpoint, 'c1'))]);
    // Without an answer for the cluster: Envoy gives none while it warms.
    expect(takeAcking(client, endpoint)).toEqual(['c1=2', 'c1=1']);
  });

  it('rule 35: also when the cluster names no assignment', () => {
    const { rig, client } = filled([resource(cluster, 'c1'), resource(endpoint, 'c1')]);
    rig.commit([resource(cluster, 'c1', '2')]);
    expect(takeAcking(client, endpoint)).toEqual(['c1=2', 'c1=1']);
  });

  it('rule 36: never before it, in one message when both changed', () => {
    const { rig, client } = filled(pool('c1'));
    rig.commit(pool('c1', '2').reverse());
    expect(client.settle()).toEqual(['cluster: c1=2', 'endpoint: c1=2']);
  });

  it('rule 36: those of a new cluster wait to be asked for', () => {
    const { rig, client } = filled(pool('c1'));
    rig.commit(pool('c2').reverse());
    expect(client.settle()).toEqual(['cluster: c2=1']);
    client.send({ typeUrl: endpoint, subscribe: ['c2'] });
    expect(client.settle()).toEqual(['endpoint: c2=1']);
  });

  it('a response in flight does not stand for the one that must follow', () => {
    const { rig, client } = filled(pool('c1'));
    rig.commit([resource(endpoint, 'c1', '2')]);
    const [early] = client.take();
    rig.commit([resource(cluster, 'c1', '2', needs(endpoint, 'c1'))]);
    expect(takeAcking(client)).toEqual(['c1=2']);
    client.ack(early);
    expect(takeAcking(client, endpoint)).toEqual(['c1=2']);
  });

  it('stuck warming: clusters without an answer are pushed again with their endpoints, and it is said', () => {
    const { rig, client } = filled(pool('c1'), { answerMs: 15_000 });
    rig.commit([resource(cluster, 'c1', '2', needs(endpoint, 'c1'))]);
    expect(takeAcking(client, endpoint)).toEqual(['c1=2', 'c1=1']);
    rig.pass(15_100);
    expect(rig.events('stalled')).toMatchObject([{ reason: 'answer', type: cluster, names: ['c1'] }]);
    const again = client.take();
    expect(again.map(text)).toEqual(['c1=2', 'c1=1']);
    for (const response of again) client.ack(response);
    expect(takeAcking(client)).toEqual([]);
    expect(rig.hub.fleet.streams()).toMatchObject([{ stall: undefined }]);
  });

  it('stuck warming: what is not in use is taken back, tried alone, and laid at the one that is to blame', () => {
    const { rig, client } = filled(pool('c1'), { answerMs: 15_000 });
    rig.commit([
      resource(cluster, 'c1', '2', needs(endpoint, 'c1')),
      resource(cluster, 'c2', '1', needs(endpoint, 'c2')),
      resource(cluster, 'ghost', 'bad', needs(endpoint, 'ghost')),
    ]);
    // Its endpoints are asked for, so it is ready; the ghost's never are.
    client.send({ typeUrl: endpoint, subscribe: ['c2'] });
    takeAcking(client, endpoint);
    rig.pass(15_100);
    const [again, ...followers] = client.take();
    for (const response of followers) client.ack(response);
    rig.pass(15_100);
    const [back, ...endpoints] = client.take();
    expect(back && text(back)).toBe('c1=1 -ghost');
    // Envoy takes the refused one when it comes again unchanged, so that says nothing of it.
    for (const response of [again, back, ...endpoints]) client.ack(response);
    const tried: string[] = [];
    for (;;) {
      const responses = client.take();
      if (responses.length === 0) break;
      for (const response of responses) {
        if (response.typeUrl === cluster) tried.push(text(response));
        if (text(response) === 'ghost=bad') client.nack(response);
        else client.ack(response);
      }
    }
    expect(tried).toEqual(['c1=2', 'ghost=bad', '-ghost']);
    expect(rig.events('rejected')).toMatchObject([{ name: 'ghost', scope: 'convicted' }]);
    expect(rig.hub.fleet.streams()).toMatchObject([{ stall: undefined }]);
  });

  it('stuck warming: not before a cluster has had the time of its own', () => {
    const { rig, client } = filled(pool('c1'), { answerMs: 15_000 });
    rig.commit(pool('c2', '1', { warmupMs: 30_000 }));
    takeAcking(client, endpoint);
    rig.pass(44_000);
    expect(rig.events('stalled')).toEqual([]);
    rig.pass(1_100);
    expect(rig.events('stalled')).toMatchObject([{ reason: 'answer', names: ['c2'] }]);
  });

  it('stuck warming: not for ever', () => {
    const { rig, client } = filled(pool('c1'));
    rig.commit([resource(cluster, 'c1', '2', needs(endpoint, 'c1'))]);
    let pushes = 0;
    for (let minute = 0; minute < 20; minute++) {
      pushes += takeAcking(client, endpoint).filter((one) => one === 'c1=2').length;
      rig.pass(60_000);
    }
    expect(pushes).toBe(2);
    rig.commit([resource(cluster, 'c1', '3', needs(endpoint, 'c1'))]);
    expect(takeAcking(client, endpoint)).toContain('c1=3');
  });
});

describe('removals', () => {
  it('of many names look through what the client uses once, and not once for each', () => {
    const names = Array.from({ length: 300 }, (_, at) => `c${at}`);
    let looks = 0;
    const routes = names.map((name) => {
      const needed = needs(cluster, name).needs;
      return Object.defineProperty(resource(route, `r-${name}`), 'needs', {
        enumerable: true,
        get: () => {
          looks += 1;
          return needed;
        },
      });
    });
    const rig = new Rig();
    rig.commit([...names.map((name) => resource(cluster, name)), ...routes]);
    const client = rig.join({ typeUrl: cluster });
    client.send({ typeUrl: route, subscribe: names.map((name) => `r-${name}`) });
    client.settle();
    looks = 0;
    rig.remove(...names.map((name): [string, string] => [cluster, name]));
    expect(client.settle()).toEqual([]);
    expect(looks).toBeLessThan(10 * names.length);
    rig.remove(...names.map((name): [string, string] => [route, `r-${name}`]));
    expect(client.settle().join(' ')).toContain('-c299');
  });

  it('rule 39: a cluster stays until the routes without it are acknowledged', () => {
    const { rig, client } = filled([...web, ...pool('c2')]);
    rig.commit([resource(route, 'r1', 'c2', needs(cluster, 'c2'))], {
      removals: [
        { type: cluster, name: 'c1' },
        { type: endpoint, name: 'c1' },
      ],
    });
    const [routes, ...none] = client.take();
    expect([routes && text(routes), none]).toEqual(['r1=c2', []]);
    rig.pass(60_000);
    expect(client.texts()).toEqual([]);
    client.ack(routes);
    const [clusters, ...rest] = client.take();
    expect([clusters && text(clusters), rest]).toEqual(['-c1', []]);
    client.ack(clusters);
    // Envoy gives up the endpoints itself; to one that does not, their removal is told last.
    expect(client.texts()).toEqual(['endpoint: -c1']);
  });

  it('rule 39: a cluster stays while a refused route keeps the client on it', () => {
    const { rig, client } = filled([...web, ...pool('c2')]);
    rig.commit([resource(route, 'r1', 'bad', needs(cluster, 'c2'))], { removals: [{ type: cluster, name: 'c1' }] });
    client.nack(client.take()[0]);
    rig.pass(60_000);
    expect(client.texts()).toEqual([]);
    rig.commit([resource(route, 'r1', 'good', needs(cluster, 'c2'))]);
    expect(client.settle()).toEqual(['route: r1=good', 'cluster: -c1']);
  });

  it('what only the table needs does not keep a removal', () => {
    const { rig, client } = filled(pool('c1'));
    rig.commit([resource(route, 'r1', '1', needs(cluster, 'c1'))], { removals: [{ type: cluster, name: 'c1' }] });
    expect(client.settle()[0]).toBe('cluster: -c1');
  });

  it('a cluster that comes back while its removal waits is not sent', () => {
    const { rig, client } = filled(web);
    rig.commit([resource(route, 'r1', 'none')], { removals: [{ type: cluster, name: 'c1' }] });
    const [routes] = client.take();
    rig.commit(pool('c1'));
    client.ack(routes);
    expect(client.texts()).toEqual([]);
  });

  it('what a removed listener used stays until its connections are drained', () => {
    const { rig, client } = filled(web, { drainMs: 30_000 });
    rig.commit([], {
      removals: [
        [listener, 'l1'],
        [route, 'r1'],
        [cluster, 'c1'],
        [endpoint, 'c1'],
      ].map(([type = '', name = '']) => ({ type, name })),
    });
    expect(client.settle()).toEqual(['listener: -l1']);
    // Envoy gives up the routes of a listener when that is gone.
    client.send({ typeUrl: route, unsubscribe: ['r1'] });
    rig.pass(29_000);
    expect(client.texts()).toEqual([]);
    // Meanwhile the proxy is in step: it has all that it should have.
    expect(rig.hub.fleet.streams()).toMatchObject([{ stall: undefined, ackedRevision: 2 }]);
    expect(rig.hub.fleet.streams()[0]?.types.map(({ pending }) => pending)).toEqual([0, 0, 0, 0]);
    rig.pass(1_100);
    expect(client.settle()).toEqual(['cluster: -c1', 'endpoint: -c1']);
  });

  it('and so does what a changed listener no longer uses', () => {
    const tcp = [...pool('c1'), ...pool('c2'), resource(listener, 'l1', 'c1', needs(cluster, 'c1'))];
    const { rig, client } = filled(tcp, { drainMs: 30_000 });
    rig.commit([resource(listener, 'l1', 'c2', needs(cluster, 'c2'))], { removals: [{ type: cluster, name: 'c1' }] });
    expect(client.settle()).toEqual(['listener: l1=c2']);
    rig.pass(30_100);
    expect(client.settle()).toEqual(['cluster: -c1']);
  });

  it('a removal that nothing needs is sent at once, with the rest', () => {
    const { rig, client } = filled([...pool('c1'), ...pool('c2')]);
    rig.commit(pool('c3'), { removals: [{ type: cluster, name: 'c1' }] });
    expect(client.texts()).toEqual(['cluster: c3=1 -c1']);
  });

  it('after a reconnect with unknown forms, a removal waits for their replacement, with a deadline', () => {
    const rig = new Rig({ needMs: 5_000 });
    rig.commit(web);
    const client = rig.join({
      typeUrl: cluster,
      initialVersions: new Map([
        ['gone', 'old'],
        ['c1', 'old'],
      ]),
    });
    client.send({ typeUrl: route, subscribe: ['r1'], initialVersions: new Map([['r1', 'old']]) });
    expect(takeAcking(client)).toEqual(['c1=1']);
    rig.pass(5_100);
    expect(takeAcking(client)).toEqual(['-gone', 'r1=c1']);
  });
});

describe('responses', () => {
  it('routes, secrets and extensions go one to a response, the others in batches', () => {
    const names = ['a', 'b', 'c'];
    const types = [cluster, endpoint, secret, extension, listener, route];
    const rig = new Rig();
    rig.commit(types.flatMap((type) => names.map((name) => resource(type, name))));
    for (const type of types) {
      const client = rig.join({ typeUrl: type, subscribe: names }, { id: type, cluster: 'edge' });
      const single = type === secret || type === extension || type === route;
      expect(client.settle().length).toBe(single ? 3 : 1);
    }
  });

  it('are split at the limit, and what is larger goes alone', () => {
    const rig = new Rig({ maxFrameBytes: 1_000 });
    const sizes = [300, 300, 300, 300, 2_000, 300];
    rig.commit(sizes.map((size, at) => resource(cluster, `c${at}`, 'x'.repeat(size))));
    const client = rig.join({ typeUrl: cluster });
    const counts = client.take().map(({ resources }) => resources.length);
    expect(counts).toEqual([2, 2, 1, 1]);
  });

  it('rule 28: no name twice, nor in both lists', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1'), resource(cluster, 'c2')]);
    const client = rig.join({ typeUrl: cluster, subscribe: ['*', 'c1', 'c1', 'c3', 'c3'] });
    const [response] = client.take();
    expect(response?.resources.map(({ name }) => name).sort()).toEqual(['c1', 'c2']);
    expect(response?.removed).toEqual(['c3']);
  });

  it('a request of 100,000 names that do not exist is answered in bounded pieces', () => {
    const rig = new Rig({ maxFrameBytes: 100_000 });
    rig.commit([]);
    const subscribe = Array.from({ length: 100_000 }, (_, at) => `name-${at}`);
    const client = rig.join({ typeUrl: endpoint, subscribe });
    let removed = 0;
    for (;;) {
      const responses = client.take();
      if (responses.length === 0) break;
      for (const response of responses) {
        removed += response.removed.length;
        expect(response.removed.length).toBeLessThanOrEqual(10_000);
        client.ack(response);
      }
    }
    expect(removed).toBe(100_000);
  });
});
