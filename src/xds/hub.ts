/**
 * The xDS server without its sockets: one table, and a session for each open stream. A commit costs the number of
 * changes times the streams that each concerns. Work is handed out in small pieces by `next`, so that the caller
 * keeps the clock and decides when to let go of the event loop:
 *
 *   commit ─▶ log ──next: mark──▶ sessions ──next: frame──▶ caller's socket
 *
 * All changes in the log are marked before a frame is made, so that a commit reaches a stream as one change. The slow
 * compare goes on in between, whenever there is nothing better to do, and so does the taking of very large requests.
 */
import { Crowd, type InCrowd, notInCrowd } from '../lib/crowd.ts';
import { type InTurn, notInTurn, Turns } from '../lib/turns.ts';
import { type AdmissionOptions, createAdmission, defaultAdmission } from './admission.ts';
import { blameFor } from './answers.ts';
import { createBatches } from './batches.ts';
import { canaryOf } from './canary.ts';
import { createComparison } from './comparison.ts';
import { type Counts, createCounts } from './counts.ts';
import { Fills } from './fills.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { type Conviction, createForms } from './forms.ts';
import { Editions } from './holdings.ts';
import { NameLists } from './name-lists.ts';
import { each, type Pieces } from './pieces.ts';
import type { Progress } from './progress.ts';
import { Requests } from './requests.ts';
import type { Commit, TypeUrl } from './resource.ts';
import { createRoster } from './roster.ts';
import { Runs } from './runs.ts';
import { Session, type StreamError } from './session.ts';
import { readSotwRequest, type SotwRequest } from './sotw-wire.ts';
import type { PeerIdentity, SessionHost, SessionOptions, Stream, Trust } from './stream.ts';
import { createTable, type Table } from './table.ts';
import { isKnownType } from './types.ts';
import { type DeltaRequest, type Frame, type Protocol, readDeltaRequest, responseHead } from './wire.ts';

export interface HubOptions {
  /** From 0 to below 1, for nonces. */
  readonly random: () => number;
  /** Name of this controller, told to every client. */
  readonly identifier?: string;
  /** Convictions of earlier runs, see {@link Hub.convictions}. */
  readonly convictions?: readonly Conviction[];
  /** Default 3 MiB: many clients take no more than 4. */
  readonly maxFrameBytes?: number;
  /** Default 0. The drain time of proxies whose subjects say none in {@link Commit}. */
  readonly drainMs?: number;
  /** Default 5 s. */
  readonly needMs?: number;
  /** Default 15 s. */
  readonly answerMs?: number;
  readonly maxLogEntries?: number;
  /** Default 64. So many resources together are kept, and sent, once for all streams that have the same. */
  readonly shareFrom?: number;
  readonly admission?: Partial<AdmissionOptions>;
}

export interface StreamOptions {
  /** Default `delta`. */
  readonly protocol?: Protocol;
  /** Default `complete`: the table is the newest there is. Otherwise see {@link HubStream.setTrust}. */
  readonly trust?: Trust;
  /** Who the client is known to be: a stream whose node says another id or cluster ends. Default: whoever it says. */
  readonly identity?: PeerIdentity;
}

/** A stream as its socket sees it. */
export interface HubStream {
  readonly id: string;
  /** Takes the bytes of a request; what it returns ends the stream, as a `refused` piece of work does later on. */
  receive(bytes: Uint8Array, now: number): StreamError | undefined;
  /** Whether the socket can take a frame; it can when the stream opens. */
  setWritable(writable: boolean): void;
  /** How far the table may be believed to be the newest there is (rule 34). */
  setTrust(trust: Trust): void;
  /** Frees all that is known of the stream. */
  close(now: number): void;
}

/**
 * A piece of work done: a frame to be written, a stream to be ended for what it asked, or nothing to be written but more
 * to do.
 */
export type Work =
  | { readonly kind: 'frame'; readonly stream: HubStream; readonly frame: Frame }
  | { readonly kind: 'refused'; readonly stream: HubStream; readonly error: StreamError }
  | { readonly kind: 'more' };

