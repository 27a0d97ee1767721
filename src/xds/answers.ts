/** What a client says to a response: ACK, or NACK by the presence of `error_detail` and nothing else (rule 7). */
import type { Response } from './flights.ts';
import type { Forms, Version } from './forms.ts';
import { visible } from './needs.ts';
import type { Blame } from './progress.ts';
import type { Resource } from './resource.ts';
import { abandon } from './responder.ts';
import type { Stream } from './stream.ts';
import type { TypeState } from './type-state.ts';
import { isHostFault, normaliseWords } from './words.ts';

/** An address in use may be free again soon, or not for days: from 5 s, doubling up to 5 min. */
const firstRetryMs = 5_000;
const maxRetryMs = 300_000;

/** The part of a request that answers a response. */
interface Answer {
  readonly nonce: string;
  readonly error: { readonly message: string } | undefined;
}

/**
 * Takes the answer that a request is. Without a nonce it is none (rule 8), with a stale one it says nothing (rules 9,
 * 10).
 */
export function takeAnswer(stream: Stream, state: TypeState, request: Answer, now: number): void {
  const skipped = stream.protocol === 'sotw' ? state.before(request.nonce) : [];
  const response = state.take(request.nonce);
  if (response === undefined) return;
  for (const older of skipped) skip(stream, state, older, now);
  stream.answered = true;
  stream.answeredSentAt = response.sentAt;
  if (request.error === undefined) accept(stream, state, response, now);
  else refuse(stream, state, withSkipped(response, skipped), normaliseWords(request.error.message), now);
}

/** A refusal that stands for several responses may be that of any of them: Envoy keeps the words of the first. */
function withSkipped(response: Response, skipped: readonly Response[]): Response {
  if (skipped.length === 0) return response;
  return { ...response, puts: new Map([...skipped, response].flatMap(({ puts }) => [...puts])) };
}

/**
 * A client of state-of-the-world that was busy answers only the last response. A full set stands for those before it;
 * of other responses it is not known what became of them.
 */
function skip(stream: Stream, state: TypeState, older: Response, now: number): void {
  if (!state.traits.fullSet) {
    abandon(stream, state, older, false);
    return;
  }
  state.take(older.nonce);
  for (const name of older.puts.keys()) state.flying.land(name, older.nonce);
  endLinger(stream, older.nonce, now);
}

/** The draining begins when the client has the response that took something away. */
function endLinger(stream: Stream, nonce: string, now: number): void {
  for (const linger of stream.lingering) if (linger.nonce === nonce) linger.until = now + stream.drainMs;
}

function accept(stream: Stream, state: TypeState, response: Response, now: number): void {
  state.counts.acked += 1;
  state.ackedRevision = Math.max(state.ackedRevision, response.revision);
  state.pushesAgain = 0;
  if (!acceptWhole(stream, state, response)) acceptEach(stream, state, response, now);
  for (const name of response.removals) {
    if (state.flying.land(name, response.nonce)) state.takeBack.delete(name);
    state.held.delete(name);
    if (isTakenBack(stream, state, name, undefined)) state.mark(name);
  }
  endLinger(stream, response.nonce, now);
}

/**
 * The usual case of a first fill: a large response, of which nothing was refused, taken back, given up or sent again.
 * What has been asked for then still is. False when it is not that.
 */
function acceptWhole({ host, version }: Stream, state: TypeState, response: Response): boolean {
  if (state.hasDoubts || host.forms.hasDoubts) return false;
  if (response.takenBack !== undefined || response.older.size > 0 || !state.flying.landWhole(response)) return false;
  state.held.setAll(response.puts);
  host.forms.acceptAll(version, state.type, response.puts, response.revision);
  return true;
}

function acceptEach(stream: Stream, state: TypeState, response: Response, now: number): void {
  for (const [name, form] of response.puts) {
    if (response.takenBack?.has(name)) continue;
    const newest = state.flying.land(name, response.nonce);
    if (newest && state.takeBack.get(name) !== form.hash) state.takeBack.delete(name);
    // What was taken back is tried once more, alone.
    if (isTakenBack(stream, state, name, form.hash)) state.mark(name);
    else state.suspects.delete(name);
    if (!state.wants(name)) continue;
    state.held.set(name, form);
    // Given up and asked for again (by `*`) while it was on its way: the client has it, due to it or not.
    if (!newest) state.mark(name);
    if (state.refused.get(name)?.hash === form.hash) state.refused.delete(name);
    stream.accepted(state.type, name, form, now, response.older.get(name) ?? response.revision);
  }
}

