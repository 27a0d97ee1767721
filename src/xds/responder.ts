/**
 * Making of responses. Each name on the agenda is judged at the moment of sending, and is sent, waits or is left alone. A
 * delta response holds what changed; so does a state-of-the-world one, unless its type wants the full set.
 */
import type { Course } from './agenda.ts';
import type { Fill } from './fills.ts';
import type { Response } from './flights.ts';
import type { Form } from './forms.ts';
import { contentOf } from './full-set.ts';
import { judge } from './judge.ts';
import type { Names } from './name-set.ts';
import { lostNeeds, visible } from './needs.ts';
import { finish, type Pieces, perPiece } from './pieces.ts';
import { type Resource, typeUrls } from './resource.ts';
import type { Stream } from './stream.ts';
import type { Entry } from './table.ts';
import type { TypeState } from './type-state.ts';
import { type Frame, frameResponse } from './wire.ts';

/** Names judged in one call, so that a request of 100,000 names does not hold the loop. */
const maxJudged = 4_096;
/** Unanswered responses of a type that are remembered; the answer to an older one is stale. */
const maxUnanswered = 64;
/** Field tags and lengths around a name or a resource, at most. */
const framingBytes = 8;
const never = Number.POSITIVE_INFINITY;

/** What a response changes. */
interface Changes {
  readonly puts: readonly Entry[];
  readonly removals: readonly string[];
}

const noRemovals: readonly string[] = [];
const none: Names = new Set();

/**
 * The next response of a type, or undefined when there is none to send now. It counts as sent; one that is very large is
 * put together in pieces, and nothing else may be sent before it.
 */
export function respond(stream: Stream, state: TypeState, now: number): Frame | Pieces<Frame> | undefined {
  if (state.recheck) {
    state.recheck = false;
    state.waitingUntil = never;
    for (const name of state.waiting.keys()) state.agenda.add(name);
  }
  if (state.agenda.size === 0 && state.prepared.size === 0 && !state.owesAnswer) return undefined;
  if (state.inWindow >= state.window) return undefined;
  const whole = stream.protocol === 'sotw' && state.traits.fullSet;
  // Without versions there is no telling what the client holds, and it may be newer than the table (rule 34).
  if (stream.trust !== 'complete' && stream.protocol === 'sotw' && state.returned) return undefined;
  const course = whole ? undefined : courseOf(stream, state);
  const fill = course && stream.host.fills.get(course.list, course.at, stream.audiences);
  if (fill !== undefined) return sendFill(stream, state, fill, now);
  const changes = whole ? collectWhole(stream, state, now) : collect(stream, state, now);
  if (changes === undefined) return undefined;
  if (changes.puts.length === 0 && changes.removals.length === 0) {
    const owes = state.owesAnswer && stream.trust === 'complete';
    // A removal that waits is no news, but a resource that does may be the answer.
    if (!owes || state.agenda.size > 0 || state.waitsToPut) return undefined;
  }
  if (course !== undefined && changes.removals.length === 0) {
    stream.host.fills.keep(course.list, course.at, stream.audiences, changes.puts);
  }
  return send(stream, state, changes, whole, now);
}

/**
 * The list that the state is going through, if what it is sent of it is the same as for every other stream: nothing of
 * its names is held, on its way, waiting or in doubt.
 */
function courseOf(stream: Stream, state: TypeState): Course | undefined {
  if (stream.protocol !== 'delta' || stream.trust !== 'complete') return undefined;
  if (state.hasDoubts || stream.host.forms.hasDoubts || state.waiting.size > 0) return undefined;
  const { course } = state.agenda;
  return course?.isFresh === true ? course : undefined;
}

