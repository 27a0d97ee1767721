/** A gRPC server on `node:http2`: takes connections, keeps them honest, and hands each call to its method. */
import type { X509Certificate } from 'node:crypto';
import {
  constants,
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { openLoopbackTwin, ownAddressOf } from '../../lib/loopback-twin.ts';
import { paceHandshakes } from '../../lib/paced-handshakes.ts';
import type { LiveTls } from '../../lib/tls-files.ts';
import { type Call, createCall, type SocketCall } from './call.ts';
import { keepaliveMs, keepaliveTimeoutMs } from './keepalive.ts';
import { status } from './status.ts';
import { contextOf, serverTlsOptions } from './tls.ts';

/** Path of the method → who takes its calls. */
export type Methods<C = Call> = ReadonlyMap<string, (call: C) => void>;

export interface GrpcServerOptions<C = Call> {
  readonly methods: Methods<C>;
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Default: plain text. With them, clients must show a certificate that the CAs have signed. */
  readonly tls?: LiveTls;
  readonly onHandshakeFailed?: (peer: string, failure: HandshakeFailure) => void;
}

/** How a client failed to agree with us on TLS. */
export interface HandshakeFailure {
  /** It came without a certificate, or with one that no CA of ours has signed, that has expired or was revoked. */
  readonly unknown: boolean;
  readonly words: string;
}

export interface GrpcServer {
  readonly port: number;
  /** Takes no more connections and calls; resolves when the last connection has ended. Calls are left alone. */
  stop(): Promise<void>;
  /** Breaks what is left. */
  destroy(): void;
}

/** An Envoy opens one; some clients share a connection between many. */
const maxStreamsPerConnection = 1_000;

const http2Options: ServerOptions = {
  settings: { maxConcurrentStreams: maxStreamsPerConnection, enablePush: false },
  // What is written to a stream is bounded by us, and a limit for the connection would refuse new streams on it.
  maxSessionMemory: Number.MAX_SAFE_INTEGER,
};

/** Rejects when the port cannot be taken. */
export async function startGrpcServer(options: GrpcServerOptions<SocketCall>): Promise<GrpcServer> {
  const { methods, listen, tls } = options;
  const server =
    tls === undefined
      ? createServer(http2Options)
      : createSecureServer({ ...http2Options, ...serverTlsOptions, ...contextOf(tls.current) });
  const unfollow = tls?.onChange((material) => {
    (server as Http2SecureServer).setSecureContext(contextOf(material));
  });
  const sessions = new Set<ServerHttp2Session>();
  /** Read once for each connection, so that all its streams have the same object. */
  const certificates = new WeakMap<Http2Session, X509Certificate>();

  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    const certificate = tls === undefined ? undefined : certificateOf(session);
    if (certificate !== undefined) certificates.set(session, certificate);
    const stopKeepalive = keepAlive(session);
    session.on('close', () => {
      stopKeepalive();
      sessions.delete(session);
    });
    // Its streams are closed with it, which is all that anyone here needs to know.
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const refusal = refusalOf(headers);
    if (refusal !== undefined) {
      stream.on('error', () => undefined);
      stream.respond({ ':status': refusal }, { endStream: true });
      return;
    }
    const certificate = stream.session === undefined ? undefined : certificates.get(stream.session);
    const call = createCall(stream, { peer: peerOf(stream.session?.socket), certificate });
    const take = methods.get(headers[':path'] ?? '');
    if (take === undefined) {
      call.end(status.UNIMPLEMENTED, `there is no method ${headers[':path']}`);
    } else take(call);
  });
  server.on('tlsClientError', (cause: Error, socket: TLSSocket) => {
    options.onHandshakeFailed?.(peerOf(socket), handshakeFailureOf(cause, socket));
    socket.destroy();
  });
  // A client that speaks no HTTP/2 would otherwise keep its connection for ten seconds.
  server.on('unknownProtocol', (socket: TLSSocket) => socket.destroy());
  if (tls !== undefined) paceHandshakes(server);
  await listening(server, { ...listen, host: ownAddressOf(listen.host) });
  const twin = await openLoopbackTwin(server, listen.host).catch((error: unknown) => {
    unfollow?.();
    server.close();
    throw error;
  });

  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      unfollow?.();
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      await Promise.all([stopped, twin.close()]);
    },
    destroy() {
      for (const session of sessions) session.destroy();
    },
  };
}

function listening(server: Server, { host, port }: GrpcServerOptions['listen']): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error): void => {
      const address = host.includes(':') ? `[${host}]` : host;
      reject(new Error(`listening for xDS on ${address}:${port}: ${cause.message}`, { cause }));
    };
    server.once('error', failed);
    server.listen(port, host, () => {
      server.off('error', failed);
      resolve();
    });
  });
}

/** HTTP status for what is no gRPC at all. */
function refusalOf(headers: IncomingHttpHeaders): number | undefined {
  if (headers[':method'] !== 'POST') return constants.HTTP_STATUS_METHOD_NOT_ALLOWED;
  const isGrpc = /^application\/grpc($|[+;])/.test(headers['content-type'] ?? '');
  return isGrpc ? undefined : constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE;
}

/**
 * Node ends the connection of a client whose certificate is not good as if the client had hung up, and says why on the
 * socket alone; that there is none is an error of OpenSSL.
 */
function handshakeFailureOf(cause: NodeJS.ErrnoException, { authorizationError }: TLSSocket): HandshakeFailure {
  if (authorizationError) return { unknown: true, words: `its certificate is not good: ${authorizationError}` };
  if (cause.code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') {
    return { unknown: true, words: 'there is no client certificate' };
  }
  return { unknown: false, words: cause.message };
}

function certificateOf({ socket }: ServerHttp2Session): X509Certificate | undefined {
  return (socket as TLSSocket).getPeerX509Certificate();
}

function peerOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'> | undefined): string {
  const { remoteAddress, remotePort } = socket ?? {};
  // It has hung up already.
  if (remoteAddress === undefined) return 'unknown';
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}

/**
 * Asks a silent peer for a sign of life: one that vanished without a word would hold its streams until TCP gives up,
 * after a quarter of an hour. Nothing is asked of a peer that pings by itself, as Envoy does with our bootstrap.
 */
function keepAlive(session: ServerHttp2Session): () => void {
  let heard = true;
  let overdue: NodeJS.Timeout | undefined;
  session.on('ping', () => {
    heard = true;
  });
  const timer = setInterval(() => {
    if (heard || overdue !== undefined) {
      heard = false;
      return;
    }
    overdue = setTimeout(() => session.destroy(), keepaliveTimeoutMs);
    session.ping((error) => {
      if (error !== null) return;
      clearTimeout(overdue);
      overdue = undefined;
    });
  }, keepaliveMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    clearTimeout(overdue);
  };
}
