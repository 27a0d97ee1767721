/**
 * Making of responses. Each dirty name is judged at the moment of sending, by the newest state of the table and of
 * the stream, and is sent, waits or is left alone.
 */
import { emptyAssignment } from './empty-assignment.ts';
import type { Form } from './forms.ts';
import { firstMissing, lostNeeds, stillUsed, visible } from './needs.ts';
import { typeUrls } from './resource.ts';
import type { Stream } from './stream.ts';
import type { Entry } from './table.ts';
import type { Response, TypeState } from './type-state.ts';
import { type Frame, frameResponse } from './wire.ts';

/** Names judged in one call, so that a request of 100,000 names does not hold the loop. */
const maxJudged = 4_096;
/** Unanswered responses of a type that are remembered; the answer to an older one is stale. */
const maxUnanswered = 64;
/** Field tags and lengths around a name or a resource, at most. */
const framingBytes = 8;
const never = Number.POSITIVE_INFINITY;

type Decision = 'leave' | 'wait' | 'remove' | Entry;

/** The next response of a type, or undefined when there is none to send now. */
export function respond(stream: Stream, state: TypeState, now: number): Frame | undefined {
  if (state.recheck) {
    state.recheck = false;
    state.waitingUntil = never;
    for (const name of state.waiting.keys()) state.dirty.add(name);
  }
  if (state.dirty.size === 0 && !state.owesAnswer) return undefined;
  if (state.inWindow >= state.traits.window) return undefined;
  const { maxFrameBytes } = stream.host.options;
  const puts = new Map<string, Entry>();
  const removals: string[] = [];
  let sizeBytes = 0;
  let judged = 0;
  for (const name of state.dirty) {
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
      state.dirty.delete(name);
      continue;
    }
    const alone = decision !== 'remove' && (state.traits.single || state.suspects.has(name));
    const empty = puts.size === 0 && removals.length === 0;
    if (alone && !empty) {
      if (state.traits.single) break;
      continue;
    }
    sizeBytes += framingBytes + (decision === 'remove' ? name.length : decision.resource.bytes.byteLength);
    if (!empty && sizeBytes > maxFrameBytes) break;
    if (decision === 'remove') removals.push(name);
    else puts.set(name, decision);
    if (alone) break;
  }
  if (puts.size === 0 && removals.length === 0) {
    if (!state.owesAnswer || state.dirty.size > 0 || state.waiting.size > 0) return undefined;
  }
  return send(stream, state, puts, removals, now);
}

function judge(stream: Stream, state: TypeState, name: string, now: number): Decision {
  if (!state.wants(name)) return 'leave';
  const entry = visible(stream, state.type, name) ?? standIn(stream, state, name);
  return entry === undefined ? judgeRemoval(stream, state, name, now) : judgePut(stream, state, name, entry, now);
}

function judgePut(stream: Stream, state: TypeState, name: string, entry: Entry, now: number): Decision {
  const { resource } = entry;
  const flight = state.flying.get(name);
  const expected = flight === undefined ? state.held.get(name) : flight.form;
  if (expected?.hash === resource.hash) {
    if (flight === undefined && expected !== resource) {
      // The same content, but with what it needs and was made from as they are known now.
      state.held.set(name, resource);
      stream.accepted(state.type, name, resource, now);
    }
    // A suspect may have been applied in part, so it is sent even if the table went back to what was acknowledged.
    const doubtful = flight === undefined && state.suspects.has(name);
    if (!doubtful && !state.forced.has(name)) return 'leave';
  }
  if (stream.withheld(state, resource)) return 'leave';
  const missing = firstMissing(stream, resource);
  if (missing === undefined) return entry;
  const until = state.wait(name, 'put', now) + stream.host.options.needMs + missing.warmupMs;
  if (now < until) {
    state.waitingUntil = Math.min(state.waitingUntil, until);
    return 'wait';
  }
  stream.stall('needs', state.type, [name], missing.need, now);
  return entry;
}

