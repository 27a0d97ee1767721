/**
 * The gRPC server around a hub. It owns calls and timers and decides nothing: work is taken from the hub in slices of
 * a few milliseconds, between which the event loop is free, and what comes back is handed on after each slice.
 */
import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { inNextTurn } from '../../lib/next-turn.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { type SliceMeter, unmeasured } from '../../lib/slices.ts';
import type { LiveTls } from '../../lib/tls-files.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Hub, HubStream, PeerIdentity, Progress, Protocol } from '../index.ts';
import type { Call } from './call.ts';
import { type AskElsewhere, createClientStatus } from './client-status.ts';
import { type Connection, createConnection } from './connection.ts';
import type { Methods } from './grpc-server.ts';
import { methods } from './methods.ts';
import { watchSlowClients } from './slow-clients.ts';
import { startSocketThread } from './socket-thread.ts';
import { status } from './status.ts';

/** Why a client is not served. `unauthenticated`: nobody knows who it is. */
export interface PeerRefusal {
  readonly reason: 'unauthenticated' | 'denied';
  readonly words: string;
  /** Who its certificate says it is, when it claims to be another. */
  readonly identity?: PeerIdentity;
}

export interface XdsServerOptions {
  readonly hub: Hub;
  readonly log: Logger;
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Mutual TLS. Default: plain text, and clients are who they say they are. */
  readonly tls?: {
    readonly live: LiveTls;
    /** Who the owner of a certificate is that the CAs have signed. Asked for each call, and again by `reviewPeers`. */
    readonly identify: (certificate: X509Certificate) => Result<PeerIdentity, PeerRefusal>;
    /** A client was not let in, or is no longer. */
    readonly onRefused?: (peer: string, refusal: PeerRefusal) => void;
  };
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** What came back from the streams, in order. */
  readonly onProgress?: (progress: readonly Progress[]) => void;
  /** For benches: told what holds the event loop. */
  readonly slices?: SliceMeter;
  /** Streams end at a random age in this range, so that proxies spread anew over the controllers. Default 10–12 h. */
  readonly maxStreamAgeMs?: { readonly from: number; readonly to: number };
  /** All that the streams hold is compared with the table at random intervals in this range. Default 45–75 min. */
  readonly compareEveryMs?: { readonly from: number; readonly to: number };
  /** A client that takes nothing for so long is cut off. Default 60 s: at 50 kB/s the largest response gets through. */
  readonly slowLimitMs?: number;
  readonly onSlow?: {
    /** How many clients have not taken their last response for 5 s. */
    readonly count: (count: number) => void;
    readonly cut: () => void;
  };
  /** When given, a stream is sent nothing until it is trusted (`HubStream.setTrust`). */
  readonly trust?: {
    readonly opened: (stream: HubStream) => void;
    readonly closed: (stream: HubStream) => void;
  };
  /** Asks other servers for the status of their clients. Default: there are none. */
  readonly askElsewhere?: AskElsewhere;
}

