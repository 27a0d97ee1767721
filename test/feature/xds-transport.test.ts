/** What a client may do to the server, and what the network may do to both. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import {
  createHub,
  encodeNode,
  type Frame,
  type Hub,
  type HubOptions,
  joinFrame,
  type Resource,
} from '../../src/xds/index.ts';
import { createXdsServer, type XdsServer, type XdsServerOptions } from '../../src/xds/io/index.ts';
import { encodeSotwRequest } from '../../src/xds/sotw-wire.ts';
import {
  type DeltaRequestInit,
  type DeltaResponse,
  decodeDeltaResponse,
  encodeDeltaRequest,
} from '../../src/xds/wire.ts';
import { adsPath, grpcMessage, type RawCall, type RawClient, rawClient, sotwPath } from '../support/raw-grpc.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { cluster, endpoint, listener, resource, route } from '../support/xds-rig.ts';

/** Codes of gRPC. */
const [invalidArgument, resourceExhausted, unimplemented, unavailable] = [3, 8, 12, 14];

/** A thread that sends a message again and again, and says how many bytes of them were taken off it. */
const flood = `
  const { workerData: { port, path, message, sent } } = require('node:worker_threads');
  const client = require('node:http2').connect('http://127.0.0.1:' + port).on('error', () => {});
  const call = client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  call.on('error', () => {});
  const next = () => call.write(message, () => { sent[0] += message.length; next(); });
  next();
`;

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

interface Served {
  readonly hub: Hub;
  readonly server: XdsServer;
  readonly address: string;
  readonly client: RawClient;
  commit(...puts: Resource[]): void;
}

async function serve(
  resources: readonly Resource[],
  options: Partial<Omit<XdsServerOptions, 'hub'>> & {
    hubOptions?: Partial<HubOptions>;
    /** Whether a frame is lost on its way. */
    loses?: (frame: Frame) => boolean;
  } = {},
): Promise<Served> {
  const { hubOptions, loses = () => false, ...rest } = options;
  const hub = createHub({ random: Math.random, ...hubOptions });
  let revision = 1;
  hub.commit({ revision, puts: resources, removals: [], audiences: [{ subject: 'cluster/edge', audiences: ['all'] }] });
  const lossy: Hub = {
    ...hub,
    next(now) {
      const work = hub.next(now);
      return work?.kind === 'frame' && loses(work.frame) ? { kind: 'more' } : work;
    },
  };
  const server = await createXdsServer({
    hub: lossy,
    log: createLogger({ level: 'silent' }),
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    random: Math.random,
    ...rest,
  });
  cleanUp.push(() => server.close({ graceMs: 500 }));
  const address = `127.0.0.1:${server.port}`;
  const client = rawClient(address);
  cleanUp.push(() => client.close());
  return {
    hub,
    server,
    address,
    client,
    commit(...puts) {
      revision += 1;
      hub.commit({ revision, puts, removals: [], audiences: [] });
    },
  };
}

const node = encodeNode({ id: 'n1', cluster: 'edge' });
const first = (request: DeltaRequestInit) => encodeDeltaRequest({ node, ...request });

/** Answers all that comes from now on; gives what came, as it grows. */
function answering(call: RawCall): readonly DeltaResponse[] {
  const responses: DeltaResponse[] = [];
  call.stream.on('data', () => {
    for (const bytes of call.messages.slice(responses.length)) {
      const decoded = decodeDeltaResponse(bytes);
      if (!decoded.ok) throw new Error(decoded.error);
      responses.push(decoded.value);
      call.send(encodeDeltaRequest({ typeUrl: decoded.value.typeUrl, nonce: decoded.value.nonce }));
    }
  });
  return responses;
}

