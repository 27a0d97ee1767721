import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { errorCodes, FairwayError } from '../lib/errors.ts';
import type { LiveTls } from '../lib/tls-files.ts';
import type { Store } from '../store/store.ts';
import type { Api } from './api.ts';
import { addApply } from './apply.ts';
import { addAudit } from './audit.ts';
import { type Authenticator, createAuthenticator, createOpenDoor } from './auth/authenticator.ts';
import { type AccessEvent, addGate } from './auth/gate.ts';
import { createGrants } from './auth/grants.ts';
import type { OidcOptions } from './auth/oidc.ts';
import { createSecure, type Secure } from './auth/secure.ts';
import { addBackup } from './backup.ts';
import { createBodies } from './body.ts';
import { addControllers } from './controllers.ts';
import { addDocs } from './docs.ts';
import { addEvents } from './events.ts';
import { addExplain } from './explain.ts';
import { addHealth, assertReady } from './health.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { createSortedObjects } from './listing.ts';
import { addMembership } from './membership.ts';
import { addMeter, type RequestMeter } from './meter.ts';
import { addDocument, collectDocument } from './openapi.ts';
import { addPeer } from './peer.ts';
import type { Ports } from './ports.ts';
import { fairwayErrorOf, problemMediaType, problemOf } from './problem.ts';
import { addProxies } from './proxies.ts';
import { addRefusals, type RefusalLog } from './refusal-log.ts';
import { addResources } from './resources.ts';
import { addTokens } from './tokens.ts';
import { createWatches } from './watches.ts';
import { addWhoami } from './whoami.ts';
import { createWriter } from './writer.ts';

/** Who is let in. */
export interface AccessOptions {
  /** `none`: whoever reaches the port is `local` and may do everything. */
  readonly authentication: 'required' | 'none';
  readonly oidc?: OidcOptions | undefined;
  /** Measurements for everybody, without a word who they are. */
  readonly openMetrics?: boolean;
  /** Failed logins and refusals, as they happen. */
  readonly onEvent?: (event: AccessEvent) => void;
}

export interface ApiOptions {
  readonly access: AccessOptions;
  /** Absent: plain text. */
  readonly tls?: LiveTls;
  readonly store: Store;
  readonly ports: Ports;
  readonly clock: Clock;
  /** Unique each time: for uids, transactions and requests. */
  readonly newId: () => string;
  readonly log?: FastifyBaseLogger;
  readonly limits?: Partial<Limits>;
  /** `health`: only whether it runs, its measurements, and who else does. Default `all`. */
  readonly serves?: 'all' | 'health';
  readonly meter?: RequestMeter;
  /** Absent: refusals are not kept for the audit. */
  readonly refusals?: RefusalLog;
  /** Of the program, for the OpenAPI document. */
  readonly version?: string;
}

/** A store that is there gives a sign of life more often. */
const noticeableAgeMs = 2_500;

/**
 * The REST API. It does not listen by itself: call `listen` on it, or `inject` in tests. `close` ends open watches
 * first, then waits for requests under way.
 */
