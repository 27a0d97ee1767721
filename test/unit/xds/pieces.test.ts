/** No request, change or refusal holds the event loop for long, however many names or streams it concerns. */
import { describe, expect, it } from 'vitest';
import { encodeNode } from '../../../src/xds/index.ts';
import { Requests } from '../../../src/xds/requests.ts';
import { encodeDeltaRequest } from '../../../src/xds/wire.ts';
import {
  type Client,
  cluster,
  endpoint,
  Rig,
  resource,
  route,
  type SotwClient,
  sotwText,
} from '../../support/xds-rig.ts';

const named = (count: number, prefix = 'e'): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

/** Kinds of the pieces of work until a frame is made, or until there is nothing more to do. */
function piecesBefore(rig: Rig, limit = 10_000): { more: number; frame: boolean } {
  for (let more = 0; more < limit; more += 1) {
    const work = rig.hub.next(rig.now);
    if (work?.kind !== 'more') return { more, frame: work?.kind === 'frame' };
  }
  throw new Error('there is always more');
}

describe('a request of very many names', () => {
  it('is taken in pieces, between which others get their frames', () => {
    const rig = new Rig();
    const names = named(20_000);
    rig.commit([...names.map((name) => resource(endpoint, name)), resource(route, 'r')]);
    const other = rig.join({ typeUrl: route, subscribe: ['r'] }, { id: 'n2', cluster: 'edge' });
    other.settle();
    const client = rig.join({ typeUrl: endpoint, subscribe: names });
    rig.commit([resource(route, 'r', '2')]);
    const seen: string[] = [];
    for (let work = rig.hub.next(rig.now); work !== undefined; work = rig.hub.next(rig.now)) {
      const kind = work.kind !== 'frame' ? work.kind : work.stream === other.stream ? 'small' : 'large';
      if (seen.at(-1) !== kind) seen.push(kind);
    }
    // Long before the large request is taken to its end.
    expect(seen.join(' ')).toMatch(/^(more )?small more large/);
    expect(client.error).toBeUndefined();
  });

  it('makes later requests of the stream wait for their turn', () => {
    const rig = new Rig();
    const names = named(5_000);
    rig.commit(names.map((name) => resource(endpoint, name)));
    const client = rig.join({ typeUrl: endpoint, subscribe: names });
    client.send({ typeUrl: endpoint, unsubscribe: names.slice(1) });
    client.send({ typeUrl: endpoint, subscribe: ['e7'] });
    expect(client.settle()).toEqual(['endpoint: e0=1 e7=1']);
    rig.commit(names.slice(0, 10).map((name) => resource(endpoint, name, '2')));
    expect(client.settle()).toEqual(['endpoint: e0=2 e7=2']);
  });

  it('is read before its bytes are needed for something else', () => {
    const rig = new Rig();
    const names = named(20_000);
    rig.commit([resource(endpoint, names.at(-1) ?? '')]);
    const stream = rig.hub.open('test', rig.now);
    const bytes = encodeDeltaRequest({
      typeUrl: endpoint,
      subscribe: names,
      node: encodeNode({ id: 'n1', cluster: 'edge' }),
    });
    expect(stream.receive(bytes, rig.now)).toBeUndefined();
    bytes.fill(0);
    piecesBefore(rig);
    expect(rig.hub.fleet.streams()).toMatchObject([{ types: [{ subscribed: 20_000 }] }]);
  });

  it('ends the stream when it turns out to be malformed', () => {
    const rig = new Rig();
    const client = rig.join({ typeUrl: route, subscribe: ['r'] });
    const bytes = encodeDeltaRequest({ typeUrl: endpoint, subscribe: named(20_000) });
    expect(client.stream.receive(bytes.subarray(0, bytes.byteLength - 1), rig.now)).toBeUndefined();
    client.take();
    expect(client.error?.reason).toBe('malformed');
  });

  it('is given up with its stream', () => {
    const rig = new Rig();
    rig.commit([resource(endpoint, 'e1')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: named(20_000) });
    client.stream.close(rig.now);
    expect(piecesBefore(rig).more).toBeLessThan(3);
  });

  it('does not let a client pile up requests behind it', () => {
    const requests = new Requests(function* () {
      for (;;) yield;
    });
    const large = new Uint8Array(40 * 1024 * 1024);
    expect([1, 2, 3].map(() => requests.receive(large, 0)?.reason)).toEqual([undefined, undefined, 'overloaded']);
  });
});

