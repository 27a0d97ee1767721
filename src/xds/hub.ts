/**
 * The xDS server without its sockets: one table, and a session for each open stream. A commit costs the number of
 * changes times the streams that each concerns. Work is handed out in small pieces by `next`, so that the caller
 * keeps the clock and decides when to let go of the event loop:
 *
 *   commit ─▶ log ──next: mark──▶ sessions ──next: frame──▶ caller's socket
 *
 * All changes in the log are marked before a frame is made, so that a commit reaches a stream as one change.
 */
import { createFleet, type Fleet } from './fleet.ts';
import { type Conviction, createForms } from './forms.ts';
import { addTo, removeFrom } from './multi-map.ts';
import type { NodeInfo } from './node-info.ts';
import type { Progress } from './progress.ts';
import type { Commit, TypeUrl } from './resource.ts';
import { DeltaSession, type StreamError } from './session.ts';
import type { SessionHost, SessionOptions, Stream } from './stream.ts';
import { createTable, subjectsOf, type Table } from './table.ts';
import { isKnownType } from './types.ts';
import { decodeDeltaRequest, type Frame, responseHead } from './wire.ts';

export interface HubOptions {
  /** From 0 to below 1, for nonces. */
  readonly random: () => number;
  /** Name of this controller, told to every client. */
  readonly identifier?: string;
  /** Convictions of earlier runs, see {@link Hub.convictions}. */
  readonly convictions?: readonly Conviction[];
  /** Default 3 MiB: many clients take no more than 4. */
  readonly maxFrameBytes?: number;
  /** Default 0. The drain time of the proxies: so long, what a removed listener used is kept. */
  readonly drainMs?: number;
  /** Default 5 s. */
  readonly needMs?: number;
  /** Default 15 s. */
  readonly answerMs?: number;
  readonly maxLogEntries?: number;
}

/** A stream as its socket sees it. */
export interface HubStream {
  readonly id: string;
  /** Takes the bytes of a request; what it returns ends the stream. */
  receive(bytes: Uint8Array, now: number): StreamError | undefined;
  /** Whether the socket can take a frame; it can when the stream opens. */
  setWritable(writable: boolean): void;
  /** Frees all that is known of the stream. */
  close(now: number): void;
}

/** A piece of work done: a frame to be written, or nothing to be written but more to do. */
export type Work =
  | { readonly kind: 'frame'; readonly stream: HubStream; readonly frame: Frame }
  | { readonly kind: 'more' };

export interface Hub {
  readonly table: Table;
  /** Who has what. */
  readonly fleet: Fleet;
  /** Whether every change of the table is marked on the streams that it concerns: until then they only seem in step. */
  readonly marked: boolean;
  /** Takes a commit; streams learn of it by `next`. */
  commit(commit: Commit): void;
  open(peer: string, now: number): HubStream;
  /** Does the next piece of work, at most a few milliseconds of it; undefined when there is none. */
  next(now: number): Work | undefined;
  /** When `tick` wants to be called; may be early. */
  nextDeadline(): number | undefined;
  tick(now: number): void;
  /** Calls `listener` when there is work for `next`, once for each time that there was none. */
  onWork(listener: () => void): void;
  /** What came back since the last call. */
  takeProgress(): readonly Progress[];
  /** What was convicted and may not be sent, to be kept over a restart. */
  convictions(): readonly Conviction[];
  /** Compares all that the streams hold with the table, and repairs what was lost. */
  compareAll(): void;
}

/** Marks set in one call of `next`: a few milliseconds' worth. */
const maxMarks = 10_000;

