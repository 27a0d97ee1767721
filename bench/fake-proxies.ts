/**
 * Many proxies in one process: each a delta stream on a connection of its own that asks for what an Envoy asks for,
 * and keeps it. One after another they lose their connection and come back. Driven by `startFakeProxies`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { unavailableCluster } from '../src/graph/index.ts';
import { createLogger } from '../src/telemetry/log.ts';
import {
  createDeltaClient,
  type DeltaClient,
  encodeNode,
  type TypeUrl,
  typeUrls,
  type WireResource,
  wildcardName,
} from '../src/xds/index.ts';
import { connectDelta, type DeltaConnection } from '../src/xds/io/index.ts';

export interface FakeProxiesOptions {
  readonly count: number;
  /** In turns. */
  readonly fleets: readonly string[];
  /** `host:port` of the controller. */
  readonly address: string;
  /** Asked for by name, beside all clusters and listeners and the endpoints of all clusters. */
  readonly names: readonly (readonly [TypeUrl, readonly string[]])[];
}

/** Type → name → version. */
export type Versions = Readonly<Record<TypeUrl, Readonly<Record<string, string>>>>;

export interface FakeProxies {
  /** How many of them hold something else than this, or lack something of it. */
  differing(wanted: Versions): Promise<number>;
  stop(): Promise<void>;
}

type Order =
  | { readonly kind: 'start'; readonly options: FakeProxiesOptions }
  | { readonly kind: 'compare'; readonly wanted: Versions };

export async function startFakeProxies(options: FakeProxiesOptions): Promise<FakeProxies> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { serialization: 'advanced' });
  const ended = once(child, 'exit');
  // Ends whoever waits for an answer that cannot come any more.
  const gone = ended.then(([code, signal]) => Promise.reject(new Error(`it ended with ${code ?? signal}`)));
  gone.catch(() => undefined);
  const give = async (order: Order): Promise<number> => {
    child.send(order);
    const [answer] = await Promise.race([once(child, 'message'), gone]);
    return answer as number;
  };
  await give({ kind: 'start', options });
  return {
    differing: (wanted) => give({ kind: 'compare', wanted }),
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const nothing = new Uint8Array();

/** Between two of them that lose their connection. */
const cutEveryMs = 500;

function serve(): void {
  const clients: DeltaClient[] = [];

  async function start({ count, fleets, address, names }: FakeProxiesOptions): Promise<void> {
    const log = createLogger({ level: 'silent' });
    const proxies = Array.from({ length: count }, (_, n) => {
      const cluster = fleets[n % fleets.length] ?? '';
      const node = { id: `fake-${n}`, cluster, userAgent: 'envoy', version: '1.40.0' };
      const client = createDeltaClient({ node: encodeNode(node) });
      clients.push(client);
      for (const type of [typeUrls.cluster, typeUrls.listener]) client.subscribe(type, [wildcardName]);
      for (const [type, asked] of names) client.subscribe(type, asked);
      const connect = async (): Promise<DeltaConnection> => {
        const connection: DeltaConnection = await connectDelta({
          client,
          address,
          log,
          random: Math.random,
          onStep({ typeUrl, changed, removed }) {
            forget(client, typeUrl, changed);
            if (typeUrl !== typeUrls.cluster) return;
            // The cluster that stands in for missing pools has no endpoints.
            const names = changed.map(({ name }) => name).filter((name) => name !== unavailableCluster);
            if (names.length > 0) connection.subscribe(typeUrls.endpoint, names);
            if (removed.length > 0) connection.unsubscribe(typeUrls.endpoint, removed);
          },
        });
        return connection;
      };
      return { connect, connection: undefined as DeltaConnection | undefined };
    });
    for (const proxy of proxies) proxy.connection = await proxy.connect();
    let turn = 0;
    setInterval(() => {
      const proxy = proxies[turn % count];
      turn += 1;
      void proxy?.connection?.close();
      void proxy?.connect().then((connection) => {
        proxy.connection = connection;
      });
    }, cutEveryMs);
  }

  /** Keeps the versions alone: the contents of a thousand proxies would fill the memory. */
  function forget(client: DeltaClient, type: TypeUrl, changed: readonly WireResource[]): void {
    const held = client.resources(type) as Map<string, WireResource>;
    for (const resource of changed) held.set(resource.name, { ...resource, value: nothing });
  }

  function differs(client: DeltaClient, wanted: Versions): boolean {
    return Object.entries(wanted).some(([type, versions]) => {
      const held = client.resources(type);
      const names = Object.keys(versions);
      return held.size !== names.length || names.some((name) => held.get(name)?.version !== versions[name]);
    });
  }

  // Proxies are on machines of their own: here they come after the server.
  setPriority(10);
  process.on('message', async (order: Order) => {
    if (order.kind === 'start') await start(order.options);
    process.send?.(order.kind === 'start' ? 0 : clients.filter((client) => differs(client, order.wanted)).length);
  });
  process.on('disconnect', () => process.exit(0));
}

if (process.argv[2] === 'serve') serve();