function judgeRemoval(stream: Stream, state: TypeState, name: string, now: number): Decision {
  const has = state.expected(name) !== undefined;
  if ((!has && !state.forced.has(name)) || !state.traits.removable) return 'leave';
  // Who does not have it and asked is told at once (rule 25).
  const use = has ? stillUsed(stream, state.type, name, now) : undefined;
  if (use === undefined) return 'remove';
  const since = state.wait(name, 'removal', now);
  const until = use.kind === 'drain' ? use.until : use.kind === 'unknown' ? since + stream.host.options.needMs : never;
  if (now >= until) return 'remove';
  state.waitingUntil = Math.min(state.waitingUntil, until);
  return 'wait';
}

/** The assignment of a cluster that this stream should have, when it is asked for and the table has none. */
function standIn(stream: Stream, state: TypeState, name: string): Entry | undefined {
  if (state.type !== typeUrls.endpoint || !state.subscription.names.has(name)) return undefined;
  for (const cluster of stream.table.clustersUsing(name)) {
    if (visible(stream, typeUrls.cluster, cluster) !== undefined) return emptyAssignment(name, stream.table.revision);
  }
  return undefined;
}

function send(
  stream: Stream,
  state: TypeState,
  puts: ReadonlyMap<string, Entry>,
  removals: readonly string[],
  now: number,
): Frame {
  const { revision } = stream.table;
  const nonce = stream.nextNonce();
  if (state.type === typeUrls.listener) linger(stream, state, puts, removals, nonce);
  if (state.type === typeUrls.cluster) follow(stream, state, puts);
  const forms = new Map<string, Form>();
  const chunks: Uint8Array[] = [];
  for (const [name, { resource, head }] of puts) {
    chunks.push(head, resource.bytes);
    forms.set(name, resource);
    state.flying.set(name, { form: resource, nonce });
    state.leave(name);
    if (state.refused.get(name)?.hash !== resource.hash) state.refused.delete(name);
  }
  for (const name of removals) {
    state.flying.set(name, { form: undefined, nonce });
    state.leave(name);
    state.refused.delete(name);
    state.suspects.delete(name);
  }
  state.owesAnswer = false;
  state.sentRevision = revision;
  state.unanswered.push({ nonce, sentAt: now, revision, puts: forms, removals, overdue: false });
  const oldest = state.unanswered[0];
  if (oldest !== undefined && state.unanswered.length > maxUnanswered) abandon(stream, state, oldest, false);
  return frameResponse(stream.host.responseHead(state.type), { nonce, removed: removals }, chunks);
}

/** Rule 35: a changed cluster warms until it gets its assignment, and Envoy does not ask again. */
function follow(stream: Stream, clusters: TypeState, puts: ReadonlyMap<string, Entry>): void {
  const assignments = stream.state(typeUrls.endpoint);
  for (const [name, entry] of puts) {
    for (const need of entry.resource.needs) stream.used.get(need.type)?.add(need.name);
    const changed = clusters.expected(name)?.hash !== entry.resource.hash || clusters.pushesAgain > 0;
    for (const assignment of stream.table.assignmentsOf(entry)) {
      stream.used.get(typeUrls.endpoint)?.add(assignment);
      if (changed && assignments?.wants(assignment)) assignments.mark(assignment, true);
    }
  }
}

/** Notes what the connections of removed or changed listeners go on using until they are drained. */
function linger(
  stream: Stream,
  state: TypeState,
  puts: ReadonlyMap<string, Entry>,
  removals: readonly string[],
  nonce: string,
): void {
  if (stream.host.options.drainMs <= 0) return;
  const needs = new Set<string>();
  for (const name of [...puts.keys(), ...removals]) {
    const before = state.expected(name);
    if (before === undefined) continue;
    for (const key of lostNeeds(stream, before, puts.get(name)?.resource)) needs.add(key);
  }
  if (needs.size > 0) stream.lingering.push({ nonce, until: never, needs });
}

/** Gives up on the answer to a response; what it held is looked at again, and sent again in any case if `force`. */
export function abandon(stream: Stream, state: TypeState, response: Response, force: boolean): void {
  state.take(response.nonce);
  for (const name of [...response.puts.keys(), ...response.removals]) {
    state.land(name, response.nonce);
    if (state.wants(name)) state.mark(name, force);
  }
  for (const linger of stream.lingering) if (linger.nonce === response.nonce) linger.until = response.sentAt;
}