export interface Hub {
  readonly table: Table;
  /** Who has what. */
  readonly fleet: Fleet;
  /** What was sent and answered so far. */
  readonly counts: Counts;
  /** How many streams are open, those whose node is not known yet too. */
  openStreams(): Readonly<Record<Protocol, number>>;
  /** Whether every change of the table is marked on the streams that it concerns: until then they only seem in step. */
  readonly marked: boolean;
  /** Every change up to this revision is marked. */
  readonly markedRevision: number;
  /** Takes a commit; streams learn of it by `next`. */
  commit(commit: Commit): void;
  open(peer: string, now: number, options?: StreamOptions): HubStream;
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
  /** A name is beyond doubt: what is new of it goes to all at once again. */
  clear(type: TypeUrl, name: string): void;
  /** Compares all that the streams hold with the table, piece by piece, and repairs what was lost. */
  compareAll(): void;
  /** The same for one stream; false when there is none with this id. */
  compare(streamId: string): boolean;
}

/** While frames are to be made, a comparison goes on once in so many calls of `next`. */
const compareEvery = 16;

/** Of very large requests, a piece is taken in every second call. */
const takeEvery = 2;

/** Below that, sharing costs a stream more than it saves. */
const defaultShareFrom = 64;

/** Marks set in one call of `next`: a few milliseconds' worth. */
const maxMarks = 4_096;

/** Streams whose deadlines are looked at in one call of `tick`: what was not answered may be thousands of names. */
const maxTicked = 8;

