import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ClientResourceStatus } from '../../src/gen/envoy/admin/v3/config_dump_shared_pb.js';
import {
  type ClientConfig,
  ClientStatusRequestSchema,
  ClientStatusResponseSchema,
  ConfigStatus,
} from '../../src/gen/envoy/service/status/v3/csds_pb.js';
import { typeUrls } from '../../src/xds/index.ts';
import { certificate, keyFragments } from '../support/api.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// The ClientStatusDiscoveryService, asked with Envoy's own messages about a real Envoy.

let fairway: TestFairway;
let envoy: RunningEnvoy;
let client: Client;

beforeAll(async () => {
  const port = await freePort();
  fairway = await startFairway();
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
  client = new Client(`127.0.0.1:${fairway.xdsPort}`, credentials.createInsecure());
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    { kind: 'Certificate', metadata: { name: 'tls' }, spec: certificate('tls').spec },
    {
      kind: 'VirtualService',
      metadata: { name: 'shop' },
      spec: {
        fleet: 'edge',
        listeners: [
          { name: 'tls', port, protocol: 'HTTPS', certificates: ['tls'], defaultAction: { respond: { status: 200 } } },
        ],
      },
    },
  );
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
  await fairway.waitFor('Certificate', 'tls', 'Programmed', 'True');
});

afterAll(async () => {
  client?.close();
  await envoy?.stop();
  await fairway?.close();
});

type Init = Parameters<typeof create<typeof ClientStatusRequestSchema>>[1];

const service = '/envoy.service.status.v3.ClientStatusDiscoveryService';
const encodeRequest = (init: Init): Buffer =>
  Buffer.from(toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, init)));
const decode = (bytes: Buffer) => fromBinary(ClientStatusResponseSchema, bytes);

function ask(init: Init): Promise<{ readonly configs: readonly ClientConfig[]; readonly bytes: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ configs: readonly ClientConfig[]; bytes: Buffer }>();
  const same = (bytes: Buffer): Buffer => bytes;
  client.makeUnaryRequest(`${service}/FetchClientStatus`, same, same, encodeRequest(init), (error, bytes) => {
    if (error !== null || bytes === undefined) reject(error);
    else resolve({ configs: decode(bytes).config, bytes });
  });
  return promise;
}

test('it says who is connected and what each has, all of it in step', async () => {
  const config = await until('all to be in step', async () => {
    const [only] = (await ask({})).configs;
    return only?.genericXdsConfigs.every(({ configStatus }) => configStatus === ConfigStatus.SYNCED) && only;
  });
  expect(config.node).toMatchObject({ id: 'lb-1', cluster: 'edge' });
  const listener = config.genericXdsConfigs.find(({ typeUrl }) => typeUrl === typeUrls.listener);
  expect(listener).toMatchObject({
    clientStatus: ClientResourceStatus.ACKED,
    xdsConfig: { typeUrl: typeUrls.listener },
  });
  const secret = config.genericXdsConfigs.find(({ typeUrl }) => typeUrl === typeUrls.secret);
  expect(secret).toMatchObject({ name: 'default/tls', clientStatus: ClientResourceStatus.ACKED });
  expect(secret?.xdsConfig).toBeUndefined();
});

test('no key is in any of it, and contents are left out when asked', async () => {
  const { bytes } = await ask({});
  for (const fragment of keyFragments('p256')) expect(bytes.includes(fragment)).toBe(false);
  const { configs } = await ask({ excludeResourceContents: true });
  expect(configs[0]?.genericXdsConfigs.every(({ xdsConfig }) => xdsConfig === undefined)).toBe(true);
});

test.each([
  ['exact', 'lb-1', 1],
  ['prefix', 'lb', 1],
  ['suffix', '-1', 1],
  ['contains', 'b-', 1],
  ['exact', 'lb-2', 0],
] as const)('it is asked by node id: %s %s', async (kind, value, count) => {
  const { configs } = await ask({ nodeMatchers: [{ nodeId: { matchPattern: { case: kind, value } } }] });
  expect(configs).toHaveLength(count);
});

test('what cannot be matched by is refused by name', async () => {
  const refused = await ask({ nodeMatchers: [{ nodeMetadatas: [{}] }] }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining('node_metadatas') });
});

test('a stream is answered as often as it asks', async () => {
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(`${service}/StreamClientStatus`, same, same);
  const answers: number[] = [];
  call.on('data', (bytes: Buffer) => answers.push(decode(bytes).config.length));
  call.write(encodeRequest({}));
  await until('the first answer', () => answers.length === 1);
  call.write(encodeRequest({ nodeMatchers: [{ nodeId: { matchPattern: { case: 'exact', value: 'nobody' } } }] }));
  await until('the second answer', () => answers.length === 2);
  expect(answers).toEqual([1, 0]);
  call.end();
});
