import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import type { Identity } from '../../access/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import type { Login, LoginRefusal } from './credential.ts';
import { createRemembered } from './remembered.ts';

/** Whose bearer tokens are believed, and what is read from them. */
export interface OidcOptions {
  /** As it stands in `iss`; its keys are found by `/.well-known/openid-configuration` below it. */
  readonly issuer: string;
  /** One of `aud` must be this. */
  readonly audience: string;
  readonly usernameClaim: string;
  readonly groupsClaim: string;
  /** After a look at the keys, so long none is taken for a key that is not known. For tests. */
  readonly cooldownMs?: number;
}

/** Checks bearer tokens of an OpenID provider. One per API. */
export interface Oidc {
  /** What is known of it without any work, if it is. */
  known(text: string): Login | undefined;
  check(text: string): Promise<Login>;
}

/**
 * Signatures by keys that only the issuer has. Neither `none` nor a secret that we would share: those could be made by
 * whoever knows the public key (RFC 8725 section 3.1).
 */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Clocks differ. */
const toleranceSeconds = 60;
/** A key that is not known makes us look again, but not at every token that names one. */
const cooldownMs = 10_000;
/** Keys that the issuer has withdrawn are forgotten by then. */
const keysMaxAgeMs = 600_000;
const discoveryMaxAgeMs = 3_600_000;
const fetchLimitMs = 5_000;
/** So long a token that was verified is not verified again. */
const rememberedMs = 300_000;
/** An issuer that did not answer is asked again after this. */
const retryMs = 2_000;

/** The library is loaded by the first token that comes: most servers never see one. */
const loadJose = () => import('jose');

type Jose = Awaited<ReturnType<typeof loadJose>>;

export function createOidc(options: OidcOptions, clock: Clock): Oidc {
  const remembered = createRemembered<{ readonly identity: Identity; readonly expiresAt: number }>();
  let keys: { readonly get: JWTVerifyGetKey; readonly readAt: number } | undefined;
  let reading: Promise<JWTVerifyGetKey> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;

  function refused(fault: LoginRefusal['fault'], detail?: string): Login {
    return err({ means: 'oidc', fault, ...(detail === undefined ? {} : { detail }) });
  }

  function accepted(identity: Identity, expiresAt: number): Login {
    return ok({ identity, expiresAt, holds: () => clock() < expiresAt + toleranceSeconds * 1000 });
  }

  /** Where the keys are, from the issuer itself. What was read once goes on to be used while the issuer is silent. */
  async function keySource({ createRemoteJWKSet, errors }: Jose): Promise<JWTVerifyGetKey> {
    const now = clock();
    if (keys !== undefined && (now - keys.readAt < discoveryMaxAgeMs || now - failedAt < retryMs)) return keys.get;
    if (now - failedAt < retryMs) throw new errors.JWKSTimeout('the issuer did not answer a moment ago');
    reading ??= discover(options)
      .then((url) => {
        const get = createRemoteJWKSet(url, {
          timeoutDuration: fetchLimitMs,
          cooldownDuration: options.cooldownMs ?? cooldownMs,
          cacheMaxAge: keysMaxAgeMs,
        });
        keys = { get, readAt: clock() };
        return get;
      })
      .catch((error: unknown) => {
        failedAt = clock();
        if (keys !== undefined) return keys.get;
        throw error;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  function known(text: string): Login | undefined {
    const found = remembered.get(text, clock());
    if (found === undefined) return undefined;
    const login = accepted(found.identity, found.expiresAt);
    return login.ok && login.value.holds() ? login : refused('expired');
  }

  return {
    known,
    async check(text) {
      const before = known(text);
      if (before !== undefined) return before;
      if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return refused('malformed');
      const jose = await loadJose();
      try {
        const { payload } = await jose.jwtVerify(text, await keySource(jose), {
          issuer: options.issuer,
          audience: options.audience,
          algorithms,
          clockTolerance: toleranceSeconds,
          currentDate: new Date(clock()),
          requiredClaims: ['exp'],
        });
        const identity = identityOf(payload, options);
        if (!identity.ok) return refused('no-name', identity.error);
        const expiresAt = Number(payload.exp) * 1000;
        remembered.set(text, { identity: identity.value, expiresAt }, clock() + rememberedMs);
        return accepted(identity.value, expiresAt);
      } catch (error) {
        return err(refusalOf(error, jose));
      }
    },
  };
}

/** OpenID Connect Discovery 1.0 section 4: the document must name the very issuer that was asked. */
async function discover({ issuer }: OidcOptions): Promise<URL> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(address, { signal: AbortSignal.timeout(fetchLimitMs), redirect: 'error' });
  if (!response.ok) throw new Error(`${address} was answered with ${response.status}`);
  const { issuer: named, jwks_uri: uri } = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (named !== issuer) throw new Error('the discovery document is of another issuer');
  const url = typeof uri === 'string' ? URL.parse(uri) : null;
  if (url === null) throw new Error('the discovery document names no keys');
  // Keys that anybody on the way could change would make the issuer's own TLS worth nothing.
  if (url.protocol !== 'https:' && issuer.startsWith('https:')) throw new Error('the keys are not at an https address');
  return url;
}

/** What is wrong with a token, told from an issuer that cannot be asked. */
function refusalOf(error: unknown, { errors }: Jose): LoginRefusal {
  const means = 'oidc';
  if (error instanceof errors.JWTExpired) return { means, fault: 'expired' };
  if (error instanceof errors.JWTClaimValidationFailed) {
    return { means, fault: 'untrusted', detail: `claim ${error.claim}: ${error.reason}` };
  }
  if (error instanceof errors.JWKSTimeout) return { means, fault: 'issuer-unavailable', retryAfterMs: retryMs };
  // Their messages are fixed texts, none of which holds a part of the token.
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return { means, fault: 'malformed' };
  const isOfToken =
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSENotSupported;
  if (isOfToken) return { means, fault: 'untrusted', detail: error.code };
  const detail = error instanceof Error ? error.message : undefined;
  return {
    means,
    fault: 'issuer-unavailable',
    retryAfterMs: retryMs,
    ...(detail === undefined ? {} : { detail }),
  };
}

const maxChars = 256;

function identityOf(payload: JWTPayload, options: OidcOptions): Result<Identity, string> {
  const { usernameClaim, groupsClaim } = options;
  const name = payload[usernameClaim];
  if (typeof name !== 'string' || name === '' || name.length > maxChars) {
    return err(`the claim ${usernameClaim} is no name`);
  }
  // An address that nobody has verified could be anybody's.
  if (usernameClaim === 'email' && payload['email_verified'] === false) return err('the claim email is not verified');
  const given = payload[groupsClaim];
  const groups = (Array.isArray(given) ? given : [given]).filter(
    (group): group is string => typeof group === 'string' && group !== '' && group.length <= maxChars,
  );
  return ok({ name, kind: 'oidc', groups });
}
