import { isIP } from 'node:net';
import {
  Etcd3,
  EtcdAuthenticationFailedError,
  EtcdInvalidAuthTokenError,
  EtcdPermissionDeniedError,
  GRPCDeadlineExceededError,
  GRPCInvalidArgumentError,
  GRPCOutOfRangeError,
  GRPCResourceExhastedError,
  type IMemberListResponse,
  type IOptions,
  isRecoverableError,
} from 'etcd3';
import { FairwayError } from '../lib/errors.ts';
import { type CallTime, callLimitMs, EtcdPatience, fixedTime } from './etcd-patience.ts';
import { EtcdQuorum, type MemberAnswer } from './etcd-quorum.ts';

export interface EtcdConnectionOptions {
  /** Client URLs of the members, `https://` (all of them) or `http://`. */
  readonly endpoints: readonly string[];
  /** PEM. Without `ca` the roots of the system are trusted. */
  readonly tls?: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
  readonly auth?: { readonly username: string; readonly password: string };
}

/**
 * A member that has not answered within this is not waited for alone: the next one is asked too, and so on. What reaches
 * a follower while the leader is gone is lost until that notices, so that it takes one more after the election.
 */
const patienceMs = 400;

/**
 * Unless it answers others meanwhile: then it is busy, and to be asked twice by all makes that worse. Only what takes
 * longer than this may have been lost, or what is overtaken by calls of its sort that began so much later: etcd takes
 * them in turn, but for those that went to a leader that was gone.
 */
const busyPatienceMs = 1_000;
const overtakenMs = 100;

/** A pause before a member is asked that comes after one which has failed at once. */
const retryPauseMs = 50;

/** One member of the cluster. */
export class EtcdEndpoint extends Etcd3 {
  constructor(options: IOptions & { readonly hosts: string }) {
    super(options);
    keepChannels(this.pool);
    if (isIP(new URL(options.hosts).hostname.replace(/^\[|\]$/g, '')) !== 0) leaveOutServerName(this.pool);
  }

  /** Opens one of etcd's streams: the client's own watch and election do not tell what we need to know. */
  stream<T>(service: 'Watch' | 'Lease', open: (client: unknown, metadata: Metadata) => T): Promise<T> {
    return this.pool.withConnection(service, ({ client, metadata }) => open(client, metadata));
  }

  /**
   * Who is in the cluster, as this member knows it by itself. Asked without the token of a user: to get one takes a
   * cluster with a leader. Undefined: no answer.
   */
  async members(limitMs: number): Promise<MemberAnswer | undefined> {
    const [host] = (this.pool as unknown as { readonly hosts: readonly [ClientHost] }).hosts;
    const { promise, resolve } = Promise.withResolvers<MemberAnswer | undefined>();
    const options = { deadline: new Date(Date.now() + limitMs) };
    host.getServiceClient('Cluster').memberList({}, options, (error, response) => {
      if (error === null && response !== undefined) {
        const voters = response.members.filter(({ isLearner }) => !isLearner).map(({ ID }) => ID);
        resolve({ member: response.header.member_id, voters });
      } else if (wantsToKnowWho.has(error?.code ?? 0)) resolve({ member: host.host, voters: undefined });
      else resolve(undefined);
    });
    return promise;
  }
}

/** Codes of gRPC with which a member refuses who has no token, or not the right one: INVALID_ARGUMENT and two others. */
const wantsToKnowWho: ReadonlySet<number> = new Set([3, 7, 16]);

/** What a stream is opened with: the token of the user, for one. */
export interface Metadata {
  clone(): Metadata;
  set(key: string, value: string): void;
}

export interface CallLimits {
  /** Of one attempt. */
  readonly deadline: Date;
}

/** What one member has answered. */
interface Heard {
  /** When it answered last. */
  at: number;
  /** By what was asked for: when the newest of the calls began that it has answered. */
  readonly newest: Map<string, number>;
}

/**
 * The members of an etcd cluster, one of them in use until it fails. One per store.
 *
 * The client has a fault handling of its own (retries, circuit breakers); it is switched off, since it would try a
 * transaction again without telling that it did.
 */
export class EtcdConnection {
  readonly #endpoints: readonly EtcdEndpoint[];
  readonly #heard: readonly Heard[];
  readonly #patience: EtcdPatience;
  #current = 0;
  #closed = false;

