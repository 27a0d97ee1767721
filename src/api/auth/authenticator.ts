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
 * A bearer token counts before a certificate: it was sent on purpose. A peer that was wrong too often is not looked at
 * for a while; who is known already is let in all the same, since others may sit behind the same address, and so is who
 * shows the public half of a token that there is, within a measure of its own.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { clock } = options;
  const tokens = createStaticTokens(options.tokens, clock);
  const oidc = options.oidc === undefined ? undefined : createOidc(options.oidc, clock);
  const certificates = createClientCertificates(options.isCurrentTls, clock);
  const failures = createBuckets(options.failures);

  async function byBearer(text: string, address: string): Promise<Login> {
    if (text.startsWith(tokenPrefix)) {
      const id = tokens.idOf(text);
      return throttled(id === undefined ? address : `${address} ${id}`, 'token', tokens.known(text), () =>
        tokens.check(text),
      );
    }
    if (oidc === undefined) return throttled(address, 'token', err({ means: 'token', fault: 'malformed' }));
    return throttled(address, 'oidc', oidc.known(text), () => oidc.check(text));
  }

  /** `known` is what was found out before, or costs nothing to say. */
  async function throttled(
    key: string,
    means: LoginRefusal['means'],
    known: Login | undefined,
    check?: () => Promise<Login>,
  ): Promise<Login> {
    if (known?.ok === true) return known;
    const waitMs = failures.wait(key, clock());
    if (waitMs > 0) return err({ means, fault: 'throttled', retryAfterMs: waitMs });
    const login = known ?? (await check?.());
    if (login === undefined) return err({ means, fault: 'missing' });
    if (!login.ok && isWrong(login.error)) failures.take(key, clock());
    return login;
  }

  return {
    async authenticate({ authorization, socket, address }) {
      if (authorization !== undefined) {
        const [, scheme, text] = /^([A-Za-z]+) +(\S+)$/.exec(authorization) ?? [];
        if (scheme?.toLowerCase() === 'bearer' && text !== undefined) return byBearer(text, address);
        return throttled(address, 'none', err({ means: 'none', fault: 'scheme' }));
      }
      if (hasCertificate(socket)) return throttled(address, 'certificate', certificates.check(socket));
      // Nobody has tried anything: that is no failure to be counted.
      return err({ means: 'none', fault: 'missing' });
    },
  };
}

/** Not what is our fault or the issuer's. */
function isWrong({ fault }: LoginRefusal): boolean {
  return fault !== 'busy' && fault !== 'issuer-unavailable' && fault !== 'throttled';
}
