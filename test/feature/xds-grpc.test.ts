import http2 from 'node:http2';
import { Client, credentials, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import {
  type CheckResource,
  type ClientStep,
  createDeltaClient,
  createHub,
  encodeNode,
  type Hub,
  type HubOptions,
  type Progress,
  type Resource,
} from '../../src/xds/index.ts';
import { connectDelta, createXdsServer, type XdsServer, type XdsServerOptions } from '../../src/xds/io/index.ts';
import { encodeDeltaRequest } from '../../src/xds/wire.ts';
import { cluster, endpoint, resource, route } from '../support/xds-rig.ts';

const log = createLogger({ level: 'silent' });
const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

interface Served {
  readonly hub: Hub;
  readonly server: XdsServer;
  readonly progress: Progress[];
  readonly address: string;
}

async function serve(
  resources: readonly Resource[],
  options: Partial<Omit<XdsServerOptions, 'hub'>> & { port?: number; hubOptions?: Partial<HubOptions> } = {},
): Promise<Served> {
  const { port = 0, hubOptions, ...rest } = options;
  const hub = createHub({ random: Math.random, ...hubOptions });
  hub.commit({
    revision: 1,
    puts: resources,
    removals: [],
    audiences: [{ subject: 'cluster/edge', audiences: ['all'] }],
  });
  const progress: Progress[] = [];
  const server = await createXdsServer({
    hub,
    log,
    listen: { host: '127.0.0.1', port },
    clock: systemClock,
    random: Math.random,
    onProgress: (events) => progress.push(...events),
    ...rest,
  });
  cleanUp.push(() => server.close({ graceMs: 500 }));
  return { hub, server, progress, address: `127.0.0.1:${server.port}` };
}

interface Connected {
  readonly steps: ClientStep[];
  readonly statuses: { code: number; details: string }[];
  readonly text: (type: string) => string;
  readonly bytes: () => number;
  close(): Promise<void>;
}

async function connect(
  address: string,
  subscriptions: readonly [type: string, names: readonly string[]][],
  options: { id?: string; check?: CheckResource } = {},
): Promise<Connected> {
  const node = encodeNode({ id: options.id ?? 'n1', cluster: 'edge' });
  const client = createDeltaClient({ node, ...(options.check === undefined ? {} : { check: options.check }) });
  for (const [type, names] of subscriptions) client.subscribe(type, names);
  const steps: ClientStep[] = [];
  const statuses: { code: number; details: string }[] = [];
  let received = 0;
  const connection = await connectDelta({
    client,
    address,
    log,
    random: Math.random,
    retry: { baseMs: 20, maxMs: 100 },
    onStep: (step, sizeBytes) => {
      steps.push(step);
      received += sizeBytes;
    },
    onEnded: (ended) => statuses.push(ended),
  });
  cleanUp.push(() => connection.close());
  const decoder = new TextDecoder();
  return {
    steps,
    statuses,
    close: () => connection.close(),
    text: (type) =>
      [...client.resources(type).values()]
        .map(({ value }) => decoder.decode(value))
        .sort()
        .join(' '),
    bytes: () => received,
  };
}

function level(condition: () => void): Promise<void> {
  return expect
    .poll(
      () => {
        condition();
        return true;
      },
      { timeout: 10_000, interval: 5 },
    )
    .toBe(true);
}

/** What stands before a message in gRPC: not compressed, and its length. */
function grpcHead(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.byteLength, 1);
  return head;
}