export function createHub(options: HubOptions): Hub {
  const table = createTable(options.maxLogEntries === undefined ? {} : { maxLogEntries: options.maxLogEntries });
  const forms = createForms(options.convictions);
  const sessionOptions: SessionOptions = {
    identifier: options.identifier ?? 'fairway',
    maxFrameBytes: options.maxFrameBytes ?? 3 * 1024 * 1024,
    drainMs: options.drainMs ?? 0,
    needMs: options.needMs ?? 5_000,
    answerMs: options.answerMs ?? 15_000,
    shareFrom: options.shareFrom ?? defaultShareFrom,
  };
  const members = new Map<Stream, Member>();
  const byId = new Map<string, Member>();
  const roster = createRoster<Member>(table);
  const admission = createAdmission<Member>({ ...defaultAdmission, ...options.admission });
  const ready = new Turns<Member>();
  /** Those that may not have all that they should have, or did not say so yet. */
  const stirred = new Crowd<Member>();
  /** Those of which a request is taken in pieces, who waits longest first. Nothing is sent to them meanwhile. */
  const taking = new Set<Member>();
  /** What has to be marked, in this order, before a frame is made. */
  const chores = new Set<Pieces>();
  const comparison = createComparison<Member>({
    sessionOf: ({ session }) => session,
    prepare: assign,
    compared: queue,
  });
  const heads = {
    delta: new Map<TypeUrl, { readonly revision: number; readonly bytes: Uint8Array }>(),
    sotw: new Map<TypeUrl, { readonly revision: number; readonly bytes: Uint8Array }>(),
  };
  let progress: Progress[] = [];
  let position = 0;
  let marked = 0;
  let opened = 0;
  let soonest = Number.POSITIVE_INFINITY;
  let notified = false;
  let listener: (() => void) | undefined;
  /** The log went on without us: nothing is known of the streams before all are compared. */
  let lost = false;
  let turn = 0;
  /** Time as of the last call of `next`. */
  let lastNow = 0;

  const batches = createBatches();
  const counts = createCounts();
  const host: SessionHost = {
    table,
    forms,
    batches,
    runs: new Runs(),
    editions: new Editions(sessionOptions.shareFrom),
    nameLists: new NameLists(table),
    fills: new Fills(table),
    counts,
    options: sessionOptions,
    get markedRevision() {
      return marked;
    },
    responseHead(protocol, type) {
      const kept = heads[protocol].get(type);
      if (kept?.revision === table.revision) return kept.bytes;
      const { identifier } = sessionOptions;
      const head = { typeUrl: type, systemVersion: String(table.revision), controlPlane: identifier };
      const bytes = responseHead(head, protocol);
      // Of types that clients invent, nothing is kept.
      if (isKnownType(type)) heads[protocol].set(type, { revision: table.revision, bytes });
      return bytes;
    },
    joined(stream, node) {
      const member = members.get(stream);
      if (member === undefined) return;
      member.joinedAt = table.log.end;
      roster.join(member, node);
      // Even if nothing may be sent yet: there is something to be told.
      announce();
    },
    emit(event) {
      progress.push(event);
      // Who does not answer tries nothing for the others.
      if (event.kind === 'stalled' && event.reason === 'answer')
        for (const name of event.names) passOn(event.type, name);
    },
    heldElsewhere(stream, type, name, hash) {
      for (const other of members.keys()) {
        if (other === stream || other.version !== stream.version) continue;
        if (other.state(type)?.held.get(name)?.hash === hash) return true;
      }
      return false;
    },
    proven(stream, { type, name, hash }, revision, acquitted, at) {
      const { version } = stream;
      if (!acquitted && !forms.isInDoubt(version, type, name)) return;
      progress.push({ kind: 'proven', type, name, hash, version, revision, acquitted, at });
      forms.prove(version, type, name);
      markAll(type, name);
    },
    isCanary: (stream, resource) => canaryOf(members.keys(), stream.version, resource) === stream,
    doubt(stream, type, name) {
      forms.doubt(stream.version, type, name);
      markAll(type, name);
    },
    passOn,
  };

  function* sessions(): Generator<Session> {
    for (const member of members.values()) yield member.session;
  }

  /** The stream that was to try a name in doubt does not: all of them look whether it is for them. */
  function passOn(type: TypeUrl, name: string): void {
    for (const trial of forms.trials) if (trial.type === type && trial.name === name) markAll(type, name);
  }

  /** Names in doubt that it is for this stream to try. */
  function triedBy(stream: Stream): { readonly type: TypeUrl; readonly name: string }[] {
    return [...forms.trials].filter(({ type, name }) => {
      const resource = table.get(type, name)?.resource;
      return resource !== undefined && host.isCanary(stream, resource);
    });
  }

  /** Has a name looked at on all streams that may see it, before anything is sent to any of them. */
  function markAll(type: TypeUrl, name: string): void {
    const audience = table.get(type, name)?.resource.audience;
    if (audience === undefined) return;
    chores.add(
      each(roster.withAudience(audience), (member) => {
        member.session.mark(type, name);
        queue(member);
      }),
    );
    announce();
  }

  /** Does a piece of the chores; false when there are more. */
  function doChores(): boolean {
    const [chore] = chores;
    if (chore?.next().done === true) chores.delete(chore);
    return chores.size === 0;
  }

  function queue(member: Member): void {
    if (!member.closed) stirred.add(member);
    if (!member.admitted || !member.writable || member.closed || member.requests.busy) return;
    ready.add(member);
    announce();
  }

  /** Asks for admission, once there is something to be sent; false when too many wait already. */
  function enter(member: Member): boolean {
    const { node, trust } = member.session.stream;
    if (member.admitted || member.closed || node === undefined || trust === 'nothing') return true;
    announce();
    return admission.enter(member);
  }

  function leave(member: Member): void {
    const tried = triedBy(member.session.stream);
    roster.leave(member);
    admission.leave(member);
    members.delete(member.session.stream);
    byId.delete(member.id);
    stirred.delete(member);
    ready.delete(member);
    taking.delete(member);
    comparison.leave(member);
    for (const { type, name } of tried) markAll(type, name);
  }

  function announce(): void {
    if (notified) return;
    notified = true;
    listener?.();
  }

  /** Marks a name on the streams that have the audience, as of a position of the log; how many these are. */
  function mark(audience: string, type: TypeUrl, name: string, at: number): number {
    const concerned = roster.withAudience(audience);
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
    if (!doChores()) return false;
    if (position < log.start) {
      position = log.end;
      lost = true;
      compareAll();
    }
    if (lost && comparison.step()) return false;
    lost = false;
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
        if (after !== undefined) tellWithheld(type, name);
      } else if (change?.kind === 'subject') {
        for (const member of roster.withSubject(change.subject)) chores.add(assign(member));
        for (const { type, name } of forms.trials) markAll(type, name);
        return false;
      }
    }
    marked = table.revision;
    return true;
  }

  /** A form came back that clients of some version refused before: they are not asked again. */
  function tellWithheld(type: TypeUrl, name: string): void {
    const resource = table.get(type, name)?.resource;
    if (resource === undefined) return;
    for (const { version, words } of forms.convictionsOf(type, name, resource.hash)) {
      if (![...members.keys()].some((stream) => stream.version === version)) continue;
      const blame = blameFor(forms, version, resource, table.revision, words);
      progress.push({ kind: 'withheld', ...blame, at: lastNow });
    }
  }

  function* assign(member: Member): Pieces {
    const { node } = member.session.stream;
    if (node === undefined || member.closed) return;
    yield* roster.assign(member, node);
    queue(member);
  }

  /** Takes a request of a stream; what comes of it ends the stream. */
  function* take(member: Member, bytes: Uint8Array, at: number): Pieces<StreamError | undefined> {
    const { session } = member;
    let request: DeltaRequest | SotwRequest;
    try {
      request = yield* session.stream.protocol === 'delta' ? readDeltaRequest(bytes) : readSotwRequest(bytes);
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : 'malformed message';
      return { reason: 'malformed', words: `reading a request: ${words}` };
    }
    const tried = mayGiveUp(request) ? triedBy(session.stream) : [];
    const error = yield* session.take(request, at);
    if (error !== undefined) return error;
    for (const { type, name } of tried) if (!session.stream.state(type)?.wants(name)) markAll(type, name);
    if (enter(member)) return undefined;
    return { reason: 'overloaded', words: 'too many proxies wait here: try another controller' };
  }

  /** A piece of a request of the stream was taken. */
  function taken(member: Member): void {
    taking.delete(member);
    if (!member.requests.busy) {
      queue(member);
      return;
    }
    taking.add(member);
    stirred.add(member);
    ready.delete(member);
    announce();
  }

  function compare(some: Iterable<Member>): void {
    comparison.begin(some);
    announce();
  }

  const compareAll = (): void => compare(members.values());

  /** Takes a piece of the request that waits longest, unless frames have their turn. */
  function takeNow(): Work | undefined {
    const [member] = taking;
    if (member === undefined || (ready.size > 0 && turn % takeEvery > 0)) return undefined;
    const error = member.requests.step();
    taken(member);
    return error === undefined ? { kind: 'more' } : { kind: 'refused', stream: member, error };
  }

  /** Frames come first, but cannot keep a comparison from ending. */
  function compareNow(): boolean {
    return comparison.running && (ready.size === 0 || turn % compareEvery === 0);
  }

  function schedule(member: Member): void {
    member.deadline = member.session.nextDeadline() ?? Number.POSITIVE_INFINITY;
    soonest = Math.min(soonest, member.deadline);
  }

  const hub: Hub = {
    table,
    fleet: createFleet({
      table,
      forms,
      counts,
      sessions,
      session: (streamId) => byId.get(streamId)?.session,
      roster,
      stirred,
    }),
    counts,
    openStreams() {
      const open = { delta: 0, sotw: 0 };
      for (const { protocol } of members.keys()) open[protocol] += 1;
      return open;
    },
    get marked() {
      return position === table.log.end && !lost && chores.size === 0;
    },
    get markedRevision() {
      return lost ? 0 : marked;
    },
    commit(commit) {
      const first = !table.ready;
      table.apply(commit);
      // What is not sent because it is the same is good in its new generation as well.
      for (const { type, name } of commit.puts) {
        const resource = table.get(type, name)?.resource;
        if (resource !== undefined) forms.renew(resource, table.revision);
      }
      // Streams that came before the first commit have been waiting for it.
      if (first) for (const member of members.values()) queue(member);
      announce();
    },
    open(peer, now, { protocol = 'delta', trust = 'complete', identity } = {}) {
      opened += 1;
      const nonceTag = `${Math.floor(options.random() * 36 ** 4).toString(36)}.`;
      const session = new Session(host, { id: String(opened), peer, protocol, trust, identity, nonceTag, now });
      const requests = new Requests((bytes, at) => take(member, bytes, at));
      const member: Member = {
        id: session.stream.id,
        session,
        requests,
        admitted: false,
        writable: true,
        closed: false,
        deadline: Number.POSITIVE_INFINITY,
        joinedAt: 0,
        turn: notInTurn,
        place: notInCrowd,
        receive(bytes, at) {
          if (!requests.busy && session.takePlainAck(bytes, at)) {
            queue(member);
            return undefined;
          }
          const error = requests.receive(bytes, at);
          taken(member);
          return error;
        },
        setTrust(newTrust) {
          session.setTrust(newTrust);
          for (const { type, name } of forms.trials) session.mark(type, name);
          enter(member);
          queue(member);
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
      byId.set(member.id, member);
      stirred.add(member);
      return member;
    },
    next(now) {
      notified = false;
      lastNow = now;
      if (!dispatch()) return { kind: 'more' };
      for (const member of admission.admit(now)) {
        member.admitted = true;
        queue(member);
      }
      turn += 1;
      const took = takeNow();
      if (took !== undefined) return took;
      if (compareNow()) {
        comparison.step();
        return { kind: 'more' };
      }
      const member = ready.take();
      if (member === undefined) return undefined;
      const { session } = member;
      const frame = session.next(now);
      // To the end of the queue: everyone gets a frame before anyone gets a second one.
      if (session.unfinished || (frame !== undefined && !session.stream.quiet)) ready.add(member);
      else {
        session.rest(now);
        if (session.calm) stirred.delete(member);
        if (session.idle) admission.leave(member);
      }
      schedule(member);
      return frame === undefined ? { kind: 'more' } : { kind: 'frame', stream: member, frame };
    },
    nextDeadline() {
      const deadline = Math.min(soonest, batches.forgetAt, admission.nextDeadline() ?? Number.POSITIVE_INFINITY);
      return deadline === Number.POSITIVE_INFINITY ? undefined : deadline;
    },
    tick(now) {
      batches.forget(now);
      if (now < soonest) return;
      soonest = Number.POSITIVE_INFINITY;
      let ticked = 0;
      for (const member of members.values()) {
        if (member.deadline <= now && ticked < maxTicked) {
          ticked += 1;
          const more = member.session.tick(now);
          if (more !== undefined) chores.add(more);
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
      if (ready.size + taking.size + chores.size > 0 || position < table.log.end) announce();
    },
    takeProgress() {
      const taken = progress;
      progress = [];
      return taken;
    },
    convictions: () => forms.convictions(),
    clear(type, name) {
      forms.clear(type, name);
      // Nobody is to seem in step until it is looked at.
      for (const member of roster.withAudience(table.get(type, name)?.resource.audience ?? '')) stirred.add(member);
      markAll(type, name);
    },
    compareAll,
    compare(streamId) {
      const member = byId.get(streamId);
      if (member !== undefined) compare([member]);
      return member !== undefined;
    },
  };
  return hub;
}

/** Whether a client may want less after this request than before. */
function mayGiveUp(request: DeltaRequest | SotwRequest): boolean {
  return 'names' in request || request.unsubscribe.length > 0;
}

/** A stream in the hub. */
interface Member extends HubStream, InTurn, InCrowd {
  readonly session: Session;
  readonly requests: Requests;
  /** It may be sent something. */
  admitted: boolean;
  writable: boolean;
  closed: boolean;
  deadline: number;
  /** End of the change log when the node became known. */
  joinedAt: number;
}
