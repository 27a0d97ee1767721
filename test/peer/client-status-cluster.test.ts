/** The ClientStatusDiscoveryService of three controllers on a real etcd: whichever is asked tells of all proxies. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type ChannelCredentials, Client, credentials } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import {
  type ClientConfig,
  ClientStatusRequestSchema,
  ClientStatusResponseSchema,
  ConfigStatus,
} from '../../src/gen/envoy/service/status/v3/csds_pb.js';
import { newDataKey } from '../../src/lib/sealer.ts';
import { type Controller, put, useTestCluster } from '../support/controllers.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { connectAs, credentialsOf, joinAs } from '../support/member.ts';
import { startToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

const names = ['a', 'b', 'c'] as const;
const controllers: Controller[] = [];

const shared = useTestCluster(async (cluster) => {
  for (const name of names) controllers.push(await cluster.start(name));
});

const path = '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus';
const same = (bytes: Buffer): Buffer => bytes;

type Init = Parameters<typeof create<typeof ClientStatusRequestSchema>>[1];

/** In order of their ids. */
async function ask(
  { xdsPort }: Pick<Controller, 'xdsPort'>,
  init: Init = {},
  asWhom: ChannelCredentials = credentials.createInsecure(),
): Promise<readonly ClientConfig[]> {
  const client = new Client(`localhost:${xdsPort}`, asWhom);
  const request = Buffer.from(toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, init)));
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  client.makeUnaryRequest(path, same, same, request, { deadline: Date.now() + 15_000 }, (error, bytes) => {
    if (error !== null || bytes === undefined) reject(error);
    else resolve(bytes);
  });
  const { config } = fromBinary(ClientStatusResponseSchema, await promise.finally(() => client.close()));
  return config.toSorted((one, other) => ((one.node?.id ?? '') < (other.node?.id ?? '') ? -1 : 1));
}

const summaryOf = (configs: readonly ClientConfig[]) =>
  configs.map(({ node, genericXdsConfigs }) => [node?.id, node?.cluster, genericXdsConfigs.length > 0]);

const all = (...told: boolean[]) => ['lb-a', 'lb-b', 'lb-c'].map((id, at) => [id, 'edge', told[at]]);

/** Lines of the log that say of whom nothing was heard. */
function incomplete({ output }: Controller) {
  const lines = output()
    .split('\n')
    .filter((line) => line.includes('"client_status_incomplete"'));
  return lines.map((line) => {
    const { controllers, proxies } = JSON.parse(line) as { controllers: { controller: string }[]; proxies: number };
    return [controllers.map(({ controller }) => controller).sort(), proxies];
  });
}

test('each controller tells of all proxies, and names those of one that does not answer', {
  timeout: 90_000,
}, async () => {
  const [a, b, c] = controllers as [Controller, Controller, Controller];
  await put(a, 'fleets/edge', {});
  await put(a, 'scopes/default/backend-pools/web', { members: [{ address: '127.0.0.1', port: 9001 }] });
  await put(a, 'scopes/default/virtual-services/shop', {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 8080, protocol: 'TCP', defaultAction: { pool: 'web' } }],
  });
  for (const [at, name] of names.entries()) {
    const { xdsPort } = controllers[at] as Controller;
    const toy = await startToyProxy({ xdsPort, node: `lb-${name}`, fleet: 'edge' });
    onTestFinished(() => toy.close());
  }

  for (const controller of controllers) {
    const configs = await until(`${controller.name} to tell that all are in step`, async () => {
      const found = await ask(controller);
      const resources = found.flatMap(({ genericXdsConfigs }) => genericXdsConfigs);
      const inStep = resources.every(({ configStatus }) => configStatus === ConfigStatus.SYNCED);
      return found.length === 3 && resources.length >= 9 && inStep && found;
    });
    expect(summaryOf(configs)).toEqual(all(true, true, true));
    const contents = (configs: readonly ClientConfig[]) =>
      configs.map(({ genericXdsConfigs }) => genericXdsConfigs.map(({ name, xdsConfig }) => [name, xdsConfig?.value]));
    // The same of each, with the bytes.
    expect(new Set(contents(configs).map((some) => JSON.stringify(some))).size).toBe(1);
    const matcher = { nodeId: { matchPattern: { case: 'exact' as const, value: 'lb-b' } } };
    expect(summaryOf(await ask(controller, { nodeMatchers: [matcher] }))).toEqual([['lb-b', 'edge', true]]);
    const brief = await ask(controller, { excludeResourceContents: true });
    expect(brief.flatMap(({ genericXdsConfigs }) => genericXdsConfigs).some(({ xdsConfig }) => xdsConfig)).toBe(false);
    expect(incomplete(controller)).toEqual([]);
  }
  // That each has its Node on record is known to all by then.
  await until('all to be on record', async () => {
    for (const controller of controllers) {
      const { body } = await controller.call('GET', '/v1/nodes');
      if (body.items.length !== 3) return false;
    }
    return true;
  });

  // One that stands still answers nothing, and holds nobody up for long.
  b.pause();
  onTestFinished(() => b.resume());
  const askedAt = performance.now();
  expect(summaryOf(await ask(a))).toEqual(all(true, false, true));
  expect(performance.now() - askedAt).toBeLessThan(10_000);
  await ask(a);
  await until('the log to say so, once', () => incomplete(a).length === 1);
  expect(incomplete(a)).toEqual([[['b'], 1]]);
  expect(await (await fetch(`http://${a.address}/metrics`)).text()).toMatch(
    /fairway_controller_questions_total\{question="clientStatus",outcome="unanswered"\} 2/,
  );
  b.resume();
  await until('it to answer again', async () => summaryOf(await ask(a)).every(([, , isTold]) => isTold));

  await c.kill();
  for (const controller of [a, b]) {
    expect(summaryOf(await ask(controller))).toEqual(all(true, true, false));
    await until('the log to say so', () => incomplete(controller).some(([silent]) => String(silent) === 'c'));
  }
});

test('a proxy with a certificate is told of itself alone, also by a controller that it is not connected to', async () => {
  const dataKeys = newDataKey();
  const [here, there] = (await Promise.all(
    ['d', 'e'].map(async (name) => {
      const store = { store: 'etcd', etcdEndpoints: shared.cluster.etcd.urls.join(','), etcdPrefix: '/tls' } as const;
      const fairway = await startFairway({ dataKeys, config: { name, ...store, xdsTls: 'own' } });
      onTestFinished(() => fairway.close());
      return fairway;
    }),
  )) as [TestFairway, TestFairway];
  await here.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
  for (const [node, at] of [
    ['one', here],
    ['two', there],
    ['three', there],
  ] as const) {
    const member = await joinAs(here, node);
    const stream = await connectAs(at, member);
    onTestFinished(() => stream.close());
    for (const asked of [here, there]) {
      const told = await until(`${node} to be told of`, async () => {
        const configs = await ask(asked, {}, credentialsOf(member));
        return configs.length > 0 && configs;
      });
      expect(told.map((config) => config.node?.id)).toEqual([node]);
    }
  }
});
