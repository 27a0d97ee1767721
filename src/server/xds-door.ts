import { joinHostPort } from '../config/index.ts';
import type { Mirror } from '../control/index.ts';
import type { SliceMeter } from '../lib/slices.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Hub, Progress } from '../xds/index.ts';
import { createXdsServer } from '../xds/io/index.ts';
import { createCatchUp } from './catch-up.ts';
import { listenOn } from './listen-on.ts';
import type { MutualTls } from './mutual-tls.ts';
import type { Peers } from './peers.ts';
import { createStatusElsewhere } from './status-elsewhere.ts';

/** Where proxies come in. */
export interface XdsDoor {
  /** `host:port`, with the port that was taken. */
  readonly address: string;
  /** Ends the streams of those who are no longer let in. */
  reviewPeers(): void;
  /** Ends a stream so that its proxy opens another one, wherever its balancing leads it. */
  sendElsewhere(streamId: string, words: string): void;
  close(): Promise<void>;
}

export interface XdsDoorOptions {
  /** `host:port`. */
  readonly listen: string;
  readonly hub: Hub;
  readonly store: Store;
  readonly mirror: Mirror;
  /** Asked of proxies that are not connected here. */
  readonly peers: Peers;
  /** Undefined: whoever reaches the door is let in. */
  readonly mutualTls: MutualTls | undefined;
  /** A client was not let in. */
  readonly onRefused: NonNullable<MutualTls['xds']['onRefused']>;
  readonly metrics: Metrics;
  readonly slices: SliceMeter;
  readonly onProgress: (progress: readonly Progress[]) => void;
  readonly now: () => number;
  readonly log: Logger;
}

/** Opens the door; what comes in is trusted with removals only once this controller is known not to lag behind. */
export async function openXdsDoor(options: XdsDoorOptions): Promise<XdsDoor> {
  const { hub, store, mirror, peers, mutualTls, metrics, log } = options;
  const listen = listenOn(options.listen);
  const catchUp = createCatchUp({
    head: () => store.head(),
    reached: (revision, limits) => mirror.reached(revision, limits),
    sendElsewhere: (stream) => xds.sendElsewhere(stream, 'this controller lags behind the store: try another one'),
    log,
    random: Math.random,
  });
  const xds = await createXdsServer({
    hub,
    log,
    listen,
    clock: options.now,
    random: Math.random,
    onProgress: options.onProgress,
    slices: options.slices,
    onSlow: { count: (count) => metrics.slowStreams.set(count), cut: () => metrics.cutStreams.inc() },
    askElsewhere: createStatusElsewhere({ peers, records: mirror.records, log }),
    trust: { opened: (stream) => catchUp.add(stream), closed: (stream) => catchUp.remove(stream) },
    ...(mutualTls === undefined ? {} : { tls: { ...mutualTls.xds, onRefused: options.onRefused } }),
  });
  // Revocation lists are a part of the credentials.
  mutualTls?.xds.live.onChange(() => xds.reviewPeers());
  return {
    address: joinHostPort(listen.host, xds.port),
    reviewPeers: () => xds.reviewPeers(),
    sendElsewhere: (id, words) => xds.sendElsewhere({ id }, words),
    async close() {
      await xds.close();
      catchUp.close();
    },
  };
}
