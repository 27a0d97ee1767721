/** The servers of the xDS benches, each started as a process of its own and changed through its own way in. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRegistry, fromBinary, isMessage } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { ListenerSchema } from '../src/gen/envoy/config/listener/v3/listener_pb.js';
import { HttpConnectionManagerSchema } from '../src/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js';
import { createLogger } from '../src/telemetry/log.ts';
import { createDeltaClient, encodeNode, encodeResource, typeUrls, type WireResource } from '../src/xds/index.ts';
import { connectDelta } from '../src/xds/io/index.ts';
import type { ProcessUsage } from '../test/support/process-usage.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { startChild } from './child.ts';
import { mark } from './marks.ts';
import { clusterName, fleet, type Manifest, pool, poolName } from './pools.ts';

/** A server under test. */
export interface Server {
  readonly name: string;
  readonly usage: ProcessUsage;
  readonly xdsPort: number;
  /** Moves a member of a pool. Resolves when the server has taken it. */
  change(at: number, change: number): Promise<void>;
  close(): Promise<void>;
}

/** A filled store, and a file of what Fairway serves from it, for the peers to serve as well. */
export interface World {
  /** How many pools are in use. */
  readonly pools: number;
  readonly data: string;
  readonly resources: string;
  remove(): void;
}

export interface WorldSize {
  readonly pools: number;
  readonly listeners: number;
}

/** How many objects go in one commit. */
const objectsPerApply = 50;

/** Fills a store through the REST API and notes what comes of it: `size` says how many pools and listeners that are. */
export async function createWorld(all: Iterable<Manifest>, size: WorldSize): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'fairway-bench-'));
  const data = join(folder, 'data');
  const resources = join(folder, 'resources');
  const server = await startFairway({ data });
  try {
    const objects = [...all];
    for (let from = 0; from < objects.length; from += objectsPerApply) {
      await server.call('POST', '/v1/apply', { objects: objects.slice(from, from + objectsPerApply) });
    }
    writeFileSync(resources, await servedResources(server.xdsPort, size));
  } finally {
    await server.close();
  }
  return { pools: size.pools, data, resources, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface Fairway extends Server {
  /** A call of the REST API; fails unless it is answered well. */
  call(method: string, path: string, body: unknown): Promise<void>;
}

/** A real server with its database in a folder, as an operator starts it. */
export async function startFairway({ data }: { readonly data: string }): Promise<Fairway> {
  const server = await startServerProcess({ data, node: process.env['FAIRWAY_BENCH_NODE_FLAGS']?.split(' ') ?? [] });
  const agent = new Agent({ keepAlive: true });
  const call = (method: string, path: string, body: unknown): Promise<void> =>
    send(agent, `http://${server.address}${path}`, method, body);
  return {
    name: 'Fairway',
    usage: server,
    xdsPort: server.xdsPort,
    call,
    change: (at, change) => call('PUT', `/v1/scopes/default/backend-pools/${poolName(at)}`, pool(at, change)),
    async close() {
      agent.destroy();
      await server.stop();
    },
  };
}

/** A server of bench/peers. */
export async function startPeer(program: string, kind: 'gcp' | 'floor', world: World): Promise<Server> {
  const child = startChild({
    name: kind,
    program,
    args: [kind, `-resources=${world.resources}`],
    lines: 'stdout',
  });
  const xdsPort = await child.next('it was ready', (event) =>
    event['event'] === 'ready' ? Number(event['port']) : undefined,
  );
  return {
    name: kind === 'gcp' ? 'go-control-plane' : 'floor',
    usage: child,
    xdsPort,
    change: async (at, change) => child.tell({ name: clusterName(at), address: mark(change) }),
    close: () => child.close(),
  };
}

function send(agent: Agent, url: string, method: string, body: Manifest | unknown): Promise<void> {
  const bytes = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) };
    const call = request(url, { method, agent, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        if ((answer.statusCode ?? 0) < 300) resolve();
        else reject(new Error(`${method} ${url}: ${answer.statusCode} ${Buffer.concat(chunks)}`));
      });
    });
    call.on('error', reject);
    call.end(bytes);
  });
}

/** All that a proxy of the fleet gets, as bench/peers/resources reads it. */
async function servedResources(xdsPort: number, size: WorldSize): Promise<Uint8Array> {
  const client = createDeltaClient({ node: encodeNode({ id: 'reader', cluster: fleet }) });
  client.subscribe(typeUrls.cluster, ['*']);
  client.subscribe(typeUrls.listener, ['*']);
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const has = (type: string): number => client.resources(type).size;
  const named: Record<string, Set<string>> = { [typeUrls.route]: new Set(), [typeUrls.extension]: new Set() };
  const connection = await connectDelta({
    client,
    address: `127.0.0.1:${xdsPort}`,
    log: createLogger({ level: 'silent' }),
    random: Math.random,
    onStep({ typeUrl, changed }) {
      const names = changed.map(({ name }) => name);
      if (typeUrl === typeUrls.cluster) connection.subscribe(typeUrls.endpoint, names);
      if (typeUrl === typeUrls.listener) {
        for (const [type, name] of changed.flatMap(namedBy)) {
          named[type]?.add(name);
          connection.subscribe(type, [name]);
        }
      }
      if (has(typeUrls.endpoint) < size.pools || has(typeUrls.listener) < size.listeners) return;
      if (Object.entries(named).every(([type, names]) => has(type) >= names.size)) resolve();
    },
  });
  await complete;
  await connection.close();
  const writer = new BinaryWriter();
  for (const type of Object.values(typeUrls)) {
    for (const { name, version, typeUrl, value } of client.resources(type).values())
      writer.bytes(encodeResource(name, version, typeUrl, value));
  }
  return writer.finish();
}

/** What Envoy asks for by name when it has the listener. */
function namedBy(resource: WireResource): (readonly [type: string, name: string])[] {
  const { filterChains } = fromBinary(ListenerSchema, resource.value);
  return filterChains
    .flatMap(({ filters }) => filters)
    .flatMap(({ configType }) => {
      const manager = configType.case === 'typedConfig' && anyUnpack(configType.value, managers);
      if (!manager || !isMessage(manager, HttpConnectionManagerSchema)) return [];
      const { routeSpecifier, httpFilters } = manager;
      const slots = httpFilters.filter((filter) => filter.configType.case === 'configDiscovery');
      const routes = routeSpecifier.case === 'rds' ? [routeSpecifier.value.routeConfigName] : [];
      return [
        ...routes.map((name) => [typeUrls.route, name] as const),
        ...slots.map(({ name }) => [typeUrls.extension, name] as const),
      ];
    });
}

const managers = createRegistry(HttpConnectionManagerSchema);

/** CLOCK_MONOTONIC in nanoseconds, as the load client's times are. */
export function monotonicNanos(): number {
  return Number(process.hrtime.bigint());
}
