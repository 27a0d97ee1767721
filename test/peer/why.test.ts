import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificate, keyFragments } from '../support/api.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { runHere } from '../support/command-line.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Answer, startFairway, type TestFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// Who has what, and why: the configuration of a proxy, one commit on its way, and the explanation of a service.

let fairway: TestFairway;
let envoy: RunningEnvoy;
let backend: Backend;
let port: number;
let tlsPort: number;

beforeAll(async () => {
  [backend, port, tlsPort] = await Promise.all([startBackend('one'), freePort(), freePort()]);
  fairway = await startFairway();
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
  const rule = (name: string, prefix: string) => ({
    name,
    match: [{ path: { prefix } }],
    action: { forward: [{ pool: 'web' }] },
  });
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    { kind: 'Certificate', metadata: { name: 'tls' }, spec: certificate('tls').spec },
    {
      kind: 'BackendPool',
      metadata: { name: 'web' },
      spec: { members: [{ address: '127.0.0.1', port: backend.port }] },
    },
    {
      kind: 'VirtualService',
      metadata: { name: 'shop' },
      spec: {
        fleet: 'edge',
        listeners: [
          {
            name: 'web',
            port,
            protocol: 'HTTP',
            routes: [{ hosts: ['a.example'], rules: [rule('short', '/a'), rule('long', '/a/b')] }],
          },
          {
            name: 'tls',
            port: tlsPort,
            protocol: 'HTTPS',
            certificates: ['tls'],
            defaultAction: { respond: { status: 200 } },
          },
        ],
      },
    },
    {
      kind: 'Route',
      metadata: { name: 'more' },
      spec: {
        attachTo: [{ virtualService: 'shop', listener: 'web' }],
        hosts: ['a.example'],
        rules: [{ name: 'exact', match: [{ path: { exact: '/a' } }], action: { respond: { status: 204 } } }],
      },
    },
  );
  await fairway.waitFor('Route', 'more', 'Programmed', 'True');
  await fairway.waitFor('VirtualService', 'shop', 'Programmed', 'True');
});

afterAll(async () => {
  await envoy?.stop();
  await fairway?.close();
  await backend?.close();
});

interface Listed {
  readonly type: string;
  readonly name: string;
  readonly state: string;
  readonly wanted: string;
  readonly acknowledged: string;
  readonly from: readonly string[];
  readonly content?: Record<string, unknown>;
}

const configOf = async (query = ''): Promise<Listed[]> =>
  (await fairway.call('GET', `/v1/proxies/lb-1/config${query}`)).body.items;

test('the configuration of a proxy is what Envoy itself says that it has', async () => {
  const items = await until('all to be acknowledged', async () => {
    const listed = await configOf();
    return listed.length > 0 && listed.every(({ state }) => state === 'acknowledged') && listed;
  });
  const clusters = items.filter(({ type }) => type.endsWith('.Cluster'));
  const dump = JSON.parse(await envoy.admin('/config_dump?resource=dynamic_active_clusters')) as {
    configs: { version_info: string; cluster: { name: string } }[];
  };
  expect(dump.configs.map(({ cluster, version_info }) => [cluster.name, version_info]).sort()).toEqual(
    clusters.map(({ name, acknowledged }) => [name, acknowledged]).sort(),
  );
  expect(items.find(({ name }) => name === `default/shop:${port}`)?.from).toEqual(
    expect.arrayContaining(['VirtualService default/shop', 'Route default/more']),
  );
});

test('the content is readable and keeps no key', async () => {
  const [secret] = await configOf('?type=Secret&content=true');
  expect(secret?.name).toBe('default/tls');
  expect(JSON.stringify(secret)).toContain('BEGIN CERTIFICATE');
  for (const fragment of keyFragments('p256')) expect(JSON.stringify(secret)).not.toContain(fragment);
  const [cluster] = (await configOf('?type=Cluster&content=true')).filter(({ name }) => name === 'default/web');
  expect(cluster?.content).toMatchObject({ name: 'default/web', type: 'EDS', connect_timeout: '5s' });
});

test('an unknown proxy is told apart from an empty one', async () => {
  expect(await fairway.call('GET', '/v1/proxies/nobody/config')).toMatchObject({
    status: 404,
    body: { code: 'NotFound' },
  });
});

test('a commit is followed to the acknowledgement', async () => {
  const [answer] = await fairway.put({
    kind: 'BackendPool',
    metadata: { name: 'web' },
    spec: { connectTimeout: '3s', members: [{ address: '127.0.0.1', port: backend.port }] },
  });
  const { revision } = (answer as Answer).body.metadata;
  const commit = await until('the acknowledgement', async () => {
    const { body } = await fairway.call('GET', `/v1/commits/${revision}`);
    return body.proxies?.acknowledged === 1 && body;
  });
  expect(commit).toMatchObject({ revision, proxies: { concerned: 1, acknowledged: 1, waitingFor: [] }, resources: 1 });
  const times = [commit.committed, commit.settled, commit.sent.first, commit.acknowledged.last].map(Date.parse);
  expect(times).toEqual([...times].sort((a, b) => a - b));
});

