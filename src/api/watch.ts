import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { identityKey } from '../access/index.ts';
import { FairwayError } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Kind } from '../model/index.ts';
import { revisionHeader } from './answer.ts';
import type { Api } from './api.ts';
import type { Authority } from './auth/authority.ts';
import { tooMany } from './auth/gate.ts';
import type { Answer } from './operation.ts';
import { show } from './present.ts';
import { flag, wholeNumber } from './query.ts';
import { reachedForReading } from './reading.ts';
import type { Selection } from './selection.ts';
import { bookmark, createTeller, selectedNow, type WatchEvent } from './watch-event.ts';

/**
 * Watches: changes as they are adopted, for as long as the client listens.
 *
 * A watcher is a revision, not a queue: it reads the View's recent changes at the pace at which its client reads, so a
 * slow client costs no memory. One that falls behind those changes is ended; when it comes back with its last
 * bookmark it gets 410 and lists anew.
 */

export const watchParameters = {
  watch: flag('Stay connected and send changes: NDJSON, or server-sent events by `Accept: text/event-stream`.'),
  after: wholeNumber(
    'Watch: begin after this revision; absent: with all objects as they are. 410 when it is too old.',
    0,
  ),
} as const;

const ndjson = 'application/x-ndjson';
const eventStream = 'text/event-stream';

/** The answer of a GET that can watch. */
export function watchAnswers({ description, schema }: Answer): Answer {
  return {
    description: `${description} With watch: one WatchEvent a line (${ndjson}), or as ${eventStream}.`,
    ...(schema && { schema }),
  };
}

export interface WatchRequest {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly after: number | undefined;
  readonly authority: Authority;
}

/** Whose a new watch is. Throws `TooManyRequests` when they have enough. */
export function watchOwner({ watches, limits }: Pick<Api, 'watches' | 'limits'>, { identity }: Authority): string {
  const owner = identityKey(identity);
  if (watches.openOf(owner) < limits.watchesPerIdentity) return owner;
  throw tooMany(
    `watching: you have ${limits.watchesPerIdentity} watches open, and may not have more`,
    limits.bookmarkMs,
  );
}

/** Answers a request with a watch. Throws `RevisionCompacted` when the View does not reach back to `after`. */
export async function openWatch(request: FastifyRequest, reply: FastifyReply, api: Api, watch: WatchRequest) {
  const { view, limits, watches } = api;
  const isSse = (request.headers.accept ?? '').includes(eventStream);
  const after = watch.after ?? lastEventId(request);
  await reachedForReading(view, after, limits);
  if (after !== undefined && view.changesSince(after) === undefined) throw compacted(after, view.revision);
  reply.header(revisionHeader, String(view.revision)).header('cache-control', 'no-store');
  reply.type(isSse ? eventStream : ndjson);
  if (request.method === 'HEAD') return reply.send();

  const owner = watchOwner(api, watch.authority);
  const controller = new AbortController();
  const { signal } = controller;
  const text = isSse ? sseText : ndjsonText;
  const stream = Readable.from(
    texts(api, { ...watch, after }, signal, text, () => end()),
    { objectMode: false },
  );
  // Text that waits is text that nobody reads: such a stream would not come to its end by itself.
  const end = () => {
    controller.abort();
    if (stream.readableLength > 0) stream.destroy();
  };
  const forget = watches.add(owner, end);
  request.becomeWatch();
  stream.once('close', () => {
    // Also ends the wait of a generator whose reader has gone.
    controller.abort();
    forget();
  });
  return reply.send(stream);
}

/** A browser that reconnects says what it has seen (HTML standard, section 9.2). */
function lastEventId(request: FastifyRequest): number | undefined {
  const given = request.headers['last-event-id'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && /^[0-9]{1,15}$/.test(given)) return Number(given);
  throw new FairwayError('InvalidParameter', 'reading the headers: Last-Event-ID must be a revision');
}

function compacted(after: number, revision: number): FairwayError {
  return new FairwayError(
    'RevisionCompacted',
    `watching after revision ${after}: changes are no longer kept from there; list anew and watch after the revision of the list`,
    { extra: { revision: String(revision) } },
  );
}

type EventText = (event: WatchEvent, revision: number | undefined) => string;

const ndjsonText: EventText = (event) => `${JSON.stringify(event)}\n`;

/** Only the last event of an adoption has an id: who resumes in between would miss the others. */
const sseText: EventText = (event, revision) =>
  `event: ${event.type}\n${revision === undefined ? '' : `id: ${revision}\n`}data: ${JSON.stringify(event)}\n\n`;

/** Events written in one turn of the event loop. */
const eventsPerTurn = 100;

/** The text of a watch, until it is aborted or has fallen behind the View's recent changes. */
async function* texts(
  { view, limits, log }: Api,
  { kind, selection, after, authority }: WatchRequest,
  signal: AbortSignal,
  text: EventText,
  end: () => void,
): AsyncGenerator<string> {
  const teller = createTeller(view, kind, selection);
  const present = after === undefined ? selectedNow(view, kind, selection, teller) : [];
  let position = after ?? view.revision;
  let isBookmarkDue = true;
  const waiting = createSignal();
  const fallBehind = () => {
    log?.info({ event: 'watch_behind', kind, position, revision: view.revision }, 'a watch was too slow and is ended');
    end();
  };
  const ignore = view.onChanges(() => waiting.wake());
  const timer = setInterval(() => {
    isBookmarkDue = true;
    if (!authority.holds()) return end();
    if (view.changesSince(position) === undefined) fallBehind();
    waiting.wake();
  }, limits.bookmarkMs);
  timer.unref();
  signal.addEventListener('abort', () => waiting.wake(), { once: true });
  try {
    yield* slices(present, (object) => ({ type: 'put', object: show(object, view) }), position, text);
    while (!signal.aborted) {
      if (!authority.holds()) return end();
      const changes = view.changesSince(position);
      if (changes === undefined) return fallBehind();
      // Both in one step: what is adopted from here on comes with the next look.
      position = view.revision;
      const events = changes.flatMap((change) => teller.eventsOf(change));
      yield* slices(events, (event) => event, position, text);
      if (isBookmarkDue) {
        isBookmarkDue = false;
        yield text(bookmark(kind, position), position);
      }
      if (view.revision === position) await waiting.sleep();
    }
  } finally {
    clearInterval(timer);
    ignore();
  }
}

async function* slices<T>(
  items: readonly T[],
  eventOf: (item: T) => WatchEvent,
  revision: number,
  text: EventText,
): AsyncGenerator<string> {
  for (let start = 0; start < items.length; start += eventsPerTurn) {
    const isLast = start + eventsPerTurn >= items.length;
    const slice = items.slice(start, start + eventsPerTurn).map(eventOf);
    yield slice.map((event, i) => text(event, isLast && i === slice.length - 1 ? revision : undefined)).join('');
    if (!isLast) await nextTurn();
  }
}

/** Sleeps until woken; a call to wake while nobody sleeps is kept for the next sleeper. */
function createSignal() {
  let isWoken = false;
  let resolve: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      resolve?.();
    },
    async sleep() {
      if (!isWoken) {
        await new Promise<void>((done) => {
          resolve = done;
        });
      }
      isWoken = false;
      resolve = undefined;
    },
  };
}
