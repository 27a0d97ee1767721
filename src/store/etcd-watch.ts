import { setTimeout as sleep } from 'node:timers/promises';
import type { IDuplexStream, IEvent, IWatchRequest, IWatchResponse } from 'etcd3';
import { backoffMs } from '../lib/backoff.ts';
import { FairwayError } from '../lib/errors.ts';
import type { EtcdConnection } from './etcd-connection.ts';
import { type KeyRange, revisionOf } from './etcd-keys.ts';
import type { Revision } from './store.ts';

export interface WatchOptions {
  readonly connection: EtcdConnection;
  readonly range: KeyRange;
  /** All events of one revision, in one call, in the order of revisions. */
  readonly onRevision: (revision: Revision, events: readonly IEvent[]) => void;
  /** etcd has answered, with or without something new; every second or so while it is there. */
  readonly onHeard?: () => void;
}

type WatchStream = IDuplexStream<IWatchRequest, IWatchResponse>;

/** A quiet stream is asked for a sign of life this often, and given up when none has come for the longer time. */
const askMs = 1_000;
const silenceLimitMs = 4_000;
const retry = { baseMs: 50, maxMs: 1_000 } as const;

/** How a stream ended by itself. */
export type WatchEnd =
  | { readonly kind: 'compacted'; readonly floor: Revision }
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * Follows `range` from `start` (the first revision that is told) until `signal` aborts, over as many streams and
 * members as it takes; ends before that only with `RevisionCompacted`.
 */
export async function followRange(start: Revision, options: WatchOptions, signal: AbortSignal): Promise<void> {
  let next = start;
  const progressed = (revision: Revision): void => {
    next = Math.max(next, revision + 1);
  };
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    const before = next;
    const { endpoint, failed } = options.connection.streamEndpoint();
    const end = await watchOnce(
      (open) => endpoint.stream('Watch', open),
      { start: next, range: options.range, signal },
      (revision, events) => {
        if (events.length > 0) options.onRevision(revision, events);
        progressed(revision);
      },
      options.onHeard,
    );
    if (signal.aborted) return;
    if (end.kind === 'compacted') throw compactedAt(next, end.floor);
    failed();
    if (next > before) attempt = 0;
    await sleep(backoffMs(attempt, { ...retry, random: Math.random() }), undefined, { signal }).catch(() => undefined);
  }
}

function compactedAt(start: Revision, floor: Revision): FairwayError {
  return new FairwayError(
    'RevisionCompacted',
    `watching from revision ${start - 1}: etcd is compacted up to revision ${floor}; list anew and watch from there`,
    { extra: { compactedRevision: floor } },
  );
}

interface OneWatch {
  readonly start: Revision;
  readonly range: KeyRange;
  readonly signal: AbortSignal;
}

type OpenStream = (open: (client: unknown, metadata: { clone(): unknown }) => WatchStream) => Promise<WatchStream>;

/**
 * One stream with one watch. `onRevision` also gets revisions without events, where etcd says that it has told all up
 * to there.
 */
async function watchOnce(
  open: OpenStream,
  { start, range, signal }: OneWatch,
  onRevision: (revision: Revision, events: readonly IEvent[]) => void,
  onHeard: (() => void) | undefined,
): Promise<WatchEnd> {
  let stream: WatchStream;
  try {
    stream = await open((client, metadata) => {
      // A member that has lost the others would keep the stream open and never say a word.
      const required = metadata.clone() as { set(key: string, value: string): void };
      required.set('hasleader', 'true');
      return (client as { watch(metadata: unknown): WatchStream }).watch(required);
    });
  } catch (error) {
    return { kind: 'failed', error };
  }
  const { promise, resolve } = Promise.withResolvers<WatchEnd>();
  const fail = (error: unknown): void => resolve({ kind: 'failed', error });
  let heardAt = performance.now();
  let pending: IEvent[] = [];
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const asking = setInterval(() => {
    const silentMs = performance.now() - heardAt;
    if (silentMs > silenceLimitMs) fail(new Error(`etcd was silent for ${Math.round(silentMs)} ms`));
    else if (silentMs > askMs / 2) stream.write({ progress_request: {} });
  }, askMs);
  stream.on('error', fail);
  stream.on('end', () => fail(new Error('etcd ended the stream')));
  stream.on('data', (response) => {
    heardAt = performance.now();
    if (!response.canceled) onHeard?.();
    else {
      const floor = revisionOf(response.compact_revision);
      if (floor > 0) resolve({ kind: 'compacted', floor });
      else fail(new Error(`etcd ended the watch: ${response.cancel_reason}`));
      return;
    }
    // An answer to the question above comes without a watch, and may overtake events that are still to be told
    // (https://github.com/etcd-io/etcd/issues/15220): it says that somebody is there, and nothing about revisions.
    if (response.created || response.watch_id === '-1') return;
    pending = pending.length === 0 ? response.events : [...pending, ...response.events];
    if (response.fragment) return;
    const told = pending;
    pending = [];
    try {
      if (told.length === 0) onRevision(revisionOf(response.header.revision), []);
      else for (const [revision, events] of byRevision(told)) onRevision(revision, events);
    } catch (error) {
      fail(error);
    }
  });
  stream.write({
    create_request: { ...range, start_revision: String(start), progress_notify: true, fragment: true },
  });
  try {
    return await promise;
  } finally {
    clearInterval(asking);
    signal.removeEventListener('abort', onAbort);
    // What still comes from it, the error of the cancellation for one, is nobody's business any more.
    stream.on('error', () => undefined);
    stream.cancel();
  }
}

/** Events come in the order of revisions, several of one revision side by side. */
function* byRevision(events: readonly IEvent[]): Generator<[Revision, IEvent[]]> {
  let run: IEvent[] = [];
  let revision = 0;
  for (const event of events) {
    const own = revisionOf(event.kv.mod_revision);
    if (own !== revision && run.length > 0) {
      yield [revision, run];
      run = [];
    }
    revision = own;
    run.push(event);
  }
  if (run.length > 0) yield [revision, run];
}
