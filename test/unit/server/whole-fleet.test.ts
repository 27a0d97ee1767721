import { expect, it } from 'vitest';
import type { CommitInfo, ProxyInfo } from '../../../src/api/index.ts';
import type { OwnProxies } from '../../../src/server/own-proxies.ts';
import type { PeerQuestion } from '../../../src/server/peer-question.ts';
import type { Asked } from '../../../src/server/peers.ts';
import { createWholeFleet } from '../../../src/server/whole-fleet.ts';
import type { NodeRecord } from '../../../src/status/index.ts';

const proxy = (node: string, replica: string, minute: number): ProxyInfo => ({
  node,
  nodeId: node,
  fleet: 'edge',
  version: 'envoy 1.40.0',
  connectedSince: new Date(Date.UTC(2026, 5, 1, 12, minute)).toISOString(),
  replica,
  state: 'Synced',
  types: [],
});

const nobody: OwnProxies = {
  list: async () => [],
  config: async () => undefined,
  compare: () => 0,
  commit: () => undefined,
  clientStatus: async () => [],
};

const record = (nodeId: string, controller: string, connected: boolean): NodeRecord => ({
  ...{ nodeId, controller, connected, fleet: 'edge', version: 'envoy 1.40.0', since: '' },
});

function fleetOf(
  own: Partial<OwnProxies>,
  answers: readonly (readonly [string, unknown])[],
  unanswered: Asked<unknown>['unanswered'] = [],
) {
  const asked: PeerQuestion[] = [];
  const nodes = new Map([
    ['n1', record('n1', 'c', true)],
    ['n2', record('n2', 'c', false)],
    ['n3', record('n3', 'b', true)],
  ]);
  const fleet = createWholeFleet({
    own: { ...nobody, ...own },
    peers: {
      others: () => [],
      ask: async (question) => {
        asked.push(question);
        return { answers: answers.map(([controller, answer]) => ({ controller, answer })), unanswered } as never;
      },
    },
    records: { nodes },
  });
  return { fleet, asked };
}

it('has the proxies of all, each once and as its newest stream says', async () => {
  const { fleet } = fleetOf({ list: async () => [proxy('n1', 'a', 1), proxy('n2', 'a', 5)] }, [
    ['b', [proxy('n1', 'b', 2), proxy('n2', 'b', 3), proxy('n3', 'b', 0)]],
  ]);
  const { found, missing } = await fleet.list({});
  expect(found.map(({ node, replica }) => [node, replica])).toEqual([
    ['n1', 'b'],
    ['n2', 'a'],
    ['n3', 'b'],
  ]);
  expect(missing).toEqual([]);
});

it('says who did not answer, and how many proxies that one had', async () => {
  const silent = { controller: 'c', since: '2026-06-01T00:00:00.000Z', reason: 'it does not answer in time' };
  const { fleet } = fleetOf({}, [['b', []]], [silent]);
  expect(await fleet.list({})).toEqual({ found: [], missing: [{ ...silent, proxies: 1 }] });
});

it('asks nobody for the configuration of a proxy that is here', async () => {
  const { fleet, asked } = fleetOf({ config: async () => [] }, []);
  expect(await fleet.config('n1', { type: undefined, content: false })).toEqual({ found: [], missing: [] });
  expect(asked).toEqual([]);
});

it('finds the configuration of a proxy elsewhere; null is nothing', async () => {
  const { fleet, asked } = fleetOf({}, [
    ['b', null],
    ['c', [{ type: 't', name: 'n' }]],
  ]);
  expect((await fleet.config('n1', { type: 'Cluster', content: true })).found).toEqual([{ type: 't', name: 'n' }]);
  expect(asked).toEqual([{ ask: 'config', node: 'n1', type: 'Cluster', content: true }]);
  expect((await fleetOf({}, [['b', null]]).fleet.commit(3)).found).toBeUndefined();
});

it('counts what all compare', async () => {
  expect((await fleetOf({ compare: () => 2 }, [['b', 3]]).fleet.compare(undefined)).found).toBe(5);
});

it('joins what became of a commit: times of whoever is asked, proxies of all', async () => {
  const commit = (settled: string, more: Partial<CommitInfo>): CommitInfo => ({
    ...{ revision: '7', settledWith: '8', committed: 't0', settled, resources: 3 },
    proxies: { concerned: 0, acknowledged: 0, waitingFor: [] },
    ...more,
  });
  const here = commit('t1', {
    proxies: { concerned: 2, acknowledged: 1, waitingFor: ['n2'] },
    sent: { first: 't3', last: 't4' },
    acknowledged: { first: 't4', last: 't4' },
  });
  const there = commit('t2', {
    proxies: { concerned: 1, acknowledged: 0, waitingFor: ['n1'] },
    sent: { first: 't2', last: 't3' },
  });
  const { found } = await fleetOf({ commit: () => here }, [
    ['b', there],
    ['c', commit('t9', {})],
  ]).fleet.commit(7);
  expect(found).toEqual({
    ...here,
    proxies: { concerned: 3, acknowledged: 1, waitingFor: ['n1', 'n2'] },
    sent: { first: 't2', last: 't4' },
  });
});
