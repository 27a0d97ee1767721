/** The ClientStatusDiscoveryService over real gRPC: how requests and answers follow each other. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, type StatusObject, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  ClientStatusRequestSchema,
  ClientStatusResponseSchema,
} from '../../src/gen/envoy/service/status/v3/csds_pb.js';
import { systemClock } from '../../src/lib/clock.ts';
import type { SliceWork } from '../../src/lib/slices.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createHub } from '../../src/xds/index.ts';
import { type AskElsewhere, createXdsServer, type ElsewhereQuestion, type XdsServer } from '../../src/xds/io/index.ts';

const path = '/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus';
const same = (bytes: Buffer): Buffer => bytes;
const everything = Buffer.alloc(0);

let server: XdsServer;
let client: Client;
const measured: SliceWork[] = [];
const nothing = { answer: { chunks: [], sizeBytes: 0 }, unknown: [] };
let askElsewhere: AskElsewhere = async () => nothing;

beforeEach(async () => {
  askElsewhere = async () => nothing;
  server = await createXdsServer({
    hub: createHub({ random: Math.random }),
    log: createLogger({ level: 'silent' }),
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    random: Math.random,
    askElsewhere: (question) => askElsewhere(question),
    slices: { begin: () => undefined, end: (work) => void measured.push(work) },
  });
  client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await server.close();
});

function open(): { call: ClientDuplexStream<Buffer, Buffer>; answers: Buffer[]; ended: Promise<StatusObject> } {
  const call = client.makeBidiStreamRequest(path, same, same);
  const answers: Buffer[] = [];
  call.on('data', (bytes: Buffer) => answers.push(bytes));
  call.on('error', () => undefined);
  const ended = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  return { call, answers, ended };
}

it('answers all that was asked before the client said that it is done, in slices that are measured', async () => {
  const { call, answers, ended } = open();
  measured.length = 0;
  for (let request = 0; request < 3; request += 1) call.write(everything);
  call.end();
  expect(await ended).toMatchObject({ code: status.OK });
  expect(answers).toHaveLength(3);
  // Of those who are here, and of those who are known by name.
  expect(measured).toEqual(Array(6).fill('answer'));
});

it('ends a call that asks on and on without waiting for answers', async () => {
  const { call, ended } = open();
  for (let request = 0; request < 2_000; request += 1) call.write(everything);
  expect(await ended).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining('wait here') });
});

it('refuses what it cannot read', async () => {
  const { call, ended } = open();
  call.write(Buffer.from([0x0a, 0x7f]));
  expect(await ended).toMatchObject({ code: status.INVALID_ARGUMENT });
});

const responseOf = (...ids: string[]): Uint8Array =>
  toBinary(
    ClientStatusResponseSchema,
    create(ClientStatusResponseSchema, {
      config: ids.map((id) => ({ node: { id }, genericXdsConfigs: [{ name: 'c' }] })),
    }),
  );

async function fetchOnce(request: Buffer = everything) {
  const { call, answers, ended } = open();
  call.write(request);
  call.end();
  const { code, details } = await ended;
  const [bytes] = answers;
  return {
    code,
    details,
    config: bytes === undefined ? undefined : fromBinary(ClientStatusResponseSchema, bytes).config,
  };
}

it('tells what other servers say of theirs, and names those of which none says more', async () => {
  const questions: ElsewhereQuestion[] = [];
  askElsewhere = async (question) => {
    questions.push(question);
    const chunks = [responseOf('b1'), responseOf('c1', 'c2')];
    const sizeBytes = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return { answer: { chunks, sizeBytes }, unknown: [{ id: 'd1', cluster: 'edge' }] };
  };
  const { config } = await fetchOnce();
  expect(config?.map(({ node, genericXdsConfigs }) => [node?.id, genericXdsConfigs.length])).toEqual([
    ['b1', 1],
    ['c1', 1],
    ['c2', 1],
    ['d1', 0],
  ]);
  const matcher = { nodeId: { matchPattern: { case: 'prefix' as const, value: 'x' } } };
  const request = toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, { nodeMatchers: [matcher] }));
  expect((await fetchOnce(Buffer.from(request))).config?.map(({ node }) => node?.id)).toEqual(['b1', 'c1', 'c2']);
  expect(questions.map(({ only, maxBytes }) => [only, maxBytes])).toEqual(Array(2).fill([undefined, 64 * 1024 * 1024]));
  expect(fromBinary(ClientStatusRequestSchema, questions[1]?.request ?? everything).nodeMatchers).toHaveLength(1);
});

it('gives more than clients take by default, to one that takes it', async () => {
  const large = toBinary(
    ClientStatusResponseSchema,
    create(ClientStatusResponseSchema, { config: [{ node: { id: 'b1', cluster: 'x'.repeat(5 * 1024 * 1024) } }] }),
  );
  askElsewhere = async () => ({ answer: { chunks: [large], sizeBytes: large.byteLength }, unknown: [] });
  expect(await fetchOnce()).toMatchObject({ code: status.RESOURCE_EXHAUSTED, config: undefined });
  client.close();
  const options = { 'grpc.max_receive_message_length': 64 * 1024 * 1024 };
  client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure(), options);
  expect(await fetchOnce()).toMatchObject({ code: status.OK, config: [{ node: { id: 'b1' } }] });
});

it.each([
  ['they say that it is', undefined],
  ['it turns out to be', { chunks: [new Uint8Array(64 * 1024 * 1024 + 1)], sizeBytes: 64 * 1024 * 1024 + 1 }],
])('refuses an answer that is too large with theirs: %s', async (_how, answer) => {
  askElsewhere = async () => ({ answer, unknown: [] });
  const { code, details } = await fetchOnce();
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(details).toMatch(/larger than 67108864 bytes.*node_matchers.*exclude_resource_contents/);
});
