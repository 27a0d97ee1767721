/**
 * One trace from a write to its last acknowledgement:
 *
 *   request ─┬─ store commit ─┬─ view adopt      from learning of the commit to having it in the View
 *            │                ├─ xds send        until the last proxy concerned was sent the last of it
 *            │                └─ xds acknowledge from the first response to the last acknowledgement
 *            └─ store commit …                   another attempt, or another object
 *
 * The parts after the commit are recorded when they are over, from the times that are kept of each commit anyway.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import type { createApi } from '../api/index.ts';
import type { Store } from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Span, Traces } from '../telemetry/traces.ts';
import type { CommitTrack } from './commits.ts';

export interface Tracing {
  /** Traces the requests of an API that write, and those whose callers trace them. */
  follow(app: ReturnType<typeof createApi>): void;
  /** The store as those requests are to see it. */
  store(store: Store): Store;
  /** The View has taken commits in. */
  adopted(): void;
  /** Every proxy concerned has acknowledged it. */
  taken(track: CommitTrack): void;
  close(): Promise<void>;
}

/** Where traces are off. */
const noTracing: Tracing = {
  follow: () => undefined,
  store: (store) => store,
  adopted: () => undefined,
  taken: () => undefined,
  close: async () => undefined,
};

/** Commits that are followed at a time. Those beyond that, and those that some proxy never answers, end unfinished. */
const maxFollowed = 1_000;

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

interface TracingOptions {
  readonly traces: Traces;
  readonly now: () => number;
  /** Undefined: the View has not taken it in. */
  readonly commitOf: (revision: number) => CommitTrack | undefined;
}

/** Tracing to a receiver; the exporter is loaded only where there is one. */
export async function openTracing(url: string, options: Omit<TracingOptions, 'traces'>, log: Logger): Promise<Tracing> {
  if (url === '') return noTracing;
  const { openTraces } = await import('../telemetry/traces.ts');
  const onFailure = (error: unknown): void => log.warn({ event: 'traces_not_sent', err: error });
  return createTracing({ ...options, traces: openTraces({ url, replica: hostname(), onFailure }) });
}

function createTracing({ traces, now, commitOf }: TracingOptions): Tracing {
  const current = new AsyncLocalStorage<Span>();
  const requests = new WeakMap<object, Span>();
  /** Revision → span of its commit, until the View has it. */
  const committed = new Map<number, Span>();
  /** Revision of a step of the View → spans of the commits in it, until proxies have it. */
  const settled = new Map<number, Span[]>();

  function look(): void {
    for (const [revision, commit] of committed) {
      const track = commitOf(revision);
      if (track === undefined) continue;
      committed.delete(revision);
      takeIn(commit, track);
    }
  }

  function takeIn(commit: Span, track: CommitTrack): void {
    const { settledWith, proxies } = track;
    const facts = { 'fairway.settled_with': settledWith, 'fairway.resources': track.resources };
    commit.begin('view adopt', track.committedAt).end(track.settledAt, facts);
    if (proxies.acknowledged === proxies.concerned) finish(commit, track);
    else bounded(settled).set(settledWith, [...(settled.get(settledWith) ?? []), commit]);
  }

  function finish(commit: Span, { settledAt, sent, acknowledged, proxies }: CommitTrack): void {
    // It concerned no proxy.
    if (sent === undefined || acknowledged === undefined) return;
    const facts = { 'fairway.proxies': proxies.concerned };
    commit.begin('xds send', settledAt).end(sent.last, facts);
    commit.begin('xds acknowledge', sent.first).end(acknowledged.last, facts);
  }

  return {
    follow(app) {
      app.addHook('onRequest', async (request, reply) => {
        const { traceparent, tracestate } = request.headers;
        if (readingMethods.has(request.method) && traceparent === undefined) return;
        const { method } = request;
        const route = request.routeOptions.url ?? 'none';
        const headers = { traceparent: textOf(traceparent), tracestate: textOf(tracestate) };
        const span = traces.begin(`${method} ${route}`, now(), headers);
        requests.set(request, span);
        reply.raw.once('close', () => {
          const status = { 'http.response.status_code': reply.statusCode };
          const facts = {
            'http.request.method': method,
            'http.route': route,
            'fairway.request_id': request.id,
            ...status,
          };
          span.end(now(), facts, reply.statusCode >= 500 ? 'failed' : 'ok');
        });
      });
      // Not earlier: the body is read in a context of its own.
      app.addHook('preHandler', (request, _reply, done) => {
        const span = requests.get(request);
        if (span === undefined) done();
        else current.run(span, done);
      });
    },
    store: (store) => ({
      async commit(transaction) {
        const commit = current.getStore()?.begin('store commit', now());
        if (commit === undefined) return store.commit(transaction);
        try {
          const outcome = await store.commit(transaction);
          const facts = outcome.committed ? { 'fairway.revision': outcome.revision } : { 'fairway.conflict': true };
          commit.end(now(), facts);
          if (outcome.committed) {
            bounded(committed).set(outcome.revision, commit);
            // The watch may have been faster than the answer.
            look();
          }
          return outcome;
        } catch (error) {
          commit.end(now(), {}, 'failed');
          throw error;
        }
      },
      get: (key) => store.get(key),
      list: (prefix) => store.list(prefix),
      head: () => store.head(),
      watch: (after, signal) => store.watch(after, signal),
      close: () => store.close(),
    }),
    adopted: look,
    taken(track) {
      for (const commit of settled.get(track.revision) ?? []) finish(commit, track);
      settled.delete(track.revision);
    },
    close: () => traces.close(),
  };
}

/** The map with room for one more: the oldest goes. */
function bounded<V>(map: Map<number, V>): Map<number, V> {
  for (const oldest of map.keys()) {
    if (map.size < maxFollowed) break;
    map.delete(oldest);
  }
  return map;
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