export interface XdsServer {
  readonly port: number;
  readonly connections: number;
  /** Ends a stream so that its client tries another controller. */
  sendElsewhere(stream: Pick<HubStream, 'id'>, words: string): void;
  /** With TLS: something changed by which clients are known. Streams of those that no longer are end at once. */
  reviewPeers(): void;
  /** Accepts no more, ends every stream with `UNAVAILABLE`, and after the grace whatever is left. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Longer than this the loop is not held; reads and timers get their turn in between. */
const sliceMs = 4;
const hourMs = 3_600_000;
const defaultAge = { from: 10 * hourMs, to: 12 * hourMs };
const defaultCompare = { from: 0.75 * hourMs, to: 1.25 * hourMs };
const defaultSlowLimitMs = 60_000;
const defaultGraceMs = 2_000;
/** setTimeout fires at once for longer delays. */
const maxTimerMs = 2 ** 31 - 1;

export async function startServer(options: XdsServerOptions): Promise<XdsServer> {
  const { hub, log, clock, slices = unmeasured } = options;
  const age = options.maxStreamAgeMs ?? defaultAge;
  const compareEvery = options.compareEveryMs ?? defaultCompare;
  const between = ({ from, to }: { from: number; to: number }): number => from + (to - from) * options.random();
  const connections = new Map<HubStream, Connection>();
  const ages = new Map<Connection, NodeJS.Timeout>();
  const slowClients = watchSlowClients({
    limitMs: options.slowLimitMs ?? defaultSlowLimitMs,
    onSlow: (count) => options.onSlow?.count(count),
    onCut: ({ stream }) => {
      log.warn({ event: 'slow_client_cut', streamId: stream.id });
      options.onSlow?.cut();
    },
  });
  let closing = false;
  let closed = false;
  let planned = false;
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let comparing: NodeJS.Timeout;

  function compareLater(): void {
    comparing = setTimeout(() => {
      hub.compareAll();
      compareLater();
    }, between(compareEvery));
    comparing.unref();
  }

  function plan(): void {
    if (planned) return;
    planned = true;
    inNextTurn(() => {
      planned = false;
      if (!closed) work();
    });
  }

  function work(): void {
    slices.begin();
    const end = performance.now() + sliceMs;
    hub.tick(clock());
    for (;;) {
      const done = hub.next(clock());
      if (done === undefined) break;
      if (done.kind === 'frame') connections.get(done.stream)?.write(done.frame);
      else if (done.kind === 'refused') connections.get(done.stream)?.refuse(done.error);
      if (performance.now() >= end) {
        plan();
        break;
      }
    }
    slices.end('streams');
    report();
    setTimer();
  }

  function report(): void {
    const progress = hub.takeProgress();
    if (progress.length === 0) return;
    slices.begin();
    options.onProgress?.(progress);
    slices.end('progress');
  }

  function setTimer(): void {
    const deadline = hub.nextDeadline() ?? Number.POSITIVE_INFINITY;
    if (deadline === timerAt) return;
    clearTimeout(timer);
    timerAt = deadline;
    if (deadline === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(
      () => {
        timerAt = Number.POSITIVE_INFINITY;
        plan();
      },
      Math.min(Math.max(0, deadline - clock()), maxTimerMs),
    );
  }

  /** Who is at the other end: anybody without TLS. Ends the call of whoever may not be there. */
  function identify(call: Call): Result<PeerIdentity | undefined, undefined> {
    if (options.tls === undefined) return ok(undefined);
    const known = identityOf(call.certificate);
    if (known.ok) return known;
    refuse(call, call.peer, known.error);
    return err(undefined);
  }

  function identityOf(certificate: X509Certificate | undefined): Result<PeerIdentity | undefined, PeerRefusal> {
    if (options.tls === undefined) return ok(undefined);
    if (certificate === undefined) return err({ reason: 'unauthenticated', words: 'there is no client certificate' });
    return options.tls.identify(certificate);
  }

  function refuse(call: Pick<Connection, 'end'>, peer: string, refusal: PeerRefusal): void {
    log.warn({ event: 'peer_refused', peer, reason: refusal.reason, words: refusal.words });
    options.tls?.onRefused?.(peer, refusal);
    call.end(refusal.reason === 'denied' ? status.PERMISSION_DENIED : status.UNAUTHENTICATED, refusal.words);
  }

  function accept(call: Call, protocol: Protocol): void {
    if (closing) {
      call.end(status.UNAVAILABLE, 'the controller is stopping');
      return;
    }
    const identity = identify(call);
    if (!identity.ok) return;
    const connection = createConnection({
      hub,
      call,
      open: {
        protocol,
        trust: options.trust === undefined ? 'complete' : 'nothing',
        ...(identity.value === undefined ? {} : { identity: identity.value }),
      },
      log,
      clock,
      reading: slowClients,
      slices,
      onRefused({ reason, words }) {
        if (reason !== 'wrong-identity' || identity.value === undefined) return;
        options.tls?.onRefused?.(call.peer, { reason: 'denied', words, identity: identity.value });
      },
      onClosed: (closed) => {
        connections.delete(closed.stream);
        clearTimeout(ages.get(closed));
        ages.delete(closed);
        options.trust?.closed(closed.stream);
        log.debug({ event: 'stream_closed', streamId: closed.stream.id });
        report();
      },
    });
    connections.set(connection.stream, connection);
    const tooOld = (): void => connection.end(status.UNAVAILABLE, 'the stream is old: open another one');
    ages.set(connection, setTimeout(tooOld, between(age)));
    options.trust?.opened(connection.stream);
    log.debug({ event: 'stream_opened', streamId: connection.stream.id, peer: call.peer });
  }

  const takeClientStatus = createClientStatus({ hub, slices, askElsewhere: options.askElsewhere, identify });
  const served: Methods = new Map([
    [methods.deltaResources, (call) => accept(call, 'delta')],
    [methods.resources, (call) => accept(call, 'sotw')],
    [methods.fetchClientStatus, (call) => takeClientStatus(call, { streams: false })],
    [methods.streamClientStatus, (call) => takeClientStatus(call, { streams: true })],
  ]);
  const { listen, tls } = options;
  const server = await startSocketThread({
    methods: served,
    listen,
    ...(tls === undefined ? {} : { tls: tls.live }),
    onHandshakeFailed(peer, { unknown, words }) {
      log.info({ event: 'handshake_failed', peer, words });
      if (unknown) tls?.onRefused?.(peer, { reason: 'unauthenticated', words });
    },
  });
  const { port } = server;
  hub.onWork(plan);
  compareLater();
  log.info({ event: 'xds_listening', host: listen.host, port });

  return {
    port,
    get connections() {
      return connections.size;
    },
    sendElsewhere(stream, words) {
      const found = [...connections.values()].find((connection) => connection.stream.id === stream.id);
      found?.end(status.RESOURCE_EXHAUSTED, words);
    },
    reviewPeers() {
      for (const connection of [...connections.values()]) {
        const known = identityOf(connection.certificate);
        if (!known.ok) refuse(connection, connection.peer, known.error);
      }
    },
    async close({ graceMs = defaultGraceMs } = {}) {
      closing = true;
      const stopped = server.stop();
      for (const connection of [...connections.values()]) {
        connection.end(status.UNAVAILABLE, 'the controller is stopping');
      }
      const forced = setTimeout(() => server.destroy(), graceMs);
      await stopped;
      clearTimeout(forced);
      clearTimeout(timer);
      clearTimeout(comparing);
      slowClients.close();
      for (const timeout of ages.values()) clearTimeout(timeout);
      closed = true;
      hub.onWork(() => {});
      report();
    },
  };
}
