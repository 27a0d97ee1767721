/**
 * A server behind mutual TLS in a process of its own that says how long its event loop is held: Fairway with both doors,
 * or the least that has them, which answers every stream and request at once. Driven by bench/scenarios/handshakes.ts, by
 * lines of JSON.
 */
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { serverDefaults } from '../src/config/index.ts';
import { openTlsFiles } from '../src/lib/tls-files.ts';
import { startServer } from '../src/server/index.ts';
import { createLogger } from '../src/telemetry/log.ts';
import { contextOf, serverTlsOptions } from '../src/xds/io/tls.ts';
import { files } from './handshake-files.ts';

interface Doors {
  readonly address: string;
  readonly xdsAddress: string;
}

const [kind, folder = ''] = process.argv.slice(2);
const cert = join(folder, files.cert);
const key = join(folder, files.key);
const ca = join(folder, files.ca);

async function startFairway(): Promise<Doors> {
  return startServer({
    config: {
      ...serverDefaults,
      listen: '127.0.0.1:0',
      xdsListen: '127.0.0.1:0',
      store: 'memory',
      data: '',
      xdsTls: 'files',
      xdsCert: cert,
      xdsKey: key,
      xdsCa: ca,
      tlsCert: cert,
      tlsKey: key,
      tlsClientCa: ca,
    },
    log: createLogger({ level: 'silent' }),
    env: { XDG_STATE_HOME: folder },
  });
}

/** An empty gRPC message. */
const message = Buffer.alloc(5);

async function startBare(): Promise<Doors> {
  const tls = await openTlsFiles({ paths: { cert, key, ca }, onFault: (error) => console.error(error) });
  tls.close();
  const context = contextOf(tls.current);
  const xds = createSecureServer({ ...serverTlsOptions, ...context });
  xds.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.write(message);
  });
  xds.on('sessionError', () => undefined);
  const rest = createServer({ ...context, requestCert: true, rejectUnauthorized: false }, (_, answer) => {
    answer.end('{}');
  });
  return { address: await listening(rest), xdsAddress: await listening(xds) };
}

async function listening(server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const { address, xdsAddress } = await (kind === 'fairway' ? startFairway() : startBare());
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const say = (event: object): void => console.log(JSON.stringify(event));

createInterface({ input: process.stdin }).on('line', (line) => {
  const { do: order } = JSON.parse(line) as { readonly do: string };
  if (order === 'report') say({ event: 'delay', p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 });
  delay.reset();
});
say({ event: 'ready', address, xdsAddress });
