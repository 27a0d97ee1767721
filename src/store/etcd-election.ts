import { setTimeout as sleep } from 'node:timers/promises';
import type { IKeyValue, ILeaseKeepAliveResponse } from 'etcd3';
import { FairwayError } from '../lib/errors.ts';
import type { EtcdConnection, EtcdEndpoint } from './etcd-connection.ts';
import { type Keyspace, revisionOf } from './etcd-keys.ts';
import { callLimitMs } from './etcd-patience.ts';
import { type Election, type Leadership, leaderKey, type Revision } from './store.ts';

/**
 * Seconds that etcd keeps the record of a leader that is not heard of: as long as nothing is decided after a leader
 * was killed. Two seconds is the least that etcd takes with its default timeouts.
 */
const leaseSeconds = 3;

const renewMs = 1_000;

/**
 * A leader stops this long before etcd may give its place away, counted from when it sent what etcd has answered: its
 * clock may run a little slower than etcd's.
 */
const marginMs = 300;

/** The end of a leader is told by the watch; this is for when the watch is not there. */
const lookMs = 1_000;

/**
 * The election in a cluster: an entry of the store under a lease. Who has created it leads; its create revision is the
 * term, and the check of it in a transaction is the fence: whatever its process believes, what a former leader writes
 * is refused by etcd once the entry is gone.
 */
export class EtcdElection implements Election {
  readonly #connection: EtcdConnection;
  readonly #key: Buffer;
  #gone: (() => void)[] = [];

  constructor(connection: EtcdConnection, keyspace: Keyspace) {
    this.#connection = connection;
    this.#key = keyspace.data(leaderKey);
  }

  /** The watch tells that there is no leader any more. */
  vacant(): void {
    const waiting = this.#gone;
    this.#gone = [];
    for (const wake of waiting) wake();
  }

  async campaign(candidate: string, signal: AbortSignal): Promise<Leadership> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const won = (await this.#leader()) === undefined ? await this.#claim(candidate) : undefined;
        if (won !== undefined) return this.#hold(won);
      } catch (error) {
        if (!(error instanceof FairwayError) || error.code !== 'StoreUnavailable') throw error;
      }
      await this.#vacancy(signal);
    }
  }

  async #leader(): Promise<IKeyValue | undefined> {
    const { kvs } = await this.#connection.call(
      'looking for the leader',
      (endpoint, limits) => endpoint.kv.range({ key: this.#key }, limits),
      callLimitMs,
    );
    return kvs[0];
  }

  async #claim(candidate: string): Promise<Claim | undefined> {
    const sentAt = performance.now();
    // Who leads waits for nothing longer than that: its lease, once granted, is running.
    const { ID: lease } = await this.#connection.call(
      'asking for a lease',
      (endpoint, limits) => endpoint.leaseClient.leaseGrant({ TTL: leaseSeconds }, limits),
      callLimitMs,
    );
    const response = await this.#connection.call(
      'running for leader',
      (endpoint, limits) =>
        endpoint.kv.txn(
          {
            compare: [{ key: this.#key, target: 'Create', result: 'Equal', create_revision: 0 }],
            success: [{ request_put: { key: this.#key, value: Buffer.from(candidate), lease } }],
            failure: [{ request_range: { key: this.#key } }],
          },
          limits,
        ),
      callLimitMs,
    );
    if (response.succeeded) return { lease, sentAt, term: revisionOf(response.header.revision) };
    // An attempt of ours whose answer was lost.
    const kv = response.responses[0]?.response_range.kvs[0];
    if (kv?.lease === lease) return { lease, sentAt, term: revisionOf(kv.create_revision) };
    await this.#revoke(lease);
    return undefined;
  }

  #hold({ lease, sentAt, term }: Claim): Leadership {
    const over = new AbortController();
    let until = sentAt + leaseSeconds * 1_000 - marginMs;
    let timer: NodeJS.Timeout | undefined;
    // A process that stood still finds itself here late: what it did in between is refused by the fence.
    const expire = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => over.abort(), Math.max(0, until - performance.now()));
    };
    expire();
    const renewing = (async () => {
      while (!over.signal.aborted) {
        await sleep(renewMs, undefined, { signal: over.signal }).catch(() => undefined);
        if (over.signal.aborted) break;
        const at = performance.now();
        const seconds = await this.#renew(lease, until - at).catch(() => undefined);
        if (seconds === 0) over.abort();
        else if (seconds !== undefined) {
          until = at + seconds * 1_000 - marginMs;
          expire();
        }
      }
      clearTimeout(timer);
    })();
    return {
      term,
      fence: [{ key: leaderKey, modRevision: term }],
      lost: over.signal,
      resign: async () => {
        over.abort();
        await renewing;
        await this.#revoke(lease);
      },
    };
  }

  /** Seconds that the lease lives from now; 0: it is gone. */
  async #renew(lease: string, limitMs: number): Promise<number> {
    return this.#connection.call('renewing a lease', (endpoint) => renewOnce(endpoint, lease, limitMs), limitMs);
  }

  /** Best effort: it ends by itself otherwise. */
  async #revoke(lease: string): Promise<void> {
    await this.#connection
      .call(
        'giving a lease back',
        (endpoint, limits) => endpoint.leaseClient.leaseRevoke({ ID: lease }, limits),
        callLimitMs,
      )
      .catch(() => undefined);
  }

  #vacancy(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, lookMs);
    signal.addEventListener('abort', () => resolve(), { once: true });
    this.#gone.push(resolve);
    return promise.finally(() => clearTimeout(timer));
  }
}

interface Claim {
  readonly lease: string;
  /** When the lease was asked for, which is before it began. */
  readonly sentAt: number;
  readonly term: Revision;
}

/** One renewal on a stream of its own, so that it can go to any member. */
async function renewOnce(endpoint: EtcdEndpoint, lease: string, limitMs: number): Promise<number> {
  const stream = await endpoint.leaseClient.leaseKeepAlive({ deadline: new Date(Date.now() + limitMs) });
  const { promise, resolve, reject } = Promise.withResolvers<ILeaseKeepAliveResponse>();
  stream.on('error', reject);
  stream.on('data', resolve);
  stream.write({ ID: lease });
  try {
    return Number((await promise).TTL);
  } finally {
    stream.end();
  }
}
