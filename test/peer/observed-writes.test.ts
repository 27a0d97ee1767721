/** What is seen of a thousand proxies is a few records a second, however much is changed. */
import { expect, onTestFinished, test } from 'vitest';
import { startFakeProxies } from '../../bench/fake-proxies.ts';
import { openEtcdStore, type Store } from '../../src/store/index.ts';
import { type Controller, useTestCluster, write } from '../support/controllers.ts';
import { until } from '../support/until.ts';

const shared = useTestCluster();

const proxies = 1_000;
const changes = 100;
const changesPerSecond = 20;
/** One after another the proxies lose their connection and come back: so many of them are being filled at a time. */
const maxReturning = 30;

const insist = (controller: Controller, path: string, spec: unknown): Promise<unknown> =>
  // On a machine that is busy with a thousand proxies etcd may be too slow for once, which is said with 503.
  until(`${path} to be written`, async () => (await write(controller, path, spec)).status < 300);

const pools = 10;
const pool = (i: number) => ({ members: [{ address: '127.0.0.1', port: 10_000 + i }], drainTimeout: '0s' });
const poolPath = (i: number) => `scopes/default/backend-pools/web-${i % pools}`;

/** How many commits wrote something of each kind. */
async function writesBetween(store: Store, from: number, to: number): Promise<Map<string, number>> {
  const writes = new Map<string, number>();
  const controller = new AbortController();
  for await (const { revision, puts } of store.watch(from, controller.signal)) {
    const kinds = new Set(
      puts.map(({ key }) =>
        key
          .split('/')
          .slice(0, key.startsWith('observed/') ? 2 : 1)
          .join('/'),
      ),
    );
    for (const kind of kinds) writes.set(kind, (writes.get(kind) ?? 0) + 1);
    if (revision >= to) break;
  }
  controller.abort();
  return writes;
}

test('a thousand proxies and twenty changes a second', { timeout: 120_000 }, async () => {
  const { cluster } = shared;
  const { etcd } = cluster;
  const [here, there] = [await cluster.start('a'), await cluster.start('b')];
  await insist(here, 'fleets/edge', {});
  for (let i = 0; i < pools; i += 1) await insist(here, poolPath(i), pool(i));
  await insist(here, 'scopes/default/virtual-services/shop', {
    fleet: 'edge',
    // No table of routes: the proxies do not ask for one.
    listeners: Array.from({ length: pools }, (_, i) => ({
      name: `web-${i}`,
      port: 8080 + i,
      protocol: 'TCP',
      defaultAction: { pool: `web-${i}` },
    })),
  });
  const store = await openEtcdStore({ endpoints: etcd.urls });
  onTestFinished(() => store.close());
  const before = await store.head();
  const connecting = performance.now();
  const fakes = await startFakeProxies({
    count: proxies,
    fleets: ['edge'],
    address: `127.0.0.1:${here.xdsPort}`,
    names: [],
  });
  onTestFinished(() => fakes.stop());
  const realization = async (controller: Controller) =>
    (await controller.call('GET', `/v1/${poolPath(changes)}`)).body.status.realization;
  const allHaveIt = (what: string) =>
    until(
      what,
      async () => {
        const [near, far] = await Promise.all([here, there].map(realization));
        return near.realized === proxies && far.desired === proxies && far.realized >= proxies - maxReturning;
      },
      { limitMs: 60_000, everyMs: 200, describe: () => Promise.all([here, there].map(realization)) },
    );
  await allHaveIt('both to know that all proxies have it');

  const from = await store.head();
  const connected = await writesBetween(store, before, from);
  const connectedFor = (performance.now() - connecting) / 1000;
  // Some commits at once, and then four a second: those that lose their connection are among them.
  expect(connected.get('observed/node'), JSON.stringify([connectedFor, ...connected])).toBeLessThan(
    8 + 4 * connectedFor + 1,
  );

  const begun = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let i = 1; i <= changes; i += 1) {
    const due = begun + (i * 1000) / changesPerSecond;
    await until('the time of the next change', () => performance.now() >= due, { everyMs: 5 });
    sent.push(insist(here, poolPath(i), pool(pools + i)));
  }
  await Promise.all(sent);
  await allHaveIt('both to know that all proxies have the last');
  const seconds = (performance.now() - begun) / 1000;

  const writes = await writesBetween(store, from, await store.head());
  const perSecond = (kind: string): number => (writes.get(kind) ?? 0) / seconds;
  const told = JSON.stringify([seconds, ...writes]);
  expect(writes.get('spec'), told).toBe(changes);
  // Two controllers: each at most two records of deliveries a second, and one in three that it is there.
  expect(writes.get('observed/delivery'), told).toBeGreaterThan(0);
  expect(perSecond('observed/delivery') + perSecond('observed/controller'), told).toBeLessThan(2 * 2.5);
  // Two proxies a second lose their connection, and most are back before anybody is told.
  expect(perSecond('observed/node'), told).toBeLessThan(2 * 2 + 1);
  // The leader alone, as fast as it comes back to it.
  expect(perSecond('status'), told).toBeLessThan(changesPerSecond / 2);
});
