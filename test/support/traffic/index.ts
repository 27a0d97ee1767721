/**
 * Constant traffic through a proxy, from a thread of its own, so that neither the control plane under test nor the
 * test takes turns with it. Every request and every connection is accounted for: what does not end as it should is a
 * failure, told with its time.
 */
import { Worker } from 'node:worker_threads';
import { within } from '../until.ts';

export interface TrafficOptions {
  /** A plain HTTP listener, asked by HTTP/1.1 over kept connections and by HTTP/2 with prior knowledge. */
  readonly http: { readonly port: number; readonly http1PerSecond: number; readonly http2PerSecond: number };
  /** An HTTPS listener: each request is a handshake of its own, by HTTP/1.1 and HTTP/2 in turn. */
  readonly https?: {
    readonly port: number;
    readonly hosts: readonly string[];
    /** PEM: who must have signed what is shown for a host. */
    readonly ca: string;
    readonly perSecond: number;
  };
  /** Connections that stay open and carry something all the time. */
  readonly held?: {
    readonly webSockets: readonly { readonly port: number; readonly host: string }[];
    readonly tcp: readonly { readonly port: number }[];
  };
}

export interface Failure {
  readonly kind: 'http1' | 'http2' | 'https' | 'webSocket' | 'tcp';
  readonly host: string;
  readonly why: string;
  /** RFC 3339. */
  readonly at: string;
}

export interface TrafficReport {
  readonly sent: Readonly<Record<'http1' | 'http2' | 'https', number>>;
  readonly failed: number;
  /** The first of them. */
  readonly failures: readonly Failure[];
  /** Connections that were to stay: how many there are, and how much the quietest of them has carried. */
  readonly held: { readonly open: number; readonly leastEchoes: number };
  /** Serial numbers of certificates that were shown. */
  readonly serials: readonly string[];
}

export interface Traffic {
  /** Asks for the hosts too, from now on. Until a host has answered for the first time, 404 is no failure of it. */
  ask(...hosts: readonly string[]): Promise<void>;
  /** Asks for the hosts no more; resolves when nothing is under way for them. */
  forget(...hosts: readonly string[]): Promise<void>;
  /** Resolves when the host has answered for the first time. */
  answered(host: string): Promise<void>;
  report(): Promise<TrafficReport>;
  /** Ends all requests and connections in good order. A second call gives the same. */
  stop(): Promise<TrafficReport>;
}

export type Order =
  | { readonly kind: 'ask' | 'forget'; readonly hosts: readonly string[] }
  | { readonly kind: 'answered'; readonly host: string }
  | { readonly kind: 'report' }
  | { readonly kind: 'stop' };

/** Longer than any request of the traffic may take. */
const orderLimitMs = 30_000;

export async function startTraffic(options: TrafficOptions): Promise<Traffic> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: options });
  const waiting = new Map<number, { resolve(report: TrafficReport): void; reject(cause: Error): void }>();
  let orders = 0;
  let stopped: Promise<TrafficReport> | undefined;
  const fail = (cause: Error): void => {
    for (const { reject } of waiting.values()) reject(cause);
    waiting.clear();
  };
  worker.on('message', ({ order, report }: { order: number; report: TrafficReport }) => {
    waiting.get(order)?.resolve(report);
    waiting.delete(order);
  });
  worker.on('error', (cause) => fail(cause instanceof Error ? cause : new Error(String(cause))));
  worker.on('exit', () => fail(new Error('the traffic has ended')));
  const give = (order: Order): Promise<TrafficReport> =>
    new Promise((resolve, reject) => {
      orders += 1;
      waiting.set(orders, { resolve, reject });
      worker.postMessage({ number: orders, order });
    });
  const giveInTime = (order: Order): Promise<TrafficReport> =>
    within(`the traffic to carry out ${JSON.stringify(order)}`, give(order), orderLimitMs);
  return {
    ask: async (...hosts) => void (await giveInTime({ kind: 'ask', hosts })),
    forget: async (...hosts) => void (await giveInTime({ kind: 'forget', hosts })),
    answered: async (host) => void (await giveInTime({ kind: 'answered', host })),
    report: () => giveInTime({ kind: 'report' }),
    stop() {
      stopped ??= giveInTime({ kind: 'stop' }).finally(() => worker.terminate());
      return stopped;
    },
  };
}