test('a commit that concerns nobody says so, and one that does not exist is none', async () => {
  const [answer] = await fairway.put({ kind: 'Scope', metadata: { name: 'quiet' }, spec: {} });
  const { body } = await fairway.call('GET', `/v1/commits/${(answer as Answer).body.metadata.revision}`);
  expect(body).toMatchObject({ resources: 0, proxies: { concerned: 0, acknowledged: 0 } });
  expect((await fairway.call('GET', '/v1/commits/999999')).body.detail).toContain('has not been reached');
  expect((await fairway.call('GET', '/v1/commits/x')).status).toBe(400);
});

test('the explanation of a service names its rules in the order in which Envoy tries them', async () => {
  const { body } = await fairway.call('GET', '/v1/scopes/default/virtual-services/shop/explain');
  expect(body).toMatchObject({
    service: 'default/shop',
    fleet: { name: 'edge', exists: true, proxies: 1 },
    problems: [],
  });
  const host = body.hosts.find((candidate: { host: string }) => candidate.host === 'a.example');
  expect(host.rules.map(({ from, rule }: { from: string; rule: string }) => `${from} ${rule}`)).toEqual([
    'Route default/more exact',
    'VirtualService default/shop long',
    'VirtualService default/shop short',
  ]);
  const dump = JSON.parse(await envoy.admin('/config_dump?resource=dynamic_route_configs')) as {
    configs: { route_config: { name: string; virtual_hosts: { domains: string[]; routes: { name: string }[] }[] } }[];
  };
  const routes = dump.configs
    .flatMap(({ route_config }) => route_config.virtual_hosts)
    .find(({ domains }) => domains.includes('a.example'))?.routes;
  expect(routes?.map(({ name }) => name)).toEqual(['default/more/exact', 'default/shop/long', 'default/shop/short']);
  expect(body.sockets.map(({ port: at, served }: { port: number; served: boolean }) => [at, served])).toEqual([
    [port, true],
    [tlsPort, true],
  ]);
  for (const { proxies } of body.resources)
    expect(proxies).toMatchObject({ acknowledged: 1, of: 1, waitingFor: [], rejectedBy: [] });
});

test('the explanation says why a service is not up', async () => {
  await fairway.put({
    kind: 'VirtualService',
    metadata: { name: 'late' },
    spec: {
      fleet: 'edge',
      listeners: [{ name: 'web', port, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'gone' }] } }],
    },
  });
  const { body } = await fairway.call('GET', '/v1/scopes/default/virtual-services/late/explain');
  expect(body.problems.map(({ reason }: { reason: string }) => reason)).toEqual([
    'ListenerConflict',
    'ReferenceMissing',
    'NotAccepted',
  ]);
  expect(body.sockets).toEqual([expect.objectContaining({ port, served: false, owner: 'default/shop' })]);
  expect((await fairway.call('GET', '/v1/scopes/default/virtual-services/nobody/explain')).status).toBe(404);
});

const fairwayCli = (...args: string[]) => runHere(args, { env: { FAIRWAY_SERVER: fairway.url } });

test('fairway explain is to be read from top to bottom', async () => {
  const { code, out } = await fairwayCli('explain', 'vs', 'shop');
  expect(code).toBe(0);
  const lines = out.split('\n').map((line) => line.trim());
  expect(lines).toEqual(
    expect.arrayContaining([
      'VirtualService default/shop',
      'fleet edge: 1 connected; spec.fleet names it',
      `all addresses, port ${port}: Envoy listener default/shop/any:${port}`,
      'exact /a → respond 204  Route default/more, rule exact',
      `RouteConfiguration default/shop:${port}: 1 of 1 proxies have it`,
    ]),
  );
  const late = await fairwayCli('explain', 'vs/late');
  expect(late.out).toContain('Accepted ListenerConflict: port');
  expect(late.out).toContain('not served; default/shop has it');
  expect(await fairwayCli('explain', 'pool', 'web')).toMatchObject({
    code: 2,
    err: expect.stringContaining('fairway explain vs shop'),
  });
});

test('fairway config diff finds nothing between a proxy and its own dump, and what differs between two', async () => {
  const admin = `http://${envoy.adminAddress}`;
  const same = await fairwayCli('config', 'diff', 'lb-1', '--dump', admin);
  expect(same).toMatchObject({ code: 0, out: '', err: expect.stringMatching(/No difference in \d\d? resources/) });
  const other = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'nobody', node: 'lb-2' });
  try {
    await until('the other proxy', async () => (await fairway.call('GET', '/v1/proxies/lb-2')).status === 200);
    const different = await fairwayCli('config', 'diff', 'lb-1', 'lb-2');
    expect(different.code).toBe(1);
    expect(different.out).toContain('Cluster default/web');
  } finally {
    await other.stop();
  }
  expect((await fairwayCli('config', 'diff', 'lb-1')).code).toBe(2);
  expect((await fairwayCli('config', 'diff', 'lb-1', '--dump', 'http://127.0.0.1:1')).code).toBe(3);
});

test('fairway config dump prints one type', async () => {
  const { code, out } = await fairwayCli('config', 'dump', 'lb-1', '--type', 'Cluster');
  expect(code).toBe(0);
  expect(out).toContain('name: default/web');
  expect(out).not.toContain('RouteConfiguration');
});
