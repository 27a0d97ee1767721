import { Client, credentials, Server, ServerCredentials, type ServiceError, status } from '@grpc/grpc-js';
import { register } from '@grpc/grpc-js-xds';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Resource, typeUrls } from '../../src/xds/index.ts';
import { until } from '../support/until.ts';
import { apiListenerOf, brokenApiListener, clusterOf, endpointsOf, routesTo } from '../support/xds-messages.ts';
import { type HandServer, serveByHand } from '../support/xds-peer.ts';

// A client of state-of-the-world that has nothing to do with Envoy: gRPC's own. It asks for everything by name. Its
// xDS client is one for a process and reads its bootstrap once, so that all tests share a server.

const who = '/test.Who/Are';
const servers: Server[] = [];
const clients: Client[] = [];
let control: HandServer;
let one: number;
let two: number;

/** A gRPC server that answers with its name. */
async function backend(name: string): Promise<number> {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  server.addService(
    {
      Are: {
        path: who,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    { Are: (_call: unknown, answer: (error: null, value: Buffer) => void) => answer(null, Buffer.from(name)) },
  );
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function dial(name: string): () => Promise<string> {
  const client = new Client(`xds:///${name}`, credentials.createInsecure());
  clients.push(client);
  const same = (bytes: Buffer): Buffer => bytes;
  return () =>
    new Promise((resolve) => {
      const done = (error: ServiceError | null, value?: Buffer): void =>
        resolve(error === null ? String(value) : `${status[error.code]}: ${error.details}`);
      client.makeUnaryRequest(who, same, same, Buffer.alloc(0), { deadline: Date.now() + 5_000 }, done);
    });
}

const says = (ask: () => Promise<string>, want: string | RegExp) => {
  let last = '';
  const look = async () => {
    last = await ask();
    return typeof want === 'string' ? last === want : want.test(last);
  };
  return until(`an answer ${want}`, look, { describe: () => [last, control.frames] });
};

function service(name: string, port: number): Resource[] {
  return [
    apiListenerOf(name, `r-${name}`),
    routesTo(`r-${name}`, `c-${name}`),
    clusterOf(`c-${name}`),
    endpointsOf(`c-${name}`, port),
  ];
}

beforeAll(async () => {
  [one, two] = await Promise.all([backend('one'), backend('two')]);
  control = await serveByHand([]);
  process.env['GRPC_XDS_BOOTSTRAP_CONFIG'] = JSON.stringify({
    xds_servers: [
      {
        server_uri: `127.0.0.1:${control.xds.port}`,
        channel_creds: [{ type: 'insecure' }],
        server_features: ['xds_v3'],
      },
    ],
    node: { id: 'grpc-1', cluster: 'edge', locality: {} },
  });
  register();
});

beforeEach(() => {
  control.frames.length = 0;
  control.progress.length = 0;
});

afterAll(async () => {
  for (const client of clients) client.close();
  for (const server of servers) server.forceShutdown();
  await control?.close();
});

it('rules 1, 6: finds a server by listener, routes, cluster and endpoints, each asked for by name', async () => {
  control.commit([...service('shop', one), ...service('other', two)]);
  const ask = dial('shop');
  await says(ask, 'one');
  expect(control.frames).toEqual([
    'Listener: shop',
    'RouteConfiguration: r-shop',
    'Cluster: c-shop',
    'ClusterLoadAssignment: c-shop',
  ]);
  expect(control.hub.fleet.streams()).toMatchObject([{ node: { id: 'grpc-1' }, protocol: 'sotw' }]);

  control.frames.length = 0;
  control.commit([endpointsOf('c-shop', two)]);
  await says(ask, 'two');
  expect(control.frames).toEqual(['ClusterLoadAssignment: c-shop']);
});

it('rules 10, 21, 27: a second service is asked for beside the first; listeners and clusters come as full sets', async () => {
  const ask = dial('other');
  await says(ask, 'two');
  expect(control.frames).toEqual([
    'Listener: other shop',
    'RouteConfiguration: r-other',
    'Cluster: c-other c-shop',
    'ClusterLoadAssignment: c-other',
  ]);
});

it('rule 25: a listener that does not exist is answered by the set without it, and sent when it appears', async () => {
  const ask = dial('later');
  const waiting = ask();
  await until('an answer to the new name', () => control.frames.includes('Listener: other shop'));
  control.commit(service('later', one));
  // gRPC itself would give the name up after 15 s only.
  expect(await waiting).toBe('one');
  expect(control.frames.slice(0, 2)).toEqual(['Listener: other shop', 'Listener: later other shop']);
});

it('rules 25, 26: of a cluster without endpoints it is told so, and goes on when there are some', async () => {
  const [listener, routes, cluster] = service('empty', one);
  if (listener === undefined || routes === undefined || cluster === undefined) throw new Error('a service has four');
  control.commit([listener, routes, cluster]);
  const ask = dial('empty');
  await says(ask, /^UNAVAILABLE/);
  expect(control.frames).toContain('ClusterLoadAssignment: c-empty');
  control.commit([endpointsOf('c-empty', two)]);
  await says(ask, 'two');
});

it('rules 7, 11, 13: what it refuses is reported in its words, it keeps what it had, and others are served', async () => {
  control.commit([brokenApiListener('shop', 'r-shop'), apiListenerOf('other', 'r-shop')]);
  await until('the refusal', () => control.progress.some(({ kind }) => kind === 'rejected'));
  expect(control.progress.filter(({ kind }) => kind === 'rejected')).toMatchObject([
    { type: typeUrls.listener, name: 'shop', words: expect.stringContaining('listener_filters'), nodeId: 'grpc-1' },
  ]);
  await until('the others to be acknowledged', () =>
    control.hub.fleet.delivery(typeUrls.listener, 'other').every(({ state }) => state === 'acked'),
  );
  expect(await dial('shop')()).toBe('two');
  control.commit([apiListenerOf('shop', 'r-later'), apiListenerOf('other', 'r-other')]);
  await until('the mended form', () =>
    control.hub.fleet.delivery(typeUrls.listener, 'shop').every(({ state }) => state === 'acked'),
  );
});

it('rules 22, 27: a listener that is gone is deleted, and comes back', async () => {
  const ask = dial('later');
  await says(ask, 'one');
  control.commit([], [[typeUrls.listener, 'later']]);
  await says(ask, /^UNAVAILABLE/);
  // In another form: gRPC takes no notice of one that is equal to what was deleted.
  control.commit([apiListenerOf('later', 'r-shop')]);
  await says(ask, 'two');
});

it('rule 4: after a broken connection it comes back with what it knows, and is served on', async () => {
  const ask = dial('shop');
  await says(ask, 'one');
  const before = control.hub.fleet.streams()[0]?.streamId;
  for (const { streamId } of control.hub.fleet.streams()) control.breakStream(streamId);
  await until('another stream', () => {
    const [stream] = control.hub.fleet.streams();
    return stream !== undefined && stream.streamId !== before && stream.filledAt !== undefined;
  });
  control.commit([endpointsOf('c-later', two)]);
  await says(ask, 'two');
  // Nothing was refused, and nobody was told that something is gone.
  expect(control.progress.filter(({ kind }) => kind === 'rejected')).toEqual([]);
});