describe('requests', () => {
  it('of up to 64 MiB are taken', async () => {
    const { hub, client } = await serve([]);
    const call = client.call(adsPath);
    // Envoy lists all that it has when it comes back: 60,000 clusters are above the usual 4 MiB of gRPC.
    const subscribe = Array.from({ length: 60_000 }, (_, at) => `${'x'.repeat(500)}-${at}`);
    call.send(first({ typeUrl: endpoint, subscribe }));
    await until('the request', () => hub.fleet.streams()[0]?.types[0]?.subscribed === 60_000);
  });

  it('that come faster than they are taken wait with their client', async () => {
    const { server } = await serve([]);
    const sent = new Float64Array(new SharedArrayBuffer(8));
    const message = grpcMessage(first({ typeUrl: cluster, nonce: 'n'.repeat(64 * 1024) }));
    const flooding = new Worker(flood, { eval: true, workerData: { port: server.port, path: adsPath, message, sent } });
    cleanUp.push(async () => void (await flooding.terminate()));
    await until('the first bytes', () => (sent[0] ?? 0) > 0);
    // Nothing is taken meanwhile.
    for (const end = performance.now() + 1_500; performance.now() < end; );
    expect((sent[0] ?? 0) / 1e6).toBeLessThan(3);
  });

  it('above that end the stream with a clear status, before they are there', async () => {
    const { hub, client } = await serve([]);
    const call = client.call(adsPath);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(64 * 1024 * 1024 + 1, 1);
    call.stream.write(prefix);
    expect(await call.ended).toEqual({ code: resourceExhausted, words: expect.stringContaining('67108864') });
    expect(hub.fleet.streams()).toEqual([]);
  });

  it.each([
    ['malformed', Uint8Array.of(0x0a, 0xff), invalidArgument, /^reading a request/],
    ['a number where a text should be', Uint8Array.of(0x10, 1), invalidArgument, /node/],
    ['an empty message', Uint8Array.of(), invalidArgument, /node/],
    [
      'rule 2: a node without an id',
      encodeDeltaRequest({ typeUrl: cluster, node: encodeNode({ id: '' }) }),
      invalidArgument,
      /node/,
    ],
    ['rule 3: no type', first({ typeUrl: '' }), invalidArgument, /type_url/],
  ] as const)('that are not well end the stream with a clear status: %s', async (_name, request, code, words) => {
    const { hub, client } = await serve([]);
    for (const path of [adsPath, sotwPath]) {
      const call = client.call(path);
      // Of the other protocol the bytes mean something else, but never anything good.
      call.send(request);
      const ended = await call.ended;
      expect(ended.code).toBe(code);
      if (path === adsPath) expect(ended.words).toMatch(words);
    }
    await until('nothing to be left', () => hub.fleet.streams().length === 0);
  });

  it('rule 3: of unknown types are answered, and the stream lives on', async () => {
    const { hub, client } = await serve([resource(cluster, 'c1')]);
    const call = client.call(adsPath);
    call.send(first({ typeUrl: 'type.googleapis.com/nobody.knows.This', subscribe: ['x'] }));
    call.send(encodeDeltaRequest({ typeUrl: 'no URL at all', subscribe: ['*'] }));
    call.send(encodeDeltaRequest({ typeUrl: cluster }));
    await until('three answers', () => call.messages.length === 3);
    expect(hub.fleet.streams()[0]?.types).toHaveLength(3);
  });

  it('rules 9, 10: with forged nonces change nothing', async () => {
    const { hub, client } = await serve([resource(route, 'r1')]);
    for (const [path, forged] of [
      [adsPath, encodeDeltaRequest({ typeUrl: route, nonce: 'forged', error: { code: 13, message: 'no' } })],
      [
        sotwPath,
        encodeSotwRequest({ typeUrl: route, names: ['r1'], nonce: 'forged', error: { code: 13, message: 'no' } }),
      ],
    ] as const) {
      const call = client.call(path);
      call.send(
        path === adsPath
          ? first({ typeUrl: route, subscribe: ['r1'] })
          : encodeSotwRequest({ node, typeUrl: route, names: ['r1'] }),
      );
      await until('the route', () => call.messages.length === 1);
      for (let at = 0; at < 1_000; at++) call.send(forged);
      call.send(
        path === adsPath ? encodeDeltaRequest({ typeUrl: listener }) : encodeSotwRequest({ typeUrl: listener }),
      );
      await until('the last request', () => call.messages.length === 2);
      expect(hub.convictions()).toEqual([]);
      expect(hub.fleet.streams().at(-1)?.types).toMatchObject([{ type: listener }, { type: route, pending: 1 }]);
    }
  });

  it('of compressed messages, and of methods that do not exist, are refused in words', async () => {
    const { client } = await serve([]);
    const compressed = client.call(adsPath);
    compressed.stream.write(Buffer.from([1, 0, 0, 0, 1, 0]));
    expect(await compressed.ended).toMatchObject({ code: unimplemented, words: expect.stringContaining('compressed') });
    const nowhere = client.call('/nobody/Knows');
    expect(await nowhere.ended).toMatchObject({ code: unimplemented });
  });

  it('of 100,000 names are answered in bounded pieces while others are served', async () => {
    const { commit, client } = await serve([resource(cluster, 'c1')]);
    const greedy = client.call(adsPath);
    const subscribe = Array.from({ length: 100_000 }, (_, at) => `${'long '.repeat(20)}${at}`);
    const responses = answering(greedy);
    greedy.send(first({ typeUrl: endpoint, subscribe }));
    const other = client.call(adsPath);
    other.send(first({ typeUrl: cluster }));
    await until('the other client to be served', () => other.messages.length === 1);
    const removed = () => responses.reduce((sum, response) => sum + response.removed.length, 0);
    await until('all to be answered', () => removed() === 100_000, { describe: removed });
    expect(Math.max(...greedy.messages.map(({ byteLength }) => byteLength))).toBeLessThan(3.1 * 1024 * 1024);
    commit(resource(endpoint, `${'long '.repeat(20)}7`));
    await until('the one that appeared', () => greedy.messages.at(-1)?.includes(`${'long '.repeat(20)}7=1`));
  });

  it('of more names than anyone needs end the stream', async () => {
    const { hub, client } = await serve([]);
    const call = client.call(adsPath);
    call.send(first({ typeUrl: endpoint, subscribe: Array.from({ length: 1_000_001 }, (_, at) => `${at}`) }));
    expect(await call.ended).toMatchObject({ code: invalidArgument, words: expect.stringContaining('1000000 names') });
    expect(hub.fleet.streams()).toEqual([]);
  });

  it('rule 42: leave no memory behind when their stream closes', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { hub, client } = await serve(Array.from({ length: 100 }, (_, at) => resource(cluster, `c${at}`)));
    const count = 30_000;
    const round = async (at: number): Promise<number> => {
      for (const path of [adsPath, sotwPath]) {
        const call = client.call(path);
        const names = Array.from({ length: count }, (_, n) => `round ${at} name ${n}`);
        const versions = new Map(names.slice(0, 10_000).map((name) => [name, 'v']));
        const metadata = { large: 'x'.repeat(60_000) };
        const newNode = encodeNode({ id: `n${at}`, cluster: `cluster ${at}`, metadata });
        call.send(
          path === adsPath
            ? encodeDeltaRequest({ node: newNode, typeUrl: endpoint, subscribe: names, initialVersions: versions })
            : encodeSotwRequest({ node: newNode, typeUrl: endpoint, names }),
        );
        for (let type = 0; type < 100; type++) {
          const typeUrl = `${at}/${type}`;
          call.send(path === adsPath ? encodeDeltaRequest({ typeUrl }) : encodeSotwRequest({ typeUrl, names: ['x'] }));
        }
        await until('the names', () =>
          hub.fleet.streams().some(({ types }) => types.some((one) => one.subscribed === count)),
        );
        call.stream.close();
        await until('the end', () => hub.fleet.streams().length === 0);
      }
      hub.takeProgress();
      collect();
      return process.memoryUsage().heapUsed;
    };
    // The first rounds warm up what is kept for good.
    for (let at = 0; at < 2; at++) await round(at);
    const before = await round(2);
    let after = before;
    for (let at = 3; at < 7; at++) after = await round(at);
    // One round holds more than 20 MB while it lasts.
    expect((after - before) / 2 ** 20).toBeLessThan(4);
  });
});