/** The client accepted a form, or a removal, that stood in for one that it did not answer for. */
function isTakenBack(stream: Stream, state: TypeState, name: string, hash: string | undefined): boolean {
  if (!state.traits.warms || !state.suspects.has(name)) return false;
  return visible(stream, state.type, name)?.resource.hash !== hash;
}

/** Nothing of a refused response counts as acknowledged (rule 12), though parts may have been applied (rule 13). */
function refuse(stream: Stream, state: TypeState, response: Response, words: string, now: number): void {
  const { puts, removals, nonce } = response;
  state.counts.nacked += 1;
  for (const name of puts.keys()) state.flying.land(name, nonce);
  for (const name of removals) state.flying.land(name, nonce);
  const at = stream.lingering.findIndex((linger) => linger.nonce === nonce);
  if (at >= 0) stream.lingering.splice(at, 1);
  if (puts.size === 1) {
    for (const [name, form] of puts) convict(stream, state, name, form, response.revision, words, now);
  } else {
    const isOwn = isHostFault(state.type, words);
    for (const name of puts.keys()) {
      if (!state.wants(name)) continue;
      state.suspects.add(name);
      // What is not in the table stands in for something: it is the same for all, and nobody's.
      if (isOwn || visible(stream, state.type, name) === undefined) state.mark(name);
      else stream.host.doubt(stream, state.type, name);
    }
  }
  // Until it has accepted one set, the client has what it had before; so it gets one, though nothing is new in it.
  if (stream.protocol === 'sotw' && state.traits.fullSet && state.ackedRevision === 0) state.owesAnswer = true;
  // Removals go out again beside what is new; a refusal of removals alone must not become a loop.
  if (puts.size > 0) for (const name of removals) state.mark(name);
}

/** The refusal of a single resource: its name and form are known to be what the client does not take. */
function convict(
  stream: Stream,
  state: TypeState,
  name: string,
  form: Resource,
  revision: number,
  words: string,
  now: number,
): void {
  const { type } = state;
  const { host, version } = stream;
  const { hash } = form;
  const isHosts = isHostFault(type, words);
  const isGoodElsewhere =
    host.forms.acceptedBy(version, type, name)?.form.hash === hash || host.heldElsewhere(stream, type, name, hash);
  const scope = isHosts ? 'host' : isGoodElsewhere ? 'local' : 'convicted';
  const before = state.refused.get(name);
  const again = before?.hash === hash ? before : undefined;
  const backoffMs = again?.trying === true ? Math.min(again.backoffMs * 2, maxRetryMs) : firstRetryMs;
  const retryAt = isHosts ? now + backoffMs : undefined;
  state.refuse(name, { hash, words, scope, since: again?.since ?? now, retryAt, backoffMs, trying: false });
  state.suspects.delete(name);
  const blame = blameFor(host.forms, version, form, revision, words);
  if (scope === 'local') stream.isOdd = true;
  if (state.traits.warms) state.takeBack.set(name, hash);
  if (scope === 'convicted') host.forms.convict({ type, name, hash, version, words });
  stream.emit({ kind: 'rejected', ...blame, scope }, now);
  // What the table has now may be another form already.
  if (state.wants(name)) state.mark(name);
  // A fault of this host says nothing of the form: if it was the one to try it, another one is to.
  if (isHosts) host.passOn(type, name);
}

/** Lays the refusal of a form at the parts that are new in it. */
export function blameFor(forms: Forms, version: Version, form: Resource, revision: number, words: string): Blame {
  const { type, name, hash } = form;
  const parts = forms.blame(version, type, name, form);
  const units = new Set(parts.map(({ unit }) => unit));
  const last = forms.acceptedBy(version, type, name);
  const good = last && {
    hash: last.form.hash,
    revision: last.revision,
    parts: last.form.parts.filter(({ unit }) => units.has(unit)),
  };
  return { type, name, hash, version, revision, words, parts, good };
}
