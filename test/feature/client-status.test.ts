/** The ClientStatusDiscoveryService over real gRPC: how requests and answers follow each other. */
import { Client, type ClientDuplexStream, credentials, type StatusObject, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { SliceWork } from '../../src/lib/slices.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createHub } from '../../src/xds/index.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/io/index.ts';

const path = '/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus';
const same = (bytes: Buffer): Buffer => bytes;
const everything = Buffer.alloc(0);

let server: XdsServer;
let client: Client;
const measured: SliceWork[] = [];

beforeEach(async () => {
  server = await createXdsServer({
    hub: createHub({ random: Math.random }),
    log: createLogger({ level: 'silent' }),
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    random: Math.random,
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
  expect(measured).toEqual(['answer', 'answer', 'answer']);
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
