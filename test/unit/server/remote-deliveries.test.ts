import { describe, expect, test } from 'vitest';
import { createJoin, createRemoteDeliveries } from '../../../src/server/remote-deliveries.ts';
import { createRemoteProxies } from '../../../src/server/remote-proxies.ts';
import type { Delivery, DeliveryRecord, NodeRecord, ProxyRejection } from '../../../src/status/index.ts';
import type { Entry } from '../../../src/xds/index.ts';
import { resource } from '../../support/xds-rig.ts';

const cluster = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';

function node(name: string, controller: string, rest: Partial<NodeRecord> = {}): [string, NodeRecord] {
  return [name, { nodeId: name, fleet: 'edge', version: '1', connected: true, since: '', controller, ...rest }];
}

function told(revision: number, behind: readonly [string, number][] = [], rest: Partial<DeliveryRecord> = {}) {
  const acked = Math.min(revision, ...behind.map(([, at]) => at));
  const record: DeliveryRecord = {
    revision,
    fleets: { edge: { proxies: 9, acked, behind, more: 0 } },
    rejected: [],
    ...rest,
  };
  return record;
}

interface World {
  readonly nodes: readonly [string, NodeRecord][];
  readonly deliveries: Readonly<Record<string, DeliveryRecord>>;
  /** Of all revisions from the key on: what is needed. */
  readonly needed?: (revision: number) => number;
  readonly here?: readonly string[];
}

function remoteOf({ nodes, deliveries, needed = (revision) => revision, here = [] }: World) {
  const records = { nodes: new Map(nodes), deliveries: new Map(Object.entries(deliveries)) };
  const isHere = (name: string) => here.includes(name);
  const controllers = { others: Object.keys(deliveries), edition: 1 };
  const proxies = createRemoteProxies({
    self: 'a',
    records,
    controllers,
    isHere,
    release: () => undefined,
    now: () => 0,
  });
  proxies.adopted([]);
  return createRemoteDeliveries({
    records,
    proxies,
    audiencesOf: ({ cluster: fleet }) => new Set([`fleet/${fleet}`]),
    isHere,
    neededAt: needed,
    revision: () => 50,
  });
}

const entry = (revision: number, audience = 'fleet/edge'): Entry =>
  ({ resource: resource(cluster, 'web', '1', { audience }), revision }) as Entry;

const states = (deliveries: readonly Delivery[]) =>
  Object.fromEntries(
    deliveries.map(({ node: name, state, counts }) => [name, counts ? state : `${state}, not counted`]),
  );

describe('a proxy of another controller', () => {
  const nodes = [node('n1', 'b'), node('n2', 'b')];

  test.each<[string, number, readonly [string, number][], Record<string, string>]>([
    ['has what its controller had when all were in step', 40, [], { n1: 'acked', n2: 'acked' }],
    ['waits for what its controller has not seen', 39, [], { n1: 'pending', n2: 'pending' }],
    ['that lags waits', 45, [['n2', 39]], { n1: 'acked', n2: 'pending' }],
    ['that lags behind something later has it', 60, [['n2', 40]], { n1: 'acked', n2: 'acked' }],
  ])('%s', (_, revision, behind, want) => {
    expect(states(remoteOf({ nodes, deliveries: { b: told(revision, behind) } }).of(entry(40)))).toEqual(want);
  });

  test('needs only what changed what is served', () => {
    const remote = remoteOf({ nodes, deliveries: { b: told(39) }, needed: (revision) => Math.min(revision, 38) });
    expect(states(remote.of(entry(40)))).toEqual({ n1: 'acked', n2: 'acked' });
  });

  test('that is not named among very many that lag has what all have', () => {
    const record = told(60, [['n1', 45]], {
      fleets: { edge: { proxies: 500, acked: 30, behind: [['n1', 45]], more: 9 } },
    });
    expect(states(remoteOf({ nodes, deliveries: { b: record } }).of(entry(40)))).toEqual({
      n1: 'acked',
      n2: 'pending',
    });
  });

  test('of whose fleet nothing was told yet does not count', () => {
    const remote = remoteOf({ nodes, deliveries: { b: told(60, [], { fleets: {} }) } });
    expect(states(remote.of(entry(40)))).toEqual({ n1: 'pending, not counted', n2: 'pending, not counted' });
  });

  test.each<[string, Partial<World>]>([
    ['that is disconnected', { nodes: [node('n1', 'b', { connected: false })] }],
    ['of a controller that is not there', { nodes: [node('n1', 'c')] }],
    ['that is connected here', { nodes: [node('n1', 'b')], here: ['n1'] }],
    ['of another audience', { nodes: [node('n1', 'b', { fleet: 'core' })] }],
  ])('%s is none', (_, world) => {
    expect(remoteOf({ nodes, deliveries: { b: told(60) }, ...world }).of(entry(40))).toEqual([]);
  });

  test('that refuses says so, of that resource alone', () => {
    const rejected: ProxyRejection[] = [{ node: 'n1', type: cluster, name: 'web', words: 'no', scope: 'host' }];
    const remote = remoteOf({ nodes, deliveries: { b: told(60, [['n1', 39]], { rejected }) } });
    expect(remote.of(entry(40))).toMatchObject([{ node: 'n1', state: 'rejected', words: 'no' }, { node: 'n2' }]);
    const other = { resource: resource(cluster, 'api', '1', { audience: 'fleet/edge' }), revision: 40 } as Entry;
    expect(states(remote.of(other))).toEqual({ n1: 'pending', n2: 'acked' });
    expect(states(remote.ofFleet('edge'))).toEqual({ n1: 'rejected', n2: 'acked' });
    expect(remote.ofNode('n2')).toMatchObject({ state: 'acked' });
    expect(remote.ofNode('n9')).toBeUndefined();
  });
});

test('the same list is given as long as it says the same, so that a thousand resources are counted once', () => {
  const remote = remoteOf({ nodes: [node('n1', 'b')], deliveries: { b: told(40) } });
  expect(remote.of(entry(40))).toBe(remote.of(entry(12)));
  expect(remote.of(entry(41))).not.toBe(remote.of(entry(40)));
  const join = createJoin();
  const here: readonly Delivery[] = [{ node: 'h', state: 'acked', counts: true }];
  expect(join(here, remote.of(entry(40)))).toBe(join(here, remote.of(entry(12))));
  expect(join(here, remote.of(entry(40))).map(({ node: name }) => name)).toEqual(['h', 'n1']);
});