/** As much as goes into one response. */
function collect(stream: Stream, state: TypeState, now: number): Changes {
  const { maxFrameBytes } = stream.host.options;
  const puts: Entry[] = [];
  let removals: string[] | undefined;
  let sizeBytes = 0;
  let judged = 0;
  for (const name of state.agenda) {
    judged += 1;
    if (judged > maxJudged) {
      stream.unfinished = true;
      break;
    }
    const decision = judge(stream, state, name, now);
    if (decision === 'leave') {
      state.leave(name);
      continue;
    }
    if (decision === 'wait') {
      state.agenda.postpone(name);
      continue;
    }
    const alone = decision !== 'remove' && (state.traits.single || stream.goesAlone(state, decision.resource));
    const empty = puts.length === 0 && removals === undefined;
    // Beside one that warms, a refusal would never be told.
    if (alone && state.traits.warms && state.inWindow > 0) continue;
    if (alone && !empty) {
      if (state.traits.single) break;
      continue;
    }
    sizeBytes += framingBytes + (decision === 'remove' ? name.length : decision.resource.bytes.byteLength);
    if (!empty && sizeBytes > maxFrameBytes) break;
    if (decision !== 'remove') puts.push(decision);
    else if (removals === undefined) removals = [name];
    else removals.push(name);
    if (alone) break;
  }
  return { puts, removals: removals ?? noRemovals };
}

/**
 * All changes at once: a full set of half of them would take the other half away. Judging may take several calls, so
 * what was judged is kept. Suspects go alone, beside what is known to be good; undefined: not to be sent yet.
 */
function collectWhole(stream: Stream, state: TypeState, now: number): Changes | undefined {
  state.judging ??= { names: state.agenda.keys(), suspect: undefined, isPaused: false };
  const { judging } = state;
  for (let judged = 0; ; judged += 1) {
    if (judged === perPiece) {
      stream.unfinished = true;
      return undefined;
    }
    const { done, value: name } = judging.names.next();
    if (done && state.agenda.size > 0 && judging.suspect === undefined) {
      // What came to the agenda when the end of the way was in sight.
      judging.names = state.agenda.keys();
      continue;
    }
    if (done) {
      // What follows is a piece of its own, where there is much.
      if (judged === 0 || judging.isPaused || state.prepared.size < perPiece) break;
      judging.isPaused = true;
      stream.unfinished = true;
      return undefined;
    }
    const decision = judge(stream, state, name, now);
    state.prepared.delete(name);
    if (decision === 'leave') state.leave(name);
    else if (typeof decision === 'object' && stream.goesAlone(state, decision.resource)) judging.suspect ??= name;
    else {
      state.agenda.postpone(name);
      if (decision === 'wait') continue;
      state.waiting.delete(name);
      state.prepared.set(name, decision);
    }
  }
  state.judging = undefined;
  // What an earlier stream brought the client is not known: left out of the first set, it would be taken away.
  if (state.sentRevision === 0 && state.waitsToPut) return undefined;
  const puts: Entry[] = [];
  const removals: string[] = [];
  for (const [name, decision] of state.prepared) {
    if (decision === 'remove') removals.push(name);
    else puts.push(decision);
  }
  if (state.prepared.size > 0 || judging.suspect === undefined) {
    // At once: name by name it is much work, when it is ten thousand.
    state.prepared.clear();
    return { puts, removals };
  }
  if (state.inWindow > 0) return undefined;
  // Since it was looked at, anything may have happened to it.
  const suspect = judge(stream, state, judging.suspect, now);
  if (typeof suspect === 'object' && stream.goesAlone(state, suspect.resource)) return { puts: [suspect], removals };
  stream.unfinished = true;
  return undefined;
}

/** What another stream was sent, to one that is like it. */
function sendFill(stream: Stream, state: TypeState, { entries, warmupMs, uses }: Fill, now: number): Frame {
  state.agenda.pass(entries.length);
  if (state.type === typeUrls.cluster) {
    if (stream.state(typeUrls.endpoint) !== undefined) follow(stream, state, entries);
    else for (const [type, used] of stream.used) finish(used.addAll(uses.get(type) ?? none));
  }
  const { forms, chunks } = stream.host.batches.of(state.type, entries, now);
  const contents = { forms, gone: noRemovals, chunks, removed: noRemovals };
  return dispatch(stream, state, contents, { nonce: stream.nextNonce(), older: noneOlder, warmupMs }, now);
}