export function createApi({
  access,
  tls,
  store,
  ports,
  clock,
  newId,
  log,
  limits: given,
  serves = 'all',
  meter,
  refusals,
  version = '0.0.0',
}: ApiOptions): FastifyInstance {
  const limits = { ...defaultLimits, ...given };
  const secure = tls === undefined ? undefined : createSecure(tls);
  const app = createApp(secure, {
    ...(log === undefined ? { logger: false } : { loggerInstance: log }),
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: (request) => requestIdOf(request.headers['x-request-id']) ?? newId(),
    bodyLimit: limits.objectBodyBytes,
    // An address that is no address is refused before there is a route.
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
    clientErrorHandler,
  });
  secure?.follow(app.server);
  const watches = createWatches();
  const sorted = createSortedObjects(ports.view);
  const writer = createWriter({ store, ports, clock, newId, limits, log });
  const bodies = createBodies();
  const api: Api = { ports, view: ports.view, writer, bodies, sorted, watches, clock, limits, log };

  app.decorateRequest('refusal', undefined);
  takeRawBodies(app);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(() => {
    throw new FairwayError('NotFound', 'reading the address: there is nothing at this path');
  });
  addMeter(app, meter);
  addRefusals(app, refusals, clock);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    if (request.routeOptions.config.always !== true && request.url.startsWith('/v1/')) assertReady(ports.unready);
  });
  app.addHook('onSend', async (_request, reply) => {
    const ageMs = ports.viewAgeMs();
    // Reads go on from the View while the store is out of reach; who reads is told how old it may be.
    if (ageMs >= noticeableAgeMs) reply.header('fairway-view-age', String(Math.round(ageMs / 1000)));
  });
  const grants = createGrants(ports.view);
  addGate(app, {
    authenticator: authenticatorOf({ access, ports, limits, clock, secure }),
    grants,
    requests: { perSecond: limits.requestsPerSecond, burst: limits.requestBurst },
    clock,
    onEvent: (event) => access.onEvent?.(event),
  });
  if (log !== undefined) app.addHook('onResponse', async (request, reply) => logAnswer(log, request, reply));
  app.addHook('preClose', async () => watches.close());
  app.addHook('onClose', async () => {
    secure?.close();
    grants.close();
    sorted.close();
    await bodies.close();
  });

  const document = collectDocument(app, version);
  if (serves === 'all') {
    addResources(app, api);
    addApply(app, api);
    addProxies(app, ports);
    addExplain(app, ports);
    addMembership(app, api);
    addEvents(app, api);
    addAudit(app, api, store);
    addTokens(app, api, store, newId);
    addWhoami(app);
    addBackup(app, ports);
  }
  addControllers(app, ports);
  addPeer(app, ports);
  addHealth(app, ports, { openMetrics: access.openMetrics ?? false });
  addDocument(app, document);
  addDocs(app, document);
  return app;
}

function createApp(secure: Secure | undefined, options: FastifyServerOptions): FastifyInstance {
  if (secure === undefined) return Fastify(options);
  // An HTTPS server is an HTTP server to whoever only answers requests.
  return Fastify({ ...options, https: secure.options } as FastifyServerOptions) as FastifyInstance;
}

interface GateParts {
  readonly access: AccessOptions;
  readonly ports: Ports;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly secure: Secure | undefined;
}

function authenticatorOf({ access, ports, limits, clock, secure }: GateParts): Authenticator {
  if (access.authentication === 'none') return createOpenDoor();
  return createAuthenticator({
    tokens: ports.tokens,
    oidc: access.oidc,
    isCurrentTls: (socket) => secure?.isCurrent(socket) ?? false,
    failures: { perSecond: limits.loginFailuresPerSecond, burst: limits.loginFailureBurst },
    clock,
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What it was answered with, where that was a problem. */
    refusal: FairwayError | undefined;
  }
}

/**
 * Bodies stay bytes until an operation reads them (body.ts), and fastify is given no schema, so that it neither coerces
 * a value nor drops a field: the model's own check is the only one.
 */
function takeRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
}

/** One that a client or a proxy before us gave, if it is fit for logs and headers. */
function requestIdOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[A-Za-z0-9][-A-Za-z0-9._:]{0,127}$/.test(header) ? header : undefined;
}

function answerError(thrown: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = fairwayErrorOf(thrown, request.routeOptions.bodyLimit);
  if (error.code === 'Internal') {
    request.log.error(
      { event: 'request_failed', requestId: request.id, err: error.cause ?? error },
      'a request failed',
    );
  }
  request.refusal = error;
  const { http, retryable } = errorCodes[error.code];
  reply.header('x-request-id', request.id);
  if (retryable) reply.header('retry-after', String(error.extra['retryAfterSeconds'] ?? 1));
  // RFC 6750 section 3.
  if (error.code === 'Unauthenticated') reply.header('www-authenticate', 'Bearer realm="fairway"');
  return reply
    .code(http)
    .type(problemMediaType)
    .send(JSON.stringify(problemOf(error, request.id)));
}

/** The pattern of the path and not the path: names are many, and queries may hold what a log should not. */
function logAnswer(log: FastifyBaseLogger, request: FastifyRequest, reply: FastifyReply): void {
  log.debug({
    event: 'request_answered',
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
  });
}

/** What is no HTTP at all: there is no request to answer, only a socket. */
function clientErrorHandler(thrown: Error & { code?: string }, socket: import('node:net').Socket): void {
  if (thrown.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return;
  const known = fairwayErrorOf(thrown);
  const error =
    known.code === 'Internal' ? new FairwayError('MalformedBody', 'reading the request: it is not valid HTTP') : known;
  const problem = problemOf(error);
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\ncontent-type: ${problemMediaType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
