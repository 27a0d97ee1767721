import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * The metrics of a server process, each with what it says: the one table that the README's list is held to by a test.
 * One per server.
 */
export interface Metrics {
  readonly registry: Registry;
  readonly viewRevision: Gauge;
  readonly adoptionSeconds: Histogram;
  readonly objects: Gauge<'kind'>;
  readonly streams: Gauge;
  readonly slowStreams: Gauge;
  readonly cutStreams: Counter;
  readonly requests: Counter<'method' | 'code'>;
  readonly rejections: Counter<'type' | 'scope'>;
  readonly stalls: Counter<'reason'>;
}

/** `countObjects` is asked at each scrape: kind → how many there are. */
export function createMetrics(countObjects: () => ReadonlyMap<string, number>): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'fairway_' });
  return {
    registry,
    viewRevision: new Gauge({
      name: 'fairway_view_revision',
      help: 'Store revision that this View has reached',
      registers,
    }),
    adoptionSeconds: new Histogram({
      name: 'fairway_adoption_seconds',
      help: 'Time from learning of store commits to having them in the View',
      buckets: [0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2],
      registers,
    }),
    objects: new Gauge({
      name: 'fairway_objects',
      help: 'Objects in the View',
      labelNames: ['kind'],
      registers,
      collect() {
        for (const [kind, count] of countObjects()) this.set({ kind }, count);
      },
    }),
    streams: new Gauge({ name: 'fairway_xds_streams', help: 'Open xDS streams', registers }),
    slowStreams: new Gauge({
      name: 'fairway_xds_slow_streams',
      help: 'Open xDS streams whose proxy has not taken the last response for 5 s',
      registers,
    }),
    cutStreams: new Counter({
      name: 'fairway_xds_cut_streams_total',
      help: 'xDS streams ended because the proxy took nothing for a minute',
      registers,
    }),
    requests: new Counter({
      name: 'fairway_api_requests_total',
      help: 'REST requests by method and status',
      labelNames: ['method', 'code'],
      registers,
    }),
    rejections: new Counter({
      name: 'fairway_xds_rejections_total',
      help: 'Resources refused by proxies',
      labelNames: ['type', 'scope'],
      registers,
    }),
    stalls: new Counter({
      name: 'fairway_xds_stalls_total',
      help: 'Times a proxy did not answer, or needed something, past its deadline',
      labelNames: ['reason'],
      registers,
    }),
  };
}
