/** Sixty streams on three controllers: one is killed and comes back, and in a while each has its share again. */
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/telemetry/log.ts';
import { createDeltaClient, encodeNode, typeUrls } from '../../src/xds/index.ts';
import { connectDelta, type DeltaConnection } from '../../src/xds/io/index.ts';
import { type Controller, put, useTestCluster } from '../support/controllers.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

const shared = useTestCluster();

const proxies = 60;
const pools = ['web', 'api', 'shop'];

/** A proxy that knows all controllers, and opens its next stream at the next one, as Envoy's round robin does. */
class RoundRobinProxy {
  /** Resources that came after it had all: there should be none. */
  again: string[] = [];
  readonly ends: number[] = [];
  at = 0;
  readonly #ports: readonly number[];
  readonly #client;
  #connection: DeltaConnection | undefined;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(id: string, ports: readonly number[], first: number) {
    this.#ports = ports;
    this.at = first % ports.length;
    this.#client = createDeltaClient({ node: encodeNode({ id, cluster: 'edge', userAgent: 'toy', version: '1.0.0' }) });
    for (const type of [typeUrls.cluster, typeUrls.listener]) this.#client.subscribe(type, ['*']);
    this.#client.subscribe(
      typeUrls.endpoint,
      pools.map((name) => `default/${name}`),
    );
  }

  get isFilled(): boolean {
    return this.#client.resources(typeUrls.endpoint).size === pools.length && this.holds > 2 * pools.length;
  }

  get holds(): number {
    const types = [typeUrls.cluster, typeUrls.listener, typeUrls.endpoint];
    return types.reduce((sum, type) => sum + this.#client.resources(type).size, 0);
  }

  async connect(): Promise<void> {
    const connection = await connectDelta({
      client: this.#client,
      address: `127.0.0.1:${this.#ports[this.at]}`,
      log: createLogger({ level: 'silent' }),
      random: Math.random,
      onStep: ({ changed, removed }) => {
        this.again.push(...changed.map(({ name }) => name), ...removed.map((name) => `-${name}`));
      },
      onEnded: ({ code }) => {
        this.ends.push(code);
        void this.#connection?.close();
        this.at = (this.at + 1) % this.#ports.length;
        if (!this.#closed) this.#timer = setTimeout(() => void this.connect(), 100 * Math.random());
      },
    });
    this.#connection = connection;
    if (this.#closed) await connection.close();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    void this.#connection?.close();
  }
}

test('a controller that comes back gets its share again, and no proxy is sent what it has', {
  timeout: 120_000,
}, async () => {
  const { cluster } = shared;
  const ports = [await freePort(), await freePort(), await freePort()];
  const start = (name: string, i: number) =>
    cluster.start(name, { flags: ['--xds-listen', `127.0.0.1:${ports[i]}`, '--respread-after', '2s'] });
  const [a, b] = [await start('a', 0), await start('b', 1)];
  let c: Controller = await start('c', 2);
  await put(a, 'fleets/edge', {});
  for (const [i, name] of pools.entries()) {
    await put(a, `scopes/default/backend-pools/${name}`, {
      members: [{ address: '127.0.0.1', port: 9001 + i }],
    });
  }
  await put(a, 'scopes/default/virtual-services/shop', {
    fleet: 'edge',
    listeners: pools.map((pool, i) => ({ name: pool, port: 8080 + i, protocol: 'TCP', defaultAction: { pool } })),
  });

  const fleet = Array.from({ length: proxies }, (_, n) => new RoundRobinProxy(`lb-${n}`, ports, n));
  onTestFinished(() => {
    for (const proxy of fleet) proxy.close();
  });
  await Promise.all(fleet.map((proxy) => proxy.connect()));
  const countsOf = async (): Promise<Readonly<Record<string, number>>> => {
    const list = await a.controllers();
    return Object.fromEntries(list.map(({ id, state, proxies: count }) => [id, state === 'Ready' ? count : 0]));
  };
  await until('all to be filled', () => fleet.every(({ isFilled }) => isFilled));
  await until('each controller to have a third', async () => {
    return Object.values(await countsOf()).every((count) => count === proxies / 3);
  });
  for (const proxy of fleet) proxy.again = [];

  await c.kill();
  await until(
    'all to be with the other two',
    async () => {
      const counts = await countsOf();
      return (counts['a'] ?? 0) + (counts['b'] ?? 0) === proxies;
    },
    { describe: countsOf },
  );
  // Nobody is sent elsewhere while one is missing.
  expect(fleet.flatMap(({ ends }) => ends).filter((code) => code === resourceExhausted)).toEqual([]);

  c = await start('c', 2);
  const share = proxies / 3;
  await until(
    'each to have its share',
    async () => {
      const counts = Object.values(await countsOf());
      return counts.length === 3 && counts.every((count) => count >= 0.8 * share && count <= 1.2 * share);
    },
    { limitMs: 60_000, describe: countsOf },
  );
  // Each was asked to go a few times at most, and was given nothing by whoever took it up.
  const sent = fleet.map(({ ends }) => ends.filter((code) => code === resourceExhausted).length);
  expect(sent.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(0.8 * share);
  expect(Math.max(...sent)).toBeLessThanOrEqual(4);
  expect(fleet.flatMap(({ again }) => again)).toEqual([]);
  expect(fleet.every(({ isFilled }) => isFilled)).toBe(true);
  expect((await b.call('GET', '/v1/proxies')).body.items).toHaveLength(proxies);
});

const resourceExhausted = 8;
