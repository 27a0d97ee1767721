import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseObjectKey } from '../model/index.ts';
import type { EventRecord } from '../status/index.ts';
import { likenessOf } from '../status/index.ts';
import type { Api } from './api.ts';
import { authorityOf } from './auth/gate.ts';
import { moment, oneOf, timeOf } from './moment.ts';
import { addPath } from './operation.ts';
import { flag, readQuery, text, type ValuesOf, wholeNumber } from './query.ts';
import { watchOwner } from './watch.ts';

/** What happened: a list, newest first, or a watch. */

const query = {
  kind: text('Only what happened to objects of this kind; Controller is one, too.'),
  scope: text('Only what happened to objects of this scope.'),
  name: text('Only what happened to objects of this name.'),
  type: oneOf('Only of this type.', ['Normal', 'Warning']),
  reason: text('Only for this reason.'),
  since: moment('Only what happened from then on.'),
  limit: wholeNumber('Largest number of events in the answer; absent: 1000.', 1, 10_000),
  watch: flag(
    'Stay connected: the events as they are, oldest first, then each that happens or comes again, as NDJSON.',
  ),
} as const;

type Wanted = ValuesOf<typeof query>;

const defaultLimit = 1_000;

/** Events that wait for a watcher who does not read; then it is ended. */
const maxWaiting = 10_000;

export function addEvents(app: FastifyInstance, api: Api): void {
  const { clock, ports, view } = api;
  addPath(app, '/v1/events', {
    GET: {
      access: { verb: 'read', kind: 'Event' },
      description: {
        operationId: 'listEvents',
        tag: 'events',
        summary: 'What happened, newest first; repeats are counted',
        query,
        answers: {
          200: {
            description: 'The events. With watch: one line of JSON each, `{type: put, object}`.',
            schema: { $ref: '#/components/schemas/EventList' },
          },
        },
      },
      async handler(request, reply) {
        const wanted = readQuery(request.query, query);
        const from = wanted.since && timeOf(wanted.since, clock());
        const isWanted = (event: EventRecord) => matches(event, wanted, from);
        const found = [...ports.events.list()].filter(isWanted).sort(newestFirst);
        const items = found.slice(0, wanted.limit ?? defaultLimit);
        if (wanted.watch === true) return watch(request, reply, api, items.toReversed(), isWanted);
        return { metadata: { revision: String(view.revision), total: found.length }, items: items.map(shown) };
      },
    },
  });
}

/** The object in parts, as everywhere in the API. */
function shown({ object, ...event }: EventRecord) {
  return { object: parseObjectKey(object), ...event };
}

function newestFirst(a: EventRecord, b: EventRecord): number {
  return a.last < b.last ? 1 : a.last > b.last ? -1 : 0;
}

function matches(event: EventRecord, { kind, scope, name, type, reason }: Wanted, from: number | undefined): boolean {
  if (type !== undefined && event.type !== type) return false;
  if (reason !== undefined && event.reason !== reason) return false;
  if (from !== undefined && Date.parse(event.last) < from) return false;
  const object = parseObjectKey(event.object);
  return (
    (kind === undefined || object.kind === kind) &&
    (scope === undefined || object.scope === scope) &&
    (name === undefined || object.name === name)
  );
}

function watch(
  request: FastifyRequest,
  reply: FastifyReply,
  api: Api,
  present: readonly EventRecord[],
  isWanted: (event: EventRecord) => boolean,
) {
  const authority = authorityOf(request);
  const owner = watchOwner(api, authority);
  reply.type('application/x-ndjson').header('cache-control', 'no-store');
  if (request.method === 'HEAD') return reply.send();
  // By likeness: of what comes again while nobody reads, the last word is enough.
  const waiting = new Map(present.map((event) => [`${event.controller}\n${likenessOf(event)}`, event]));
  const { ports, watches, limits } = api;
  const stream = new Readable({ read: flush });
  let isRead = false;

  function flush(): void {
    isRead = true;
    if (waiting.size === 0) return;
    const lines = [...waiting.values()].map((event) => `${JSON.stringify({ type: 'put', object: shown(event) })}\n`);
    waiting.clear();
    isRead = stream.push(lines.join(''));
  }

  /** What was given may be taken back while somebody watches. */
  function endUnlessAllowed(): void {
    const action = { verb: 'read', kind: 'Event', scope: undefined, touchesSecret: false } as const;
    if (!authority.holds() || authority.refusal(action) !== undefined) stream.destroy();
  }

  const ignore = ports.events.onHappened((events) => {
    endUnlessAllowed();
    for (const event of events) {
      if (isWanted(event)) waiting.set(`${event.controller}\n${likenessOf(event)}`, event);
    }
    if (waiting.size > maxWaiting) stream.destroy();
    else if (isRead && !stream.destroyed) flush();
  });
  // So that who has gone is noticed.
  const beat = setInterval(() => {
    endUnlessAllowed();
    if (isRead && !stream.destroyed) stream.push(`${JSON.stringify({ type: 'bookmark' })}\n`);
  }, limits.bookmarkMs);
  beat.unref();
  const forget = watches.add(owner, () => stream.destroy());
  request.becomeWatch();
  stream.once('close', () => {
    clearInterval(beat);
    ignore();
    forget();
  });
  return reply.send(stream);
}