function send(
  stream: Stream,
  state: TypeState,
  { puts, removals }: Changes,
  whole: boolean,
  now: number,
): Frame | Pieces<Frame> {
  const nonce = stream.nextNonce();
  if (state.type === typeUrls.listener) linger(stream, state, puts, removals, nonce);
  if (state.type === typeUrls.cluster) follow(stream, state, puts);
  let warmupMs = 0;
  const { isPlain } = state;
  for (const { resource, isPart } of puts) {
    if (resource.warmupMs !== undefined) warmupMs = Math.max(warmupMs, resource.warmupMs);
    if (isPlain) continue;
    const waiting = isPart ? state.waiting.get(resource.name) : undefined;
    state.leave(resource.name);
    if (waiting !== undefined) state.waiting.set(resource.name, waiting);
    state.takeBack.delete(resource.name);
    // A refusal counts as long as the table has what was refused, whatever is sent in its place.
    const refused = state.refused.get(resource.name);
    if (refused !== undefined && visible(stream, state.type, resource.name)?.resource.hash !== refused.hash) {
      state.refused.delete(resource.name);
    }
  }
  for (const name of removals) {
    state.leave(name);
    // What was refused stays refused while the table has it, though its remains are taken away.
    state.takeBack.delete(name);
    if (visible(stream, state.type, name) !== undefined) continue;
    state.refused.delete(name);
    state.suspects.delete(name);
  }
  if (stream.protocol === 'delta') {
    const contents = { ...stream.host.batches.of(state.type, puts, now), gone: removals, removed: removals };
    return dispatch(stream, state, contents, { nonce, older: olderOf(state, puts, contents.forms), warmupMs }, now);
  }
  const { forms, gone, resources } = setOf(state, puts, removals, whole);
  const own = { nonce, older: olderOf(state, puts, forms), warmupMs };
  return dispatchSet(stream, state, { forms, gone, resources }, own, now);
}

type Own = Pick<Response, 'nonce' | 'older'> & { readonly warmupMs: number };

/** Notes a response as sent, and frames it. */
function dispatch(
  stream: Stream,
  state: TypeState,
  { forms, gone, chunks, removed }: Contents,
  own: Own,
  now: number,
): Frame {
  noteSent(stream, state, { forms, gone }, own, now);
  return frame(state, stream.host.responseHead(stream.protocol, state.type), { nonce: own.nonce, removed }, chunks);
}

/** The same of state-of-the-world; in pieces where it has very many resources. */
function dispatchSet(
  stream: Stream,
  state: TypeState,
  { forms, gone, resources }: ResourceSet,
  own: Own,
  now: number,
): Frame | Pieces<Frame> {
  noteSent(stream, state, { forms, gone }, own, now);
  // As of now: what is committed while it is put together is not in it.
  const head = stream.host.responseHead(stream.protocol, state.type);
  const { runs } = stream.host;
  function* framed(): Pieces<Frame> {
    return frame(state, head, { nonce: own.nonce, removed: noRemovals }, yield* runs.join(resources));
  }
  return resources.length <= perPiece ? finish(framed()) : framed();
}

function noteSent(
  stream: Stream,
  state: TypeState,
  { forms, gone }: Pick<Contents, 'forms' | 'gone'>,
  { nonce, older, warmupMs }: Own,
  now: number,
): void {
  const { revision } = stream.table;
  state.owesAnswer = false;
  state.sentRevision = revision;
  const dueAt = now + stream.host.options.answerMs + warmupMs;
  state.fly({
    nonce,
    sentAt: now,
    dueAt,
    revision,
    puts: forms,
    removals: gone,
    older,
    overdue: false,
    takenBack: undefined,
  });
  const oldest = state.unanswered[0];
  if (oldest !== undefined && state.unanswered.length > maxUnanswered) abandon(stream, state, oldest, false);
}

