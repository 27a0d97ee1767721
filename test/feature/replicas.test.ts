import { afterEach, expect, it } from 'vitest';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { type ClientStep, createDeltaClient, type DeltaClient, encodeNode, typeUrls } from '../../src/xds/index.ts';
import { connectDelta } from '../../src/xds/io/index.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

// Two controllers on one store, one of which is held behind. Versions have no order, so it must know by itself.

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

/** The store as one controller sees it: events can be held back, and the head be out of reach. */
class View implements Store {
  readonly #store: Store;
  #gate: PromiseWithResolvers<void> | undefined;
  headFails = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Events after this reach the controller only when it is let on. */
  hold(): void {
    this.#gate = Promise.withResolvers();
  }

  letOn(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  async *watch(...args: Parameters<Store['watch']>): ReturnType<Store['watch']> {
    for await (const event of this.#store.watch(...args)) {
      await this.#gate?.promise;
      yield event;
    }
  }

  head(): Promise<number> {
    return this.headFails ? Promise.reject(new Error('out of reach')) : this.#store.head();
  }

  commit: Store['commit'] = (transaction) => this.#store.commit(transaction);
  get: Store['get'] = (key) => this.#store.get(key);
  list: Store['list'] = (prefix) => this.#store.list(prefix);

  /** The other controller goes on with the store. */
  async close(): Promise<void> {}
}

async function controllers(): Promise<{ newer: TestFairway; older: TestFairway; view: View }> {
  const store = createMemoryStore();
  const view = new View(store);
  const [newer, older] = [await startFairway({ store: new View(store) }), await startFairway({ store: view })];
  cleanUp.push(
    () => older.close(),
    () => newer.close(),
    () => view.letOn(),
  );
  await newer.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} }, poolOf('1s'), shopOf(['web']), {
    kind: 'Route',
    metadata: { name: 'all' },
    spec: {
      attachTo: [{ virtualService: 'shop', listener: 'web' }],
      hosts: ['shop.example'],
      rules: [{ name: 'all', action: { forward: [{ pool: 'web' }] } }],
    },
  });
  return { newer, older, view };
}

function poolOf(connectTimeout: string) {
  const spec = { connectTimeout, members: [{ address: '127.0.0.1', port: 9001 }] };
  return { kind: 'BackendPool', metadata: { name: 'web' }, spec };
}

function shopOf(names: readonly string[]) {
  const listeners = names.map((name, at) => ({ name, port: 8080 + at, protocol: 'HTTP' }));
  return { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { fleet: 'edge', listeners } };
}

/** A proxy that can be moved from one controller to the other; notes what it is sent. */
class MovingProxy {
  readonly client: DeltaClient;
  readonly steps: ClientStep[] = [];
  readonly ends: { code: number; details: string }[] = [];
  #close: (() => void) | undefined;

  constructor(id: string) {
    this.client = createDeltaClient({ node: encodeNode({ id, cluster: 'edge' }) });
    for (const type of [typeUrls.cluster, typeUrls.listener]) this.client.subscribe(type, ['*']);
  }

  async moveTo(fairway: TestFairway): Promise<void> {
    this.leave();
    const connection = await connectDelta({
      client: this.client,
      address: `127.0.0.1:${fairway.xdsPort}`,
      log: createLogger({ level: 'silent' }),
      random: Math.random,
      onStep: (step) => this.steps.push(step),
      onEnded: (end) => this.ends.push(end),
    });
    this.#close = () => connection.close();
    cleanUp.push(() => this.leave());
  }

  leave(): void {
    if (this.#close === undefined) return;
    this.#close();
    this.#close = undefined;
    this.client.disconnected();
    this.steps.length = 0;
  }

  /** All that it holds, with versions. */
  holds(): string[] {
    return [typeUrls.cluster, typeUrls.listener].flatMap((type) =>
      [...this.client.resources(type).values()].map(({ name, version }) => `${name} ${version}`).sort(),
    );
  }

  /** Names in what it was sent. */
  sent(): string[] {
    return this.steps.flatMap(({ changed, removed }) => [
      ...changed.map(({ name }) => name),
      ...removed.map((name) => `-${name}`),
    ]);
  }
}

/** Waits until the proxy has as many listeners. */
const listens = (proxy: MovingProxy, count: number) =>
  until(`${count} listeners`, () => proxy.client.resources(typeUrls.listener).size === count, {
    describe: () => proxy.holds(),
  });

const connectionsOf = (fairway: TestFairway) => fairway.logged().split('"event":"proxy_connected"').length - 1;

/** A proxy that knows two changes of which the other controller has not heard. */
async function ahead() {
  const { newer, older, view } = await controllers();
  const proxy = new MovingProxy('n1');
  await proxy.moveTo(newer);
  await listens(proxy, 1);
  await older.waitFor('Route', 'all', 'ResolvedRefs', 'True');
  view.hold();
  await newer.put(poolOf('3s'), shopOf(['web', 'more']));
  await listens(proxy, 2);
  return { newer, older, view, proxy, held: proxy.holds() };
}

it('rule 34: a proxy that moves to a controller held behind is not rolled back', async () => {
  const { older, view, proxy, held } = await ahead();
  await proxy.moveTo(older);
  // Another proxy, which this controller could give all that it has: not before it knows that this is the newest.
  const fresh = new MovingProxy('n2');
  await fresh.moveTo(older);
  await until('both to be there', () => connectionsOf(older) === 2);
  expect([proxy.steps, fresh.steps]).toEqual([[], []]);
  view.letOn();
  await listens(fresh, 2);
  expect(fresh.holds()).toEqual(held);
  await until('the first answers', () => proxy.steps.length >= 2);
  expect(proxy.sent()).toEqual([]);
  expect(proxy.holds()).toEqual(held);
});

it('rule 34: while the store cannot be read there are additions only', async () => {
  const { older, view, proxy, held } = await ahead();
  view.headFails = true;
  await proxy.moveTo(older);
  const fresh = new MovingProxy('n2');
  await fresh.moveTo(older);
  await listens(fresh, 1);
  // By now the other one could have been given the older cluster, and its second listener taken away.
  expect(proxy.sent()).toEqual([]);
  expect(proxy.holds()).toEqual(held);

  view.headFails = false;
  view.letOn();
  await listens(fresh, 2);
  expect(fresh.holds()).toEqual(held);
  expect(proxy.holds()).toEqual(held);
});