describe('clients that read no more', () => {
  const large = (content: string) => resource(route, 'r1', content.repeat(500_000));

  async function stuck(options: Parameters<typeof serve>[1] = {}) {
    const served = await serve([large('x')], options);
    const call = served.client.call(adsPath);
    call.stream.pause();
    call.send(first({ typeUrl: route, subscribe: ['r1'] }));
    await until('the frame to be made', () => served.hub.fleet.streams()[0]?.types[0]?.pending === 1);
    return { ...served, call };
  }

  it('are cut off after a while, counted, and may come back', async () => {
    const cut = vi.fn();
    const { hub, client, call } = await stuck({ slowLimitMs: 300, onSlow: { count: () => undefined, cut } });
    await until('the cut', () => hub.fleet.streams().length === 0);
    expect(cut).toHaveBeenCalledTimes(1);
    // The call itself ends though its trailers can never be sent.
    expect((await call.ended).code).toBe(-1);
    const again = client.call(adsPath);
    again.send(first({ typeUrl: route, subscribe: ['r1'] }));
    await until('the route', () => again.messages.length === 1);
  });

  it('are not cut off for being slow, as long as they read', async () => {
    const cut = vi.fn();
    const { hub, call, commit } = await stuck({ slowLimitMs: 1_000, onSlow: { count: () => undefined, cut } });
    for (const content of ['a', 'b', 'c']) {
      const since = performance.now();
      await until('half of the limit to pass without reading', () => performance.now() - since > 500);
      call.stream.resume();
      await until('what was sent', () => call.messages.length > 0);
      const decoded = decodeDeltaResponse(call.messages.at(-1) as Buffer);
      if (!decoded.ok) throw new Error(decoded.error);
      call.stream.pause();
      call.send(encodeDeltaRequest({ typeUrl: route, nonce: decoded.value.nonce }));
      commit(large(content));
    }
    expect(hub.fleet.streams()).toHaveLength(1);
    expect(cut).not.toHaveBeenCalled();
  });

  it('are told as slow once a response has been waiting for 5 s, and no longer when they read', async () => {
    const counts: number[] = [];
    const { call } = await stuck({ onSlow: { count: (count) => counts.push(count), cut: () => undefined } });
    await until('to be slow', () => counts.length === 1);
    call.stream.resume();
    await until('to be slow no more', () => counts.length === 2);
    expect(counts).toEqual([1, 0]);
  });

  it('do not hold up a shutdown', async () => {
    const { server } = await stuck();
    const start = performance.now();
    await server.close({ graceMs: 300 });
    expect(performance.now() - start).toBeLessThan(3_000);
  });
});

