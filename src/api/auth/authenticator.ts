import type { TLSSocket } from 'node:tls';
import { createBuckets, type Rate, tokenPrefix } from '../../access/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { err, ok } from '../../lib/result.ts';
import type { Tokens } from '../ports.ts';
import { createClientCertificates, hasCertificate } from './client-certificate.ts';
import type { Credential, Login, LoginRefusal } from './credential.ts';
import { createOidc, type OidcOptions } from './oidc.ts';
import { createStaticTokens } from './static-tokens.ts';

/** What a request says about whoever sent it. */
export interface Claim {
  /** The header of that name. */
  readonly authorization: string | undefined;
  readonly socket: unknown;
  /** Of the peer, without a port. */
  readonly address: string;
}

/** Finds out who asks. One per API. */
export interface Authenticator {
  authenticate(claim: Claim): Promise<Login>;
}

export interface AuthenticatorOptions {
  readonly tokens: Tokens;
  /** Absent: bearer tokens of others are refused. */
  readonly oidc?: OidcOptions | undefined;
  /** Whether a connection was verified by the CAs that count now. */
  readonly isCurrentTls: (socket: TLSSocket) => boolean;
  /** How often one peer may be wrong. */
  readonly failures: Rate;
  readonly clock: Clock;
}

/** Whoever reaches a server that asks nobody. */
const local: Credential = {
  identity: { name: 'local', kind: 'local', groups: [] },
  expiresAt: undefined,
  holds: () => true,
};

/** For a server that asks nobody who they are. */
export function createOpenDoor(): Authenticator {
  return { authenticate: async () => ok(local) };
}

/**
 * A bearer token counts before a certificate: it was sent on purpose. A peer that was wrong too often is told to wait,
 * and a token of ours, which is costly to look at, is not looked at until then. Others may sit behind the same address:
 * who is right, or known already, is let in all the same, and each token that there is has a measure of its own.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { clock } = options;
  const tokens = createStaticTokens(options.tokens, clock);
  const oidc = options.oidc === undefined ? undefined : createOidc(options.oidc, clock);
  const certificates = createClientCertificates(options.isCurrentTls, clock);
  const failures = createBuckets(options.failures);

  /** Bearer tokens that are looked at now: a client that opens many connections at once is looked at once. */
  const underWay = new Map<string, Promise<Login>>();

  function byBearer(text: string, address: string): Login | Promise<Login> {
    const login = isOurs(text) ? tokens.known(text) : oidc?.known(text);
    return (login?.ok === true ? login : undefined) ?? underWay.get(text) ?? begin(text, address);
  }

  function begin(text: string, address: string): Promise<Login> {
    const looking = lookAt(text, address).finally(() => underWay.delete(text));
    underWay.set(text, looking);
    return looking;
  }

  async function lookAt(text: string, address: string): Promise<Login> {
    if (!isOurs(text)) {
      return counted(
        address,
        oidc === undefined ? err({ means: 'token', fault: 'malformed' }) : await oidc.check(text),
      );
    }
    const id = tokens.idOf(text);
    if (id === undefined) return counted(address, err({ means: 'token', fault: 'unknown' }));
    // It counts before it is looked at: many come at once.
    const key = `${address} ${id}`;
    const waitMs = failures.take(key, clock());
    if (waitMs > 0) return err({ means: 'token', fault: 'throttled', retryAfterMs: waitMs });
    const login = await tokens.check(text);
    if (login.ok || !isWrong(login.error)) failures.giveBack(key);
    return login;
  }

  /** What cost little to find out is counted afterwards, and only if it was wrong. */
  function counted(address: string, login: Login): Login {
    if (login.ok || !isWrong(login.error)) return login;
    const waitMs = failures.take(address, clock());
    return waitMs === 0 ? login : err({ ...login.error, fault: 'throttled', retryAfterMs: waitMs });
  }

  return {
    async authenticate({ authorization, socket, address }) {
      if (authorization !== undefined) {
        const [, scheme, text] = /^([A-Za-z]+) +(\S+)$/.exec(authorization) ?? [];
        if (scheme?.toLowerCase() === 'bearer' && text !== undefined) return byBearer(text, address);
        return counted(address, err({ means: 'none', fault: 'scheme' }));
      }
      if (hasCertificate(socket)) return counted(address, certificates.check(socket));
      // Nobody has tried anything: that is no failure to be counted.
      return err({ means: 'none', fault: 'missing' });
    },
  };
}

function isOurs(text: string): boolean {
  return text.startsWith(tokenPrefix);
}

/** Not what is our fault or the issuer's. */
function isWrong({ fault }: LoginRefusal): boolean {
  return fault !== 'busy' && fault !== 'issuer-unavailable';
}
