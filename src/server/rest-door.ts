import type { AddressInfo } from 'node:net';
import type { AccessOptions, createApi, OidcOptions } from '../api/index.ts';
import { joinHostPort, type ServerConfig } from '../config/index.ts';
import { leaveNote } from '../lib/local-server.ts';
import { openLoopbackTwin, ownAddressOf } from '../lib/loopback-twin.ts';
import { openTlsFiles, type TlsFiles } from '../lib/tls-files.ts';
import type { Logger } from '../telemetry/log.ts';
import { listenOn } from './listen-on.ts';

/** Where operators and their tools come in. */
export interface RestDoor {
  /** `host:port`, with the port that was taken. */
  readonly address: string;
  close(): Promise<void>;
}

export interface RestDoorOptions {
  readonly listen: string;
  /** Where the token is that opens it to whoever can read it; undefined: nobody needs one. */
  readonly tokenFile: string | undefined;
  /** Variables that say where this user keeps files; default: those of the process. */
  readonly env: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * An answer that was begun before the door closes says that its connection stays open, and leaves it idle when it ends:
 * nobody else looks for those then, and waiting for the client to go could take longer than it takes to be killed.
 */
const idleLookMs = 50;

/** So long a request may take that came before the door closed; who does not read its answer is not waited for. */
const graceMs = 5_000;

/** Opens the door, and tells the command line of the same user where the token is. */
export async function openRestDoor(
  app: ReturnType<typeof createApi>,
  { listen, tokenFile, env = process.env }: RestDoorOptions,
): Promise<RestDoor> {
  const { host, port } = listenOn(listen);
  const open = async () => {
    // The name alone would have Fastify make a second server, which knew neither our TLS nor our pace.
    await app.listen({ host: ownAddressOf(host), port });
    return openLoopbackTwin(app.server, host);
  };
  const twin = await open().catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  const { port: taken } = app.server.address() as AddressInfo;
  const forget = tokenFile === undefined ? () => undefined : leaveNote(taken, tokenFile, env);
  return {
    address: joinHostPort(host, taken),
    async close() {
      forget();
      const looking = setInterval(() => app.server.closeIdleConnections(), idleLookMs);
      const forced = setTimeout(() => app.server.closeAllConnections(), graceMs);
      await Promise.all([app.close(), twin.close()]);
      clearInterval(looking);
      clearTimeout(forced);
    },
  };
}

/** Who is let in, as the configuration says it. */
export function accessOf(config: ServerConfig): AccessOptions {
  const { authentication, openMetrics, oidcIssuer } = config;
  const oidc: OidcOptions | undefined =
    oidcIssuer === ''
      ? undefined
      : {
          issuer: oidcIssuer,
          audience: config.oidcAudience,
          usernameClaim: config.oidcUsernameClaim,
          groupsClaim: config.oidcGroupsClaim,
        };
  return { authentication, openMetrics, oidc };
}

/** What the door proves itself with; undefined: no files are configured. */
export function openRestTls(
  { tlsCert, tlsKey, tlsClientCa }: ServerConfig,
  log: Logger,
): Promise<TlsFiles> | undefined {
  if (tlsCert === '') return undefined;
  return openTlsFiles({
    paths: { cert: tlsCert, key: tlsKey, ca: tlsClientCa === '' ? undefined : tlsClientCa },
    onFault: (error) => log.error({ event: 'tls_files_unusable', err: error }),
  });
}
