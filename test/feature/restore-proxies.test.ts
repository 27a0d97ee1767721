/** What proxies see of a restore: the content of the backup in one step, and of what stays the same nothing. */
import { expect, onTestFinished, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { createMemoryStore, type Store, type Transaction } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { type ClientStep, createDeltaClient, encodeNode, typeUrls } from '../../src/xds/index.ts';
import { connectDelta } from '../../src/xds/io/index.ts';
import { pool } from '../support/api.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

const dataKeys = newDataKey();

/** Lets the commits of a restore through one by one, so that what lies between them can be looked at. */
class Stepwise implements Store {
  readonly #store = createMemoryStore();
  /** Called before each commit of a restore after its mark. */
  between: () => Promise<void> = async () => undefined;

  async commit(transaction: Transaction) {
    const isOfRestore = transaction.checks.some((one) => one.key === 'schema/restore' && one.modRevision !== 0);
    if (isOfRestore) await this.between();
    return this.#store.commit(transaction);
  }

  get: Store['get'] = (key) => this.#store.get(key);
  list: Store['list'] = (prefix) => this.#store.list(prefix);
  head: Store['head'] = () => this.#store.head();
  watch: Store['watch'] = (after, signal) => this.#store.watch(after, signal);
  close: Store['close'] = () => this.#store.close();
}

async function connect(fairway: TestFairway, id: string) {
  const client = createDeltaClient({ node: encodeNode({ id, cluster: 'edge' }) });
  for (const type of [typeUrls.cluster, typeUrls.listener]) client.subscribe(type, ['*']);
  const steps: ClientStep[] = [];
  const ends: unknown[] = [];
  const connection = await connectDelta({
    client,
    address: `127.0.0.1:${fairway.xdsPort}`,
    log: createLogger({ level: 'silent' }),
    random: Math.random,
    onStep: (step) => steps.push(step),
    onEnded: (end) => ends.push(end),
  });
  onTestFinished(() => connection.close());
  const names = () =>
    [typeUrls.cluster, typeUrls.listener].flatMap((type) => [...client.resources(type).keys()].sort());
  const sent = () =>
    steps.flatMap(({ changed, removed }) => [...changed.map(({ name }) => name), ...removed.map((name) => `-${name}`)]);
  return { names, sent, ends, forget: () => (steps.length = 0) };
}

const service = (name: string, port: number, to: string) => ({
  kind: 'VirtualService',
  metadata: { name },
  spec: {
    fleet: 'edge',
    listeners: [{ name: 'web', port, protocol: 'HTTP', defaultAction: { forward: [{ pool: to }] } }],
  },
});

test('a restore over what is served changes what differs, at once, and nothing else', async () => {
  const store = new Stepwise();
  const fairway = await startFairway({ store, dataKeys });
  onTestFinished(() => fairway.close());
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    pool('web'),
    service('shop', 10080, 'web'),
  );
  const backup = await (await fetch(`${fairway.url}/v1/backup`)).text();

  // Registers itself after the backup was made.
  const proxy = await connect(fairway, 'lb-1');
  await fairway.put(pool('later'), service('later', 10081, 'later'));
  await until('all to be there', () => proxy.names().length === 5, { describe: proxy.names });
  await fairway.waitFor('Node', 'lb-1', 'Connected', 'True');
  const before = proxy.names();
  const shop = before.filter((name) => !name.includes('later'));
  expect(shop).toHaveLength(3);
  proxy.forget();

  let looks = 0;
  store.between = async () => {
    looks += 1;
    // Time enough for what is in the store to be taken in and sent, were it taken in.
    await until('it to be unready', async () => (await fairway.call('GET', '/readyz')).status === 503);
    expect(proxy.names()).toEqual(before);
  };
  const answer = await fairway.call('POST', '/v1/restore?force=true', backup, {
    'content-type': 'application/x-ndjson',
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(looks).toBeGreaterThan(1);
  await until('what came later to be gone', () => proxy.names().length === 3, { describe: proxy.names });
  expect(proxy.names()).toEqual(shop);
  expect(proxy.sent().filter((name) => !name.includes('later'))).toEqual([]);
  expect(proxy.ends).toEqual([]);

  // It is there, whatever the backup knows.
  await until(
    'the Node to be registered anew',
    async () => (await fairway.call('GET', '/v1/nodes/lb-1')).status === 200,
  );
  await fairway.waitFor('Node', 'lb-1', 'Connected', 'True');
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  // And the next change is served as ever.
  await fairway.put(pool('web', { connectTimeout: '3s' }));
  await until('the change to be sent', () => proxy.sent().includes('default/web'), { describe: proxy.sent });
});