/** A call whose requests are given as bytes. */
async function rawCall(address: string, requests: readonly Uint8Array[], method = path): Promise<StatusObject> {
  const client = new Client(address, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(method, same, same, new Metadata());
  const ended = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  call.on('error', () => {});
  call.on('data', () => {});
  for (const bytes of requests) call.write(Buffer.from(bytes));
  try {
    return await ended;
  } finally {
    client.close();
  }
}

describe('delta xDS over gRPC', () => {
  it('brings resources, changes and removals to a client', async () => {
    const { hub, address, progress } = await serve([resource(cluster, 'c1'), resource(endpoint, 'c1')]);
    const client = await connect(address, [
      [cluster, ['*']],
      [endpoint, ['c1']],
    ]);
    await level(() => expect([client.text(cluster), client.text(endpoint)]).toEqual(['c1=1', 'c1=1']));
    hub.commit({ revision: 2, puts: [resource(endpoint, 'c1', '2')], removals: [], audiences: [] });
    await level(() => expect(client.text(endpoint)).toBe('c1=2'));
    hub.commit({ revision: 3, puts: [], removals: [{ type: cluster, name: 'c1' }], audiences: [] });
    await level(() => expect(client.text(cluster)).toBe(''));
    await level(() => expect(progress.map(({ kind }) => kind)).toContain('acked'));
    expect(progress[0]).toMatchObject({ kind: 'opened', nodeId: 'n1', peer: expect.stringContaining('127.0.0.1') });
  });

  it('closes a client at once, whether its stream is open or waits for another attempt', async () => {
    const { address, hub } = await serve([resource(cluster, 'c1')]);
    const open = await connect(address, [[cluster, ['*']]]);
    await level(() => expect(open.text(cluster)).toBe('c1=1'));
    await open.close();
    expect(open.statuses).toMatchObject([{ code: status.CANCELLED }]);
    await level(() => expect(hub.fleet.streams()).toEqual([]));
    const nobody = await connect('127.0.0.1:1', [[cluster, ['*']]]);
    await level(() => expect(nobody.statuses).toHaveLength(2));
    await nobody.close();
    await nobody.close();
    expect(nobody.statuses).toHaveLength(2);
  });

  it('reports a refusal and goes on serving the rest', async () => {
    const { hub, address, progress } = await serve(['c1', 'c2', 'c3'].map((name) => resource(cluster, name)));
    const check: CheckResource = (_type, { name }) => (name === 'c2' ? 'c2 is not to be had' : undefined);
    const client = await connect(address, [[cluster, ['*']]], { check });
    await level(() => expect(client.text(cluster)).toBe('c1=1 c3=1'));
    await level(() => expect(hub.fleet.delivery(cluster, 'c2')).toMatchObject([{ state: 'rejected' }]));
    expect(progress.filter(({ kind }) => kind === 'rejected')).toMatchObject([
      { name: 'c2', words: 'c2 is not to be had', scope: 'convicted', nodeId: 'n1' },
    ]);
  });

  it('sends no resource again after a restart with equal content', async () => {
    const resources = ['c1', 'c2'].flatMap((name) => [
      resource(cluster, name, 'x'.repeat(10_000)),
      resource(endpoint, name),
    ]);
    const before = await serve(resources);
    const client = await connect(before.address, [
      [cluster, ['*']],
      [endpoint, ['c1', 'c2']],
    ]);
    await level(() =>
      expect(before.hub.fleet.streams()).toMatchObject([{ ackedRevision: 0, types: [{ acked: 2 }, { acked: 2 }] }]),
    );
    await before.server.close({ graceMs: 500 });
    await level(() => expect(client.statuses).toMatchObject([{ code: status.UNAVAILABLE }]));
    const bytes = client.bytes();
    const after = await serve(resources, { port: before.server.port });
    await level(() => expect(after.hub.fleet.streams()).toMatchObject([{ types: [{ acked: 2 }, { acked: 2 }] }]));
    await level(() => expect(after.hub.fleet.streams()).toMatchObject([{ types: [{ ackedRevision: 1 }, {}] }]));
    expect(client.bytes() - bytes).toBeLessThan(300);
    expect(client.steps.at(-1)?.changed).toEqual([]);
  });

  it('splits what is large', async () => {
    const resources = Array.from({ length: 10 }, (_, at) => resource(cluster, `c${at}`, 'x'.repeat(1_000_000)));
    const { address } = await serve(resources);
    const client = await connect(address, [[cluster, ['*']]]);
    await level(() => expect(client.steps.flatMap(({ changed }) => changed)).toHaveLength(10));
    expect(client.steps.length).toBe(4);
  });

  it.each([
    ['rule 2: no node', [encodeDeltaRequest({ typeUrl: cluster })], status.INVALID_ARGUMENT, 'node'],
    [
      'rule 3: no type',
      [encodeDeltaRequest({ typeUrl: '', node: encodeNode({ id: 'n1' }) })],
      status.INVALID_ARGUMENT,
      'type_url',
    ],
    ['malformed bytes', [Uint8Array.of(0x0a, 0xff)], status.INVALID_ARGUMENT, 'reading a request'],
  ] as const)('ends a stream with a clear status: %s', async (_name, requests, code, words) => {
    const { address, hub } = await serve([]);
    const ended = await rawCall(address, requests);
    expect(ended.code).toBe(code);
    expect(ended.details).toContain(words);
    await level(() => expect(hub.fleet.streams()).toEqual([]));
  });

  it('rule 40: old streams end with UNAVAILABLE and come back', async () => {
    const { address } = await serve([resource(cluster, 'c1')], { maxStreamAgeMs: { from: 50, to: 100 } });
    const client = await connect(address, [[cluster, ['*']]]);
    await level(() => expect(client.statuses.length).toBeGreaterThan(1));
    expect(client.statuses.every(({ code }) => code === status.UNAVAILABLE)).toBe(true);
    expect(client.text(cluster)).toBe('c1=1');
  });

  it('stops when it is told to, though a client holds on', async () => {
    const { server, address } = await serve([resource(cluster, 'c1')]);
    const client = await connect(address, [[cluster, ['*']]]);
    await level(() => expect(client.text(cluster)).toBe('c1=1'));
    await server.close({ graceMs: 200 });
    await level(() => expect(client.statuses[0]?.code).toBe(status.UNAVAILABLE));
    expect(server.connections).toBe(0);
  });

  it('says so when the port is taken', async () => {
    const { server } = await serve([]);
    await expect(serve([], { port: server.port })).rejects.toThrow(`listening for xDS on 127.0.0.1:${server.port}`);
  });

  it('keeps no queue for a client that stops reading, and frees it when it goes', async () => {
    const size = 500_000;
    const { hub, address } = await serve([resource(route, 'r1', 'x'.repeat(size))], {
      hubOptions: { random: () => 0.5 },
    });
    const session = http2.connect(`http://${address}`);
    cleanUp.push(() => session.destroy());
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => {});
    const message = encodeDeltaRequest({
      typeUrl: route,
      subscribe: ['r1'],
      node: encodeNode({ id: 'slow', cluster: 'edge' }),
    });
    stream.write(Buffer.concat([grpcHead(message), message]));
    await level(() => expect(hub.fleet.streams()).toMatchObject([{ types: [{ pending: 1, sentRevision: 1 }] }]));
    for (let revision = 2; revision < 200; revision++) {
      hub.commit({
        revision,
        puts: [resource(route, 'r1', `${revision}${'x'.repeat(size)}`)],
        removals: [],
        audiences: [],
      });
      // Acknowledges without reading, so that only the full socket keeps the next one back.
      const ack = encodeDeltaRequest({ typeUrl: route, nonce: `i000.${(revision - 2).toString(36)}` });
      stream.write(Buffer.concat([grpcHead(ack), ack]));
    }
    // The last request shows that all before it were taken; what is sent next will be the newest form, once.
    const last = encodeDeltaRequest({ typeUrl: cluster });
    stream.write(Buffer.concat([grpcHead(last), last]));
    await level(() => expect(hub.fleet.streams()[0]?.types).toHaveLength(2));
    expect(hub.fleet.streams()[0]?.types.find(({ type }) => type === route)?.sentRevision).toBe(1);
    stream.destroy();
    session.destroy();
    await level(() => expect(hub.fleet.streams()).toEqual([]));
  });
});
