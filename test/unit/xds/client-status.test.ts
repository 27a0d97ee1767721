/** The answer of the ClientStatusDiscoveryService, made of a hub without sockets. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import {
  ClientStatusRequestSchema,
  type ClientStatusResponse,
  ClientStatusResponseSchema,
} from '../../../src/gen/envoy/service/status/v3/csds_pb.js';
import { answerClientStatus, joinFrame, nameClients, readClientStatusRequest } from '../../../src/xds/index.ts';
import { finish } from '../../../src/xds/pieces.ts';
import { cluster, endpoint, Rig, resource } from '../../support/xds-rig.ts';

const mebibyte = 1024 * 1024;

function ask(rig: Rig, init: Parameters<typeof create<typeof ClientStatusRequestSchema>>[1], maxBytes = 64 * mebibyte) {
  const request = readClientStatusRequest(toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, init)));
  if (!request.ok) throw new Error(request.error);
  const pieces = answerClientStatus(rig.hub, request.value, { maxBytes });
  for (let count = 1; ; count += 1) {
    const { done, value } = pieces.next();
    if (done) return { pieces: count, answer: value };
  }
}

function decoded({ answer }: ReturnType<typeof ask>): ClientStatusResponse {
  if (!answer.ok) throw new Error(answer.error);
  return fromBinary(ClientStatusResponseSchema, joinFrame(answer.value));
}

function withProxies(count: number, names: number): Rig {
  const rig = new Rig();
  rig.commit(Array.from({ length: names }, (_, at) => resource(cluster, `c${at}`)));
  for (let at = 0; at < count; at += 1) rig.join({ typeUrl: cluster }, { id: `n${at}`, cluster: 'edge' }).settle();
  return rig;
}

it('tells of many proxies in pieces, all of it in one answer', () => {
  const rig = withProxies(300, 3);
  const made = ask(rig, {});
  expect(made.pieces).toBeGreaterThan(300);
  const { config } = decoded(made);
  expect(config.map(({ node }) => node?.id)).toEqual(Array.from({ length: 300 }, (_, at) => `n${at}`));
  expect(config[299]?.genericXdsConfigs.map(({ name }) => name)).toEqual(['c0', 'c1', 'c2']);
  // Pieces of memory worth handing to a socket.
  expect(made.answer.ok && made.answer.value.chunks.length).toBeLessThan(10);
});

it('tells of a proxy with very many resources in pieces, in order', () => {
  const rig = withProxies(1, 5_000);
  const made = ask(rig, { excludeResourceContents: true });
  // Its names, their order, and what is said of them.
  expect(made.pieces).toBeGreaterThan(80);
  const names = decoded(made).config[0]?.genericXdsConfigs.map(({ name }) => name) ?? [];
  expect(names).toHaveLength(5_000);
  expect(names).toEqual(names.toSorted());
});

it('gives up an answer that is larger than it may be, soon, and says how to ask for less', () => {
  const rig = withProxies(20, 1_000);
  const whole = ask(rig, {});
  const made = ask(rig, {}, 16 * 1024);
  expect(made.pieces).toBeLessThan(whole.pieces / 10);
  expect(made.answer).toEqual({ ok: false, error: expect.stringMatching(/node_matchers.*exclude_resource_contents/) });
  const matcher = { nodeId: { matchPattern: { case: 'exact' as const, value: 'n7' } } };
  expect(decoded(ask(rig, { nodeMatchers: [matcher] }, 256 * 1024)).config.map(({ node }) => node?.id)).toEqual(['n7']);
});

it('passes on what of a request counts, which has a bound', () => {
  const exact = (value: string) => ({ nodeId: { matchPattern: { case: 'exact' as const, value } } });
  const encode = (init: Parameters<typeof create<typeof ClientStatusRequestSchema>>[1]) =>
    toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, init));
  // Whoever asks may say all that it is.
  const said = { nodeMatchers: [exact('n1'), exact('n2')], excludeResourceContents: true };
  const read = readClientStatusRequest(encode({ ...said, node: { id: 'a tool', cluster: 'x'.repeat(60_000) } }));
  expect(read.ok && fromBinary(ClientStatusRequestSchema, read.value.asked)).toMatchObject(
    create(ClientStatusRequestSchema, said),
  );
  const many = (count: number) =>
    readClientStatusRequest(encode({ nodeMatchers: Array(count).fill(exact('lb-1234')) }));
  const most = many(500);
  expect(most.ok && most.value.asked.byteLength).toBeLessThanOrEqual(8 * 1024);
  expect(many(700)).toEqual({ ok: false, error: expect.stringContaining('more than 8192 bytes') });
});

it('names clients that are elsewhere, as far as they are asked for, and not those that are here', () => {
  const rig = withProxies(2, 1);
  const clients = ['n1', 'n8', 'n9', 'm9'].map((id) => ({ id, cluster: 'edge' }));
  const named = (
    init: Parameters<typeof create<typeof ClientStatusRequestSchema>>[1],
    only?: string,
    maxBytes = 99,
  ) => {
    const encoded = toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, init));
    const request = readClientStatusRequest(encoded);
    if (!request.ok) throw new Error(request.error);
    const made = finish(nameClients(rig.hub, clients, request.value, { only, maxBytes }));
    return made.ok ? fromBinary(ClientStatusResponseSchema, joinFrame(made.value)).config : made.error;
  };
  expect(named({})).toMatchObject([
    { node: { id: 'n8', cluster: 'edge' }, genericXdsConfigs: [] },
    { node: { id: 'n9' } },
    { node: { id: 'm9' } },
  ]);
  const matcher = { nodeId: { matchPattern: { case: 'prefix' as const, value: 'n' } } };
  expect(named({ nodeMatchers: [matcher] })).toMatchObject([{ node: { id: 'n8' } }, { node: { id: 'n9' } }]);
  expect(named({}, 'm9')).toMatchObject([{ node: { id: 'm9' } }]);
  expect(named({}, undefined, 10)).toMatch(/larger than 10 bytes/);
});

it('goes on when a proxy leaves, or asks for more, while it is made', () => {
  const rig = withProxies(3, 2_000);
  const clients = rig.hub.fleet.streams();
  expect(clients).toHaveLength(3);
  const late = rig.join({ typeUrl: cluster }, { id: 'late', cluster: 'edge' });
  late.settle();
  const request = readClientStatusRequest(new Uint8Array());
  const pieces = request.ok ? answerClientStatus(rig.hub, request.value, { maxBytes: mebibyte }) : undefined;
  for (let piece = 0; piece < 3; piece += 1) pieces?.next();
  late.send({ typeUrl: endpoint, subscribe: ['c1'] });
  late.stream.close(rig.now);
  let last = pieces?.next();
  while (last?.done === false) last = pieces?.next();
  const answer = last?.done ? last.value : undefined;
  const config = answer?.ok ? fromBinary(ClientStatusResponseSchema, joinFrame(answer.value)).config : [];
  expect(config.slice(0, 3).map(({ genericXdsConfigs }) => genericXdsConfigs.length)).toEqual([2_000, 2_000, 2_000]);
  expect(config[3]?.genericXdsConfigs).toEqual([]);
});