describe('a change at many streams', () => {
  const streams = 20;

  function withStreams(typeUrl = cluster): { rig: Rig; clients: Client[] } {
    const rig = new Rig();
    rig.commit([
      resource(typeUrl, 'first'),
      ...named(5_000, 'x').map((name) => resource(typeUrl, name, '1', { audience: 'x' })),
    ]);
    const clients = named(streams, 'n').map((id) => rig.join({ typeUrl }, { id, cluster: 'edge' }));
    for (const client of clients) client.settle();
    return { rig, clients };
  }

  it('of audiences is marked in pieces, and all of it before anything is sent', () => {
    const { rig, clients } = withStreams();
    rig.commit([], { audiences: [{ subject: 'cluster/edge', audiences: ['all', 'x'] }] });
    const { more, frame } = piecesBefore(rig);
    expect(frame).toBe(true);
    // Each stream has 5,000 names to be marked.
    expect(more).toBeGreaterThanOrEqual(4 * streams);
    expect(rig.hub.marked).toBe(true);
    for (const client of clients.slice(1)) expect(client.settle().join(' ').split(' ').length).toBeGreaterThan(5_000);
  });

  it('is not marked while some of it is to be marked', () => {
    const { rig } = withStreams();
    rig.commit([], { audiences: [{ subject: 'cluster/edge', audiences: ['all', 'x'] }] });
    rig.hub.next(rig.now);
    rig.hub.next(rig.now);
    expect(rig.hub.marked).toBe(false);
  });

  it('by a refusal of many names is marked in pieces', () => {
    const { rig, clients } = withStreams();
    rig.commit(named(100, 'new').map((name) => resource(cluster, name, 'bad')));
    const responses = clients.map((client) => client.take()[0]);
    clients[0]?.nack(responses[0]);
    // A hundred names, each at all streams.
    expect(piecesBefore(rig).more).toBeGreaterThan(90);
  });

  it('by time is looked at for some streams in a turn, and for all in the end', () => {
    const { rig, clients } = withStreams();
    rig.commit([resource(cluster, 'late')]);
    for (const client of clients) client.take();
    rig.events('stalled');
    rig.now += 60_000;
    rig.hub.tick(rig.now);
    const first = rig.events('stalled').length;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(streams);
    expect(rig.hub.nextDeadline()).toBeLessThanOrEqual(rig.now);
    for (let turn = 0; turn < 3; turn += 1) rig.hub.tick(rig.now);
    expect(first + rig.events('stalled').length).toBe(streams);
  });
});

describe('a full set of very many resources', () => {
  const names = named(10_000, 'c');
  const set = (rig: Rig, ...clients: SotwClient[]): readonly Uint8Array[][] => {
    const frames = new Map<unknown, Uint8Array[]>();
    for (let work = rig.hub.next(rig.now); work !== undefined; work = rig.hub.next(rig.now)) {
      if (work.kind === 'frame') frames.set(work.stream, [...work.frame.chunks]);
    }
    return clients.map(({ stream }) => frames.get(stream) ?? []);
  };

  /** It is judged to its end: what is left is to put it together. */
  function untilBegun(rig: Rig, { stream }: SotwClient): void {
    while (rig.hub.fleet.stream(stream.id)?.types[0]?.sentRevision !== 1) {
      expect(rig.hub.next(rig.now)?.kind).toBe('more');
    }
  }

  it('is put together in pieces, between which others get their frames', () => {
    const rig = new Rig();
    rig.commit([...names.map((name) => resource(cluster, name)), resource(route, 'r')]);
    const other = rig.join({ typeUrl: route, subscribe: ['r'] }, { id: 'n2', cluster: 'edge' });
    other.settle();
    const client = rig.openSotw();
    client.want(cluster);
    expect(piecesBefore(rig).more).toBeGreaterThan(18);
    client.stream.close(rig.now);

    const again = rig.openSotw();
    again.want(cluster);
    untilBegun(rig, again);
    rig.commit([resource(route, 'r', '2')]);
    const seen: unknown[] = [];
    for (let work = rig.hub.next(rig.now); work !== undefined; work = rig.hub.next(rig.now)) {
      if (work.kind === 'frame') seen.push(work.stream);
    }
    expect(seen).toEqual([other.stream, again.stream]);
  });

  it('is what it was when it was begun, and what changed since comes after it', () => {
    const rig = new Rig();
    rig.commit(names.map((name) => resource(cluster, name)));
    const client = rig.openSotw();
    client.want(cluster);
    untilBegun(rig, client);
    rig.commit([resource(cluster, 'c9999', '2')], { removals: [{ type: cluster, name: 'c0' }] });
    const [first, second] = client.take();
    expect(first).toMatchObject({ version: '1' });
    expect(first?.resources).toHaveLength(names.length);
    expect(first && sotwText(first)).toContain(' c9999=1');
    client.ack(first);
    const last = second ?? client.take()[0];
    expect(last).toMatchObject({ version: '2' });
    expect(last?.resources).toHaveLength(names.length - 1);
    expect(last && sotwText(last)).toContain(' c9999=2');
  });

  it('is made of few pieces of memory, which all streams share, and of which a change makes one anew', () => {
    const rig = new Rig();
    rig.commit(names.map((name) => resource(cluster, name)));
    const clients = ['n1', 'n2'].map((id) => rig.openSotw({}, { id, cluster: 'edge' }));
    for (const client of clients) client.want(cluster);
    const [ours = [], others = []] = set(rig, ...clients);
    expect(ours.length).toBeLessThan(200);
    // All but the nonce.
    expect(others.filter((chunk) => !ours.includes(chunk))).toHaveLength(1);
    rig.commit([resource(cluster, 'c5000', '2')]);
    const [after = []] = set(rig, ...clients);
    // And the version.
    expect(after.filter((chunk) => !ours.includes(chunk))).toHaveLength(3);
  });

  it('that was refused is tried name by name, however many these are', () => {
    const rig = new Rig();
    const client = rig.openSotw();
    rig.commit([]);
    client.want(cluster);
    client.settle();
    rig.commit(names.map((name) => resource(cluster, name)));
    client.nack(client.take()[0]);
    const { more, frame } = piecesBefore(rig, 40_000);
    expect(frame).toBe(true);
    expect(more).toBeLessThan(40_000);
  });
});
