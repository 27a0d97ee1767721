/**
 * The gRPC shell of the xDS room: one server with one connection for each open stream, and the connection of a client.
 * It carries bytes and time to the machines of `xds` and decides nothing. Another transport would be another file
 * beside `connection.ts`: what the machines give is chunks of bytes.
 *
 * grpc-js is loaded when something is opened.
 */
import type { DeltaConnection, DeltaConnectionOptions } from './client.ts';
import type { XdsServer, XdsServerOptions } from './server.ts';

export type { DeltaConnection, DeltaConnectionOptions } from './client.ts';
export type { AskElsewhere, Elsewhere, ElsewhereQuestion } from './client-status.ts';
export type { PeerRefusal, XdsServer, XdsServerOptions } from './server.ts';

/** Serves a hub by gRPC. Rejects when the port cannot be taken. */
export async function createXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const { startServer } = await import('./server.ts');
  return startServer(options);
}

/** Connects a client and keeps it connected. */
export async function connectDelta(options: DeltaConnectionOptions): Promise<DeltaConnection> {
  const { openConnection } = await import('./client.ts');
  return openConnection(options);
}