describe('connections', () => {
  it('with many pings are let be', async () => {
    const { client } = await serve([resource(cluster, 'c1')]);
    const call = client.call(adsPath);
    call.send(first({ typeUrl: cluster }));
    await until('an answer', () => call.messages.length === 1);
    for (let at = 0; at < 500; at++) {
      await new Promise<void>((resolve, reject) =>
        client.session.ping((error) => (error === null ? resolve() : reject(error))),
      );
    }
    call.send(encodeDeltaRequest({ typeUrl: cluster, subscribe: ['c1'] }));
    await until('the next answer', () => call.messages.length === 2);
  });

  it('that break in the middle of a message free their streams', async () => {
    const { hub, server } = await serve([resource(cluster, 'c1')]);
    const proxy = await startTcpProxy(server.port);
    const client = rawClient(`127.0.0.1:${proxy.port}`);
    const call = client.call(adsPath);
    call.send(first({ typeUrl: cluster }));
    await until('the stream', () => hub.fleet.streams().length === 1);
    call.stream.write(grpcMessage(new Uint8Array(1_000_000)).subarray(0, 500_000));
    await proxy.close();
    await until('the end', () => hub.fleet.streams().length === 0);
    expect(server.connections).toBe(0);
  });

  it('rule 40: streams end at a random age, each at its own, with UNAVAILABLE', async () => {
    const randoms = [0, 0.5, 1];
    const { hub, client } = await serve([resource(cluster, 'c1')], {
      maxStreamAgeMs: { from: 100, to: 1_100 },
      random: () => randoms.shift() ?? 0,
    });
    // The first number is the compare's.
    const start = performance.now();
    const calls = [client.call(adsPath), client.call(sotwPath)];
    const ages = await Promise.all(
      calls.map(async (call) => {
        const ended = await call.ended;
        return { ...ended, ms: performance.now() - start };
      }),
    );
    expect(ages.map(({ code }) => code)).toEqual([unavailable, unavailable]);
    const [early = 0, late = 0] = ages.map(({ ms }) => ms).sort((a, b) => a - b);
    expect(early).toBeGreaterThanOrEqual(590);
    expect(late - early).toBeGreaterThan(300);
    expect(hub.fleet.streams()).toEqual([]);
  });

  it('rule 40: a server that stops ends its streams with UNAVAILABLE, and takes no new ones', async () => {
    const { server, client, address } = await serve([resource(cluster, 'c1')]);
    const call = client.call(adsPath);
    call.send(first({ typeUrl: cluster }));
    await until('an answer', () => call.messages.length === 1);
    const closed = server.close({ graceMs: 2_000 });
    expect(await call.ended).toMatchObject({ code: unavailable });
    await closed;
    const late = rawClient(address);
    cleanUp.push(() => late.close());
    expect((await late.call(adsPath).ended).code).toBe(-1);
  });

  it('rule 40: new streams are let in at a rate, in order, and none is refused', async () => {
    const { client } = await serve([resource(cluster, 'c1')], {
      hubOptions: { admission: { streamsPerS: 20, burst: 5 } },
    });
    const start = performance.now();
    const calls = Array.from({ length: 15 }, (_, at) => {
      const call = client.call(adsPath);
      call.send(encodeDeltaRequest({ node: encodeNode({ id: `n${at}`, cluster: 'edge' }), typeUrl: cluster }));
      return call;
    });
    const served = () => calls.filter(({ messages }) => messages.length > 0).length;
    await until('the first', () => served() >= 5);
    await until('all', () => served() === 15);
    // Ten of them at 20 a second.
    expect(performance.now() - start).toBeGreaterThan(400);
  });
});

describe('the slow compare', () => {
  it('repairs a message that was dropped, and nothing else', async () => {
    let losing = true;
    const { client, commit } = await serve([resource(route, 'r1'), resource(cluster, 'c1')], {
      hubOptions: { answerMs: 100 },
      compareEveryMs: { from: 400, to: 500 },
      loses: (frame) => losing && Buffer.from(joinFrame(frame)).includes('r1=2'),
    });
    const call = client.call(adsPath);
    call.send(first({ typeUrl: route, subscribe: ['r1'] }));
    call.send(encodeDeltaRequest({ typeUrl: cluster }));
    const responses = answering(call);
    const texts = () =>
      responses.flatMap(({ resources }) => resources.map(({ value }) => new TextDecoder().decode(value)));
    const received = (wanted: string) => until(wanted, () => texts().includes(wanted), { describe: texts });
    await received('r1=1');
    commit(resource(route, 'r1', '2'));
    commit(resource(cluster, 'c1', '2'));
    // What came after it is there, and it is not.
    await received('c1=2');
    losing = false;
    await received('r1=2');
    expect(texts().sort()).toEqual(['c1=1', 'c1=2', 'r1=1', 'r1=2']);
  });
});
