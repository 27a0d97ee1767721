import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Buckets, createBuckets, type Identity, identityKey, type Rate } from '../../access/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { FairwayError, InvariantError } from '../../lib/errors.ts';
import { formatIp, type Ip, parseIp } from '../../lib/ip.ts';
import type { AccessRule } from '../operation.ts';
import type { Authenticator } from './authenticator.ts';
import { type Authority, createAuthority, type Refused } from './authority.ts';
import type { LoginFault, LoginRefusal, Means } from './credential.ts';
import type { Grants } from './grants.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent it; undefined on what is open to everybody. */
    identity: Identity | undefined;
    /** What they may do; undefined on what is open to everybody. */
    authority: Authority | undefined;
  }
}

/** What happened at the gate, for whoever keeps the audit. */
export type AccessEvent =
  | {
      readonly kind: 'login-failed';
      readonly requestId: string;
      readonly address: string;
      readonly means: Means;
      readonly fault: LoginFault;
    }
  | ({ readonly kind: 'refused'; readonly requestId: string; readonly address: string } & Refused);

export interface GateOptions {
  readonly authenticator: Authenticator;
  readonly grants: Grants;
  /** Requests of one identity. */
  readonly requests: Rate;
  readonly clock: Clock;
  readonly onEvent: (event: AccessEvent) => void;
}

/**
 * Stands before every route: who asks, whether they ask too often, and whether they may. It comes before the body is
 * read. A route that does not say what it demands is closed, and so is a path that does not exist.
 *
 *   open? ─▶ through
 *   who? ─▶ 401, 429 (too often wrong), 503 (nobody can tell now)
 *   too often? ─▶ 429
 *   may they? ─▶ 403
 */
export function addGate(app: FastifyInstance, options: GateOptions): void {
  const requests = createBuckets(options.requests);
  app.decorateRequest('identity', undefined);
  app.decorateRequest('authority', undefined);
  app.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config;
    // What controllers ask is signed: they are no identities, and have no rights but to be answered.
    if (access === 'open' || access === 'controller') return;
    const authority = await identify(request, options);
    assertPace(requests, authority.identity, options.clock());
    // What has no route is answered with 404, to those who have said who they are.
    if (request.is404 || access === 'identified') return;
    if (access === undefined) throw new FairwayError('Forbidden', 'reading the address: this path is closed');
    const refusal = refusalOf(access, authority, request);
    if (refusal !== undefined) throw refusal;
  });
}

/** The authority of a request that has passed the gate. */
export function authorityOf(request: FastifyRequest): Authority {
  if (request.authority === undefined) throw new InvariantError(`${request.routeOptions.url} is open: nobody is known`);
  return request.authority;
}

async function identify(request: FastifyRequest, options: GateOptions): Promise<Authority> {
  const { authenticator, grants, onEvent } = options;
  const address = peerOf(request);
  const { authorization } = request.headers;
  const login = await authenticator.authenticate({ authorization, socket: request.raw.socket, address });
  const about = { requestId: request.id, address };
  if (!login.ok) {
    const { means, fault, detail } = login.error;
    if (fault === 'issuer-unavailable') request.log.warn({ event: 'issuer_unavailable', ...about, detail });
    else if (hasFailed(login.error)) {
      onEvent({ kind: 'login-failed', ...about, means, fault });
      request.log.info({ event: 'login_failed', ...about, means, fault, detail });
    }
    throw problemOf(login.error);
  }
  const authority = createAuthority(login.value, grants, (refused) => {
    onEvent({ kind: 'refused', ...about, ...refused });
    const { identity, action, object, words } = refused;
    request.log.info({ event: 'access_refused', ...about, identity: identityKey(identity), ...action, object, words });
  });
  request.identity = login.value.identity;
  request.authority = authority;
  return authority;
}

/** Where nothing was tried, or nothing was looked at, nothing has failed; and these may be many. */
function hasFailed({ fault }: LoginRefusal): boolean {
  return fault !== 'missing' && fault !== 'throttled' && fault !== 'busy';
}

/** Identities are kept from each other; where nobody is asked there is but one. */
function assertPace(requests: Buckets, identity: Identity, now: number): void {
  if (identity.kind === 'local') return;
  const waitMs = requests.take(identityKey(identity), now);
  if (waitMs > 0) throw tooMany('reading the request: more of them came from you than one may send', waitMs);
}

export function tooMany(message: string, waitMs: number): FairwayError {
  return new FairwayError('TooManyRequests', message, { extra: { retryAfterSeconds: Math.ceil(waitMs / 1000) } });
}

function refusalOf(
  { verb, kind, scope: place }: Exclude<AccessRule, string>,
  authority: Authority,
  request: FastifyRequest,
): FairwayError | undefined {
  const { scope, name } = (request.params ?? {}) as { readonly scope?: string; readonly name?: string };
  if (place !== 'filtered') {
    const object = name === undefined ? undefined : `${kind} ${scope === undefined ? '' : `${scope}/`}${name}`;
    return authority.refusal({ verb, kind, scope, touchesSecret: false }, object);
  }
  const { scope: asked } = request.query as { readonly scope?: unknown };
  if (typeof asked !== 'string') return authority.refusalAnywhere({ verb, kind });
  return authority.refusal({ verb, kind, scope: asked, touchesSecret: false });
}

const words: Readonly<Record<LoginFault, string>> = {
  missing: 'send a token in the header `Authorization: Bearer …`, or a client certificate',
  scheme: 'the header Authorization must be `Bearer` and a token',
  malformed: 'the token has no form that is accepted here',
  unknown: 'the token is not known, or was deleted',
  wrong: 'the token is not known, or was deleted',
  expired: 'it has expired',
  untrusted: 'it is not trusted here',
  'no-name': 'it names nobody',
  throttled: 'it failed too often from your address: wait',
  busy: 'too many are being looked at: try again',
  'issuer-unavailable': 'the issuer of the token cannot be reached: try again',
};

/** Fixed words: what was sent is not repeated, and the detail is for the log alone. */
function problemOf({ fault, retryAfterMs = 1000 }: LoginRefusal): FairwayError {
  const message = `finding out who asks: ${words[fault]}`;
  if (fault === 'throttled' || fault === 'busy') return tooMany(message, retryAfterMs);
  if (fault === 'issuer-unavailable') return new FairwayError('NotReady', message);
  return new FairwayError('Unauthenticated', message);
}

/** An IPv4 address, or the network that a host of IPv6 has for itself: it may choose among 2^64 addresses. */
function peerOf({ ip }: FastifyRequest): string {
  const parsed = parseIp(ip);
  if (parsed === undefined) return ip;
  if (parsed.family === 4) return formatIp(parsed);
  const mapped = parsed.value >> 32n === 0xffffn;
  if (mapped) return formatIp({ family: 4, value: parsed.value & 0xffffffffn });
  const network: Ip = { family: 6, value: (parsed.value >> 64n) << 64n };
  return `${formatIp(network)}/64`;
}