function frame(
  { counts }: TypeState,
  head: Uint8Array,
  own: { readonly nonce: string; readonly removed: readonly string[] },
  chunks: readonly Uint8Array[],
): Frame {
  const made = frameResponse(head, own, chunks);
  counts.sent += 1;
  counts.sentBytes += made.sizeBytes;
  return made;
}

const noneOlder: ReadonlyMap<string, number> = new Map();

/** Which of the forms are older ones, and of which revision; a full set repeats what is on its way. */
function olderOf(
  state: TypeState,
  puts: readonly Entry[],
  forms: ReadonlyMap<string, Resource>,
): ReadonlyMap<string, number> {
  if (!puts.some(({ isOlder }) => isOlder) && !state.unanswered.some(({ older }) => older.size > 0)) return noneOlder;
  const older = new Map<string, number>();
  for (const flight of state.unanswered) {
    for (const [name, revision] of flight.older) {
      if (forms.get(name) === flight.puts.get(name)) older.set(name, revision);
    }
  }
  for (const { isOlder, resource, revision } of puts) if (isOlder) older.set(resource.name, revision);
  return older;
}

interface Contents {
  readonly forms: ReadonlyMap<string, Resource>;
  readonly gone: readonly string[];
  readonly chunks: readonly Uint8Array[];
  /** Names to be told as removed; only delta has words for that. */
  readonly removed: readonly string[];
}

/** What a response of state-of-the-world stands for once it is accepted, and the resources that it holds. */
interface ResourceSet extends Pick<Contents, 'forms' | 'gone'> {
  readonly resources: readonly Resource[];
}

function setOf(state: TypeState, puts: readonly Entry[], removals: readonly string[], whole: boolean): ResourceSet {
  const forms = new Map(puts.map(({ resource }) => [resource.name, resource]));
  const gone = new Set(removals);
  const resources = whole ? contentOf(state, forms, gone) : [...forms.values()];
  return { forms, gone: [...gone], resources };
}

/** Rule 35: a changed cluster warms until it gets its assignment, and Envoy does not ask again. */
function follow(stream: Stream, clusters: TypeState, puts: readonly Entry[]): void {
  const assignments = stream.state(typeUrls.endpoint);
  const isChanged = ({ name, hash }: Resource): boolean =>
    clusters.expected(name)?.hash !== hash || clusters.pushesAgain > 0;
  for (const entry of puts) {
    for (const need of entry.resource.needs) stream.used.get(need.type)?.add(need.name);
    for (const assignment of stream.table.assignmentsOf(entry)) {
      stream.used.get(typeUrls.endpoint)?.add(assignment);
      if (assignments?.wants(assignment) && isChanged(entry.resource)) assignments.mark(assignment, true);
    }
  }
}

/** Notes what the connections of removed or changed listeners go on using until they are drained. */
function linger(
  stream: Stream,
  state: TypeState,
  puts: readonly Entry[],
  removals: readonly string[],
  nonce: string,
): void {
  if (stream.drainMs <= 0) return;
  const needs = new Set<string>();
  const add = (name: string, after: Form | undefined): void => {
    const before = state.expected(name);
    if (before === undefined) return;
    for (const key of lostNeeds(stream, before, after)) needs.add(key);
  };
  for (const { resource } of puts) add(resource.name, resource);
  for (const name of removals) add(name, undefined);
  if (needs.size > 0) stream.lingering.push({ nonce, until: never, needs });
}

/** Gives up on the answer to a response; what it held is looked at again, and sent again in any case if `force`. */
export function abandon(stream: Stream, state: TypeState, response: Response, force: boolean): void {
  state.take(response.nonce);
  for (const name of [...response.puts.keys(), ...response.removals]) {
    state.flying.land(name, response.nonce);
    if (state.wants(name)) state.mark(name, force);
  }
  for (const linger of stream.lingering) if (linger.nonce === response.nonce) linger.until = response.sentAt;
}
