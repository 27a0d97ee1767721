import type { EndedRequest, RequestMeter } from '../api/index.ts';
import type { Adoption, World } from '../control/index.ts';
import { kindNames } from '../model/index.ts';
import { createMetrics, type Metrics, setTotals } from '../telemetry/metrics.ts';
import type { Hub, Progress } from '../xds/index.ts';
import type { Commits, CommitTrack } from './commits.ts';
import type { MeasuredStore } from './measured-store.ts';
import { shortType } from './proxy-config.ts';

/** What this controller knows of the leader. */
export interface Leadership {
  /** Whether it is this one. */
  readonly isLeader: boolean;
  readonly term: number;
}

/** Where the metrics are read from that nobody tells of. */
export interface MeasuredSources {
  readonly world: World;
  readonly store: MeasuredStore;
  readonly hub: Hub;
  readonly commits: Commits;
  /** Store revision that the View has reached. */
  readonly revision: () => number;
  readonly leadership: () => Leadership;
}

/** Fills the metrics of a server. What happens often is counted as a number, and becomes a metric when it is read. */
export interface Measurements {
  readonly metrics: Metrics;
  /** Of the REST API. */
  readonly requests: RequestMeter;
  adopted(adoption: Adoption, settledAt: number): void;
  /** What was seen of proxies. */
  seen(progress: readonly Progress[]): void;
  /** Every proxy concerned has acknowledged it. */
  taken(track: CommitTrack): void;
  /** Begins to read what is only read. */
  read(sources: MeasuredSources): void;
}

/** A store that is out of reach must not keep a scrape waiting. */
const headLimitMs = 1_000;

export function createMeasurements(): Measurements {
  const metrics = createMetrics();
  const seen = new Map<Progress['kind'], number>();
  const computed = new Map<string, number>();

  function readKernel({ kernel, graph }: World): void {
    for (const kind of kindNames) {
      let count = 0;
      for (const _ of kernel.keys(graph.objects[kind])) count += 1;
      metrics.objects.set({ kind }, count);
    }
    for (const [collection, rows] of kernel.sizes()) metrics.kernelRows.set({ collection }, rows);
    metrics.kernelFailures.set(kernel.failures().length);
    setTotals(
      metrics.recomputed,
      [...computed].map(([collection, rows]) => [{ collection }, rows]),
    );
  }

  function readHub({ counts, openStreams }: Hub): void {
    for (const [protocol, streams] of Object.entries(openStreams())) metrics.streams.set({ protocol }, streams);
    const types = [...counts.byType].map(([type, ofType]) => [{ type: shortType(type) }, ofType] as const);
    setTotals(
      metrics.sent,
      types.map(([labels, { sent }]) => [labels, sent]),
    );
    setTotals(
      metrics.sentBytes,
      types.map(([labels, { sentBytes }]) => [labels, sentBytes]),
    );
    setTotals(
      metrics.acks,
      types.map(([labels, { acked }]) => [labels, acked]),
    );
    setTotals(
      metrics.nacks,
      types.map(([labels, { nacked }]) => [labels, nacked]),
    );
  }

  async function readRevisions(store: MeasuredStore, revision: () => number): Promise<void> {
    // Where it does not answer, the newest that was heard of is all that is known.
    await withinLimit(store.head().catch(() => 0));
    const reached = revision();
    metrics.storeRevision.set(store.newestHeard);
    metrics.viewRevision.set(reached);
    metrics.viewLag.set(Math.max(0, store.newestHeard - reached));
  }

  return {
    metrics,
    requests: {
      begun: () => metrics.requestsInFlight.inc(),
      watching() {
        metrics.requestsInFlight.dec();
        metrics.watches.inc();
      },
      ended({ method, route, code, seconds, isWatch }: EndedRequest) {
        (isWatch ? metrics.watches : metrics.requestsInFlight).dec();
        const labels = { method, code: code ?? 'aborted' };
        metrics.requests.inc(labels);
        if (!isWatch && code !== undefined) metrics.requestSeconds.observe({ ...labels, route }, seconds);
      },
    },
    adopted({ receivedAt, work }, settledAt) {
      metrics.adoptionSeconds.observe((settledAt - receivedAt) / 1000);
      metrics.settleSeconds.observe(work.settleMs / 1000);
      for (const [collection, rows] of work.computed) computed.set(collection, (computed.get(collection) ?? 0) + rows);
    },
    seen(progress) {
      for (const event of progress) {
        seen.set(event.kind, (seen.get(event.kind) ?? 0) + 1);
        if (event.kind === 'rejected') metrics.rejections.inc({ type: shortType(event.type), scope: event.scope });
        else if (event.kind === 'stalled') metrics.stalls.inc({ reason: event.reason });
      }
    },
    taken({ committedAt, acknowledged }) {
      if (acknowledged !== undefined) metrics.ackLagSeconds.observe((acknowledged.last - committedAt) / 1000);
    },
    read({ world, store, hub, commits, revision, leadership }) {
      metrics.beforeScrape(() => readKernel(world));
      metrics.beforeScrape(() => readHub(hub));
      metrics.beforeScrape(() => readRevisions(store, revision));
      metrics.beforeScrape(() => {
        const { isLeader, term } = leadership();
        metrics.leader.set(isLeader ? 1 : 0);
        metrics.leaderTerm.set(term);
        metrics.commitsWaiting.set(commits.waiting);
        setTotals(
          metrics.reports,
          [...seen].map(([kind, times]) => [{ kind }, times]),
        );
      });
    },
  };
}

/** Waits for an answer as long as a scrape may wait. */
async function withinLimit(answer: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, headLimitMs);
  await Promise.race([answer, late]);
  clearTimeout(timer);
}