  constructor(options: EtcdConnectionOptions) {
    this.#endpoints = options.endpoints.map((url) => new EtcdEndpoint(clientOptions(url, options)));
    this.#heard = this.#endpoints.map(() => ({ at: Number.NEGATIVE_INFINITY, newest: new Map() }));
    this.#patience = new EtcdPatience(
      new EtcdQuorum(
        this.#endpoints.map((endpoint) => async (limitMs) => (this.#closed ? undefined : endpoint.members(limitMs))),
      ),
    );
    // Not all controllers at one member.
    this.#current = Math.floor(Math.random() * this.#endpoints.length);
  }

  /** The time of several calls that serve one purpose; whoever takes it calls its `end`. */
  patience(): CallTime {
    return this.#patience.begin();
  }

  /**
   * Runs `attempt` on one member, and on the next one when it fails or takes long, until one answers or the time is
   * over. So several may be under way, and each may be carried out although it failed or was not waited for. Throws
   * `FairwayError` `StoreUnavailable`, or etcd's own error where `isCompacted` says yes.
   *
   * The time is `callLimitMs`, and up to `electionLimitMs` as long as a majority of etcd's members answers; or it is
   * that of several calls, or a fixed one in milliseconds.
   */
  call<T>(
    doing: string,
    attempt: (endpoint: EtcdEndpoint, limits: CallLimits) => Promise<T>,
    limit?: CallTime | number,
  ): Promise<T> {
    const time = typeof limit === 'number' ? fixedTime(limit) : (limit ?? this.patience());
    this.#patience.asked();
    return new Promise((resolve, reject) => {
      let over = false;
      let last: unknown;
      let next: NodeJS.Timeout | undefined;
      const finish = (settle: () => void): void => {
        over = true;
        clearTimeout(next);
        time.over.removeEventListener('abort', late);
        if (time !== limit) time.end();
        settle();
      };
      const late = (): void => finish(() => reject(unavailable(doing, last)));
      const ask = (): void => {
        if (this.#closed) {
          finish(() => reject(closedError(doing)));
          return;
        }
        const at = this.#current;
        let waitedFor = true;
        const goOn = (pauseMs: number): void => {
          this.#leave(at);
          if (over || !waitedFor) return;
          waitedFor = false;
          clearTimeout(next);
          next = setTimeout(ask, pauseMs);
        };
        const begun = performance.now();
        const heard = this.#heard[at] as Heard;
        const lookAgain = (): void => {
          const now = performance.now();
          const isOvertaken = (heard.newest.get(doing) ?? begun) > begun + overtakenMs;
          const isBusy = heard.at > now - patienceMs && !isOvertaken;
          if (isBusy && now - begun < busyPatienceMs) next = setTimeout(lookAgain, patienceMs / 2);
          else goOn(0);
        };
        next = setTimeout(lookAgain, patienceMs);
        const deadline = new Date(Date.now() + time.attemptMs());
        attempt(this.#endpoints[at] as EtcdEndpoint, { deadline }).then(
          (value) => {
            this.#patience.answered();
            heard.at = performance.now();
            heard.newest.set(doing, Math.max(heard.newest.get(doing) ?? begun, begun));
            finish(() => resolve(value));
          },
          (error: unknown) => {
            if (isPassing(error)) {
              last = error;
              goOn(retryPauseMs);
            } else finish(() => reject(refused(doing, error)));
          },
        );
      };
      if (time.over.aborted) late();
      else {
        time.over.addEventListener('abort', late);
        ask();
      }
    });
  }

  /** The member in use, for a stream; `failed` says that it did not last. */
  streamEndpoint(): { readonly endpoint: EtcdEndpoint; failed(): void } {
    const at = this.#current;
    return { endpoint: this.#endpoints[at] as EtcdEndpoint, failed: () => this.#leave(at) };
  }

  close(): void {
    this.#closed = true;
    for (const endpoint of this.#endpoints) endpoint.close();
  }

  /** Several calls may fail together: they go on to one next member, not past it. */
  #leave(at: number): void {
    if (this.#current === at) this.#current = (at + 1) % this.#endpoints.length;
  }
}

/** The revision is compacted: etcd's words for a read or a compaction below it. */
export function isCompacted(error: unknown): boolean {
  return error instanceof GRPCOutOfRangeError;
}

/** Whether another member, or the same one later, may answer. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // The client renews a token by itself, once; under load the next one may have run out as well.
  if (error instanceof EtcdInvalidAuthTokenError || error instanceof GRPCDeadlineExceededError) return true;
  return isRecoverableError(error) && !(error instanceof GRPCResourceExhastedError && /space/.test(error.message));
}

function closedError(doing: string): FairwayError {
  return new FairwayError('StoreUnavailable', `${doing}: the store is closed`);
}

function unavailable(doing: string, cause: unknown): FairwayError {
  const because = cause instanceof Error ? `: ${cause.message}` : '';
  return new FairwayError('StoreUnavailable', `${doing}: no member of etcd answers in time${because}`, { cause });
}

function refused(doing: string, error: unknown): unknown {
  if (isCompacted(error)) return error;
  const because = reasonOf(error);
  return because === undefined ? error : new FairwayError('StoreUnavailable', `${doing}: ${because}`, { cause: error });
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof EtcdAuthenticationFailedError) return 'etcd does not know the user or the password';
  if (error instanceof EtcdPermissionDeniedError) return 'the user may not do this in etcd';
  if (error instanceof GRPCResourceExhastedError) return 'etcd has no room left; compact and defragment it';
  if (error instanceof GRPCInvalidArgumentError) return `etcd refuses it: ${error.message}`;
  return error instanceof Error && /etcd|grpc/i.test(error.constructor.name)
    ? `etcd says: ${error.message}`
    : undefined;
}

/**
 * The client closes the channels of a member at each call that fails, and the next call begins new ones with a lookup of
 * the member's name. Where names of dead members are looked up for seconds, these fill all threads that Node has for it,
 * and then nothing reaches the living ones either. A channel connects again by itself, at the pace that `clientOptions`
 * sets: it stays until the end.
 */
function keepChannels(pool: unknown): void {
  const { hosts } = pool as { readonly hosts: readonly ClientHost[] };
  for (const host of hosts) {
    const closeChannels = host.resetAllServices.bind(host);
    const close = host.close.bind(host);
    host.resetAllServices = () => undefined;
    host.close = () => {
      host.resetAllServices = closeChannels;
      close();
    };
  }
}

interface ClientHost {
  readonly host: string;
  getServiceClient(name: 'Cluster'): ClusterService;
  resetAllServices(): void;
  close(): void;
}

interface ClusterService {
  memberList(
    request: object,
    options: { readonly deadline: Date },
    answer: (error: { readonly code?: number } | null, response?: IMemberListResponse) => void,
  ): void;
}

/**
 * An IP address is no server name (RFC 6066 §3): Node refuses it, and grpc-js gives it all the same. The certificate is
 * checked against the address in any case. The client does not let credentials of our own in, so that those it has made
 * are changed where they are.
 */
function leaveOutServerName(pool: unknown): void {
  const { hosts } = pool as { readonly hosts: readonly { readonly channelCredentials: SecureCredentials }[] };
  for (const { channelCredentials: credentials } of hosts) {
    if (!credentials._isSecure()) continue;
    const create = credentials._createSecureConnector.bind(credentials);
    credentials._createSecureConnector = (...args) => {
      const connector = create(...args);
      delete connector.connectionOptions.servername;
      return connector;
    };
  }
}

interface SecureCredentials {
  _isSecure(): boolean;
  _createSecureConnector(...args: unknown[]): { readonly connectionOptions: { servername?: string } };
}

type FaultPolicy = NonNullable<NonNullable<IOptions['faultHandling']>['global']>;

/** Runs what it is given, once. */
const noPolicy = {
  execute: async <T>(task: (context: { signal: AbortSignal }) => T) => task({ signal: neverAborted }),
} as unknown as FaultPolicy;
const neverAborted = new AbortController().signal;

function clientOptions(url: string, { tls, auth }: EtcdConnectionOptions): IOptions & { readonly hosts: string } {
  return {
    hosts: url,
    ...(tls === undefined
      ? {}
      : {
          credentials: {
            rootCertificate: tls.ca as Buffer,
            ...(tls.key === undefined ? {} : { privateKey: tls.key }),
            ...(tls.cert === undefined ? {} : { certChain: tls.cert }),
          },
        }),
    ...(auth === undefined
      ? {}
      : { auth: { ...auth, callOptions: () => ({ deadline: new Date(Date.now() + callLimitMs) }) } }),
    faultHandling: { global: noPolicy, host: () => noPolicy },
    grpcOptions: {
      // A catch-up of a watch comes in one message, however much it is.
      'grpc.max_receive_message_length': -1,
      // etcd takes pings more often than every five seconds for an attack.
      'grpc.keepalive_time_ms': 6_000,
      'grpc.keepalive_timeout_ms': 2_000,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
    },
  };
}