export function createHub(options: HubOptions): Hub {
  const table = createTable(options.maxLogEntries === undefined ? {} : { maxLogEntries: options.maxLogEntries });
  const forms = createForms(options.convictions);
  const sessionOptions: SessionOptions = {
    identifier: options.identifier ?? 'fairway',
    maxFrameBytes: options.maxFrameBytes ?? 3 * 1024 * 1024,
    drainMs: options.drainMs ?? 0,
    needMs: options.needMs ?? 5_000,
    answerMs: options.answerMs ?? 15_000,
  };
  const members = new Map<Stream, Member>();
  const byAudience = new Map<string, Set<Member>>();
  const bySubject = new Map<string, Set<Member>>();
  const ready = new Set<Member>();
  const heads = new Map<TypeUrl, { readonly revision: number; readonly bytes: Uint8Array }>();
  let progress: Progress[] = [];
  let position = 0;
  let marked = 0;
  let opened = 0;
  let soonest = Number.POSITIVE_INFINITY;
  let notified = false;
  let listener: (() => void) | undefined;

  const host: SessionHost = {
    table,
    forms,
    options: sessionOptions,
    get markedRevision() {
      return marked;
    },
    responseHead(type) {
      const kept = heads.get(type);
      if (kept?.revision === table.revision) return kept.bytes;
      const { identifier } = sessionOptions;
      const bytes = responseHead({ typeUrl: type, systemVersion: String(table.revision), controlPlane: identifier });
      // Of types that clients invent, nothing is kept.
      if (isKnownType(type)) heads.set(type, { revision: table.revision, bytes });
      return bytes;
    },
    joined(stream, node) {
      const member = members.get(stream);
      if (member !== undefined) join(member, node);
    },
    emit(event) {
      progress.push(event);
    },
    heldElsewhere(stream, type, name, hash) {
      for (const other of members.keys()) {
        if (other !== stream && other.state(type)?.held.get(name)?.hash === hash) return true;
      }
      return false;
    },
    acquitted(type, name, hash, at) {
      progress.push({ kind: 'acquitted', type, name, hash, at });
      const audience = table.get(type, name)?.resource.audience;
      if (audience !== undefined) mark(audience, type, name, table.log.end);
    },
  };

  function join(member: Member, node: NodeInfo): void {
    member.joinedAt = table.log.end;
    for (const subject of subjectsOf(node)) addTo(bySubject, subject, member);
    assign(member, node);
  }

  function assign(member: Member, node: NodeInfo): void {
    const before = member.session.stream.audiences;
    const after = table.audiencesOf(node);
    for (const audience of before) if (!after.has(audience)) removeFrom(byAudience, audience, member);
    for (const audience of after) if (!before.has(audience)) addTo(byAudience, audience, member);
    member.session.setAudiences(after);
    queue(member);
  }

  function leave(member: Member): void {
    const { stream } = member.session;
    if (stream.node !== undefined) {
      for (const subject of subjectsOf(stream.node)) removeFrom(bySubject, subject, member);
    }
    for (const audience of stream.audiences) removeFrom(byAudience, audience, member);
    members.delete(stream);
    ready.delete(member);
  }

  function queue(member: Member): void {
    if (!member.writable || member.closed) return;
    ready.add(member);
    announce();
  }

  function announce(): void {
    if (notified) return;
    notified = true;
    listener?.();
  }

  /** Marks a name on the streams that have the audience, as of a position of the log; how many these are. */
  function mark(audience: string, type: TypeUrl, name: string, at: number): number {
    const concerned = byAudience.get(audience);
    if (concerned === undefined) return 0;
    for (const member of concerned) {
      // Who joined later began with a newer table than this change.
      if (at < member.joinedAt) continue;
      member.session.mark(type, name);
      queue(member);
    }
    return concerned.size;
  }

  /** Marks changes of the log on the streams that they concern; false when the budget ran out before the log. */
  function dispatch(): boolean {
    const { log } = table;
    if (position < log.start) {
      position = log.end;
      compareAll();
    }
    let budget = maxMarks;
    while (position < log.end) {
      if (budget <= 0) return false;
      const at = position;
      const change = log.at(at);
      position += 1;
      budget -= 1;
      if (change?.kind === 'resource') {
        const { type, name, before, after } = change;
        if (after === undefined && table.get(type, name) === undefined) forms.forget(type, name);
        if (before !== undefined) budget -= mark(before, type, name, at);
        if (after !== undefined && after !== before) budget -= mark(after, type, name, at);
      } else if (change?.kind === 'subject') {
        for (const member of bySubject.get(change.subject) ?? []) {
          const { node } = member.session.stream;
          if (node !== undefined) assign(member, node);
        }
      }
    }
    marked = table.revision;
    return true;
  }

  function compareAll(): void {
    for (const member of members.values()) {
      const { node } = member.session.stream;
      if (node !== undefined) assign(member, node);
      member.session.compare();
      queue(member);
    }
  }

  function schedule(member: Member): void {
    member.deadline = member.session.nextDeadline() ?? Number.POSITIVE_INFINITY;
    soonest = Math.min(soonest, member.deadline);
  }

  const hub: Hub = {
    table,
    fleet: createFleet({ table, forms, sessions: () => [...members.values()].map((member) => member.session) }),
    get marked() {
      return position === table.log.end;
    },
    commit(commit) {
      const first = !table.ready;
      table.apply(commit);
      // Streams that came before the first commit have been waiting for it.
      if (first) for (const member of members.values()) queue(member);
      announce();
    },
    open(peer, now) {
      opened += 1;
      const nonceTag = Math.floor(options.random() * 36 ** 4).toString(36);
      const session = new DeltaSession(host, { id: String(opened), peer, nonceTag: `${nonceTag}.`, now });
      const member: Member = {
        id: session.stream.id,
        session,
        writable: true,
        closed: false,
        deadline: Number.POSITIVE_INFINITY,
        joinedAt: 0,
        receive(bytes, at) {
          const request = decodeDeltaRequest(bytes);
          if (!request.ok) return { reason: 'malformed', words: `reading a request: ${request.error}` };
          const error = session.handle(request.value, at);
          if (error === undefined) queue(member);
          return error;
        },
        setWritable(writable) {
          member.writable = writable;
          if (writable) queue(member);
          else ready.delete(member);
        },
        close(at) {
          if (member.closed) return;
          member.closed = true;
          leave(member);
          session.close(at);
        },
      };
      members.set(session.stream, member);
      return member;
    },
    next(now) {
      notified = false;
      if (!dispatch()) return { kind: 'more' };
      for (const member of ready) {
        ready.delete(member);
        const { session } = member;
        const frame = session.next(now);
        if (frame !== undefined) {
          // To the end of the queue: everyone gets a frame before anyone gets a second one.
          ready.add(member);
          schedule(member);
          return { kind: 'frame', stream: member, frame };
        }
        if (session.unfinished) ready.add(member);
        else session.rest(now);
        schedule(member);
        return { kind: 'more' };
      }
      return undefined;
    },
    nextDeadline() {
      return soonest === Number.POSITIVE_INFINITY ? undefined : soonest;
    },
    tick(now) {
      if (now < soonest) return;
      soonest = Number.POSITIVE_INFINITY;
      for (const member of members.values()) {
        if (member.deadline <= now) {
          member.session.tick(now);
          queue(member);
          schedule(member);
        }
        soonest = Math.min(soonest, member.deadline);
      }
    },
    onWork(callback) {
      listener = callback;
      // What happened before anyone listened is work as well.
      notified = false;
      if (ready.size > 0 || position < table.log.end) announce();
    },
    takeProgress() {
      const taken = progress;
      progress = [];
      return taken;
    },
    convictions: () => forms.convictions(),
    compareAll,
  };
  return hub;
}

/** A stream in the hub. */
interface Member extends HubStream {
  readonly session: DeltaSession;
  writable: boolean;
  closed: boolean;
  deadline: number;
  /** End of the change log when the node became known. */
  joinedAt: number;
}
