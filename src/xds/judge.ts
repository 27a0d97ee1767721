/** What is to be done about one name of one stream now, by the newest state of the table and of the stream. */
import { emptyAssignment } from './empty-assignment.ts';
import type { Accepted, Form } from './forms.ts';
import { firstMissing, missingNeed, missingNeeds, stillUsed, visible } from './needs.ts';
import { withReadyPieces } from './piecewise.ts';
import { type Need, type Resource, typeUrls } from './resource.ts';
import type { Stream } from './stream.ts';
import { type Entry, entryOf } from './table.ts';
import type { TypeState } from './type-state.ts';

/** `leave`: nothing, until it is marked again. `wait`: until something else happens, or a deadline passes. */
export type Decision = 'leave' | 'wait' | 'remove' | Entry;

const never = Number.POSITIVE_INFINITY;

export function judge(stream: Stream, state: TypeState, name: string, now: number): Decision {
  if (!state.wants(name)) return 'leave';
  const entry = visible(stream, state.type, name) ?? standIn(stream, state, name);
  const decision =
    entry === undefined ? judgeRemoval(stream, state, name, now) : judgePut(stream, state, name, entry, now);
  const halfMade = state.takeBack.get(name);
  if (halfMade === undefined) return decision;
  const isOther = decision !== 'leave' && (typeof decision !== 'object' || decision.resource.hash !== halfMade);
  const flight = state.flying.get(name);
  // What was sent behind it undoes it as well.
  const isUndone = flight !== undefined && flight.puts.get(name)?.hash !== halfMade;
  return isOther || isUndone ? decision : (takenBack(stream, state, name, now) ?? decision);
}

/** What undoes a half-made form; undefined: nothing can. */
function takenBack(stream: Stream, state: TypeState, name: string, now: number): Decision | undefined {
  const held = state.held.get(name);
  if (held === undefined) return removeUnused(stream, state, name, now);
  // What it brought along from an earlier stream is known by its hash only.
  return 'bytes' in held ? olderEntry(held, stream.host.forms.acceptedBy(stream.version, state.type, name)) : undefined;
}

/** A form of which there may be a newer one; `known`: the newest that clients accepted. */
function olderEntry(form: Resource, known: Accepted | undefined): Entry {
  const revision = known?.form.hash === form.hash ? known.revision : 0;
  return { ...entryOf(form, revision), isOlder: true };
}

function judgePut(stream: Stream, state: TypeState, name: string, entry: Entry, now: number): Decision {
  const { resource } = entry;
  const flight = state.flying.get(name);
  const expected = flight === undefined ? state.held.get(name) : flight.puts.get(name);
  if (expected?.hash === resource.hash) {
    if (flight === undefined && expected !== resource) {
      // The same content, but with what it needs and was made from as they are known now.
      state.held.set(name, resource);
      stream.accepted(state.type, name, resource, now);
    }
    // A suspect may have been applied in part, so it is sent even if the table went back to what was acknowledged.
    const doubtful = flight === undefined && state.suspects.has(name);
    if (!doubtful && !state.agenda.forces(name)) return 'leave';
  }
  if (stream.withheld(state, resource) || stream.awaitsTrial(state, resource)) {
    const good = lastGood(stream, state, resource);
    return good === undefined ? 'leave' : judgePut(stream, state, name, good, now);
  }
  if (stream.trust !== 'complete' && !mayReplace(entry, expected)) {
    state.wait(name, 'put', now);
    return 'wait';
  }
  const missing = firstMissing(stream, resource, expected);
  if (missing === undefined) return entry;
  const allMissing = () => missingNeeds(stream, resource, expected);
  const since = state.wait(name, 'put', now, resource.pieces === undefined ? undefined : allMissing);
  const until = since + stream.host.options.needMs + missing.warmupMs;
  if (now < until) {
    state.waitingUntil = Math.min(state.waitingUntil, until);
    return readyPart(stream, state, resource, expected, []) ?? 'wait';
  }
  stream.stalled('needs', state.type, [name], missing.need, now);
  const ready = readyPart(stream, state, resource, expected, state.waiting.get(name)?.missing ?? []);
  if (ready === undefined) return entry;
  // What came to be missing since has its time from now on.
  state.waiting.delete(name);
  state.wait(name, 'put', now, allMissing);
  state.waitingUntil = Math.min(state.waitingUntil, now + stream.host.options.needMs);
  return ready;
}

/** What of the resource need not wait, or has waited long enough (`given`); the whole of it goes on waiting. */
function readyPart(
  stream: Stream,
  state: TypeState,
  resource: Resource,
  expected: Form | undefined,
  given: readonly Need[],
): Entry | undefined {
  const isMissing = (need: Need): boolean =>
    missingNeed(stream, need) !== undefined &&
    !given.some(({ type, name }) => type === need.type && name === need.name);
  const some = withReadyPieces(resource, expected, isMissing);
  if (some === undefined || stream.withheld(state, some) || stream.awaitsTrial(state, some)) return undefined;
  return { ...entryOf(some, stream.table.revision), isPart: true };
}

/**
 * In place of a form that is convicted or in doubt, a client that has none gets the last one that was accepted. Who has
 * an older form stays with that.
 */
function lastGood(stream: Stream, state: TypeState, { type, name, hash }: Resource): Entry | undefined {
  const { forms } = stream.host;
  if (state.expected(name) !== undefined) return undefined;
  const { version } = stream;
  const isBarred =
    forms.conviction(version, type, name, hash) !== undefined || forms.isOnTrial(version, type, name, hash);
  const good = forms.acceptedBy(version, type, name) ?? forms.accepted(type, name);
  if (!isBarred || good === undefined || good.form.hash === hash) return undefined;
  if (stream.withheld(state, good.form) || stream.awaitsTrial(state, good.form)) return undefined;
  return olderEntry(good.form, good);
}

/** Rule 34: a replica that may lag replaces only what its own history knows to be older. */
function mayReplace({ resource, past }: Entry, expected: Form | undefined): boolean {
  return expected === undefined || expected.hash === resource.hash || past.includes(expected.hash);
}

function judgeRemoval(stream: Stream, state: TypeState, name: string, now: number): Decision {
  const has = state.expected(name) !== undefined;
  if ((!has && !state.agenda.forces(name)) || !state.traits.removable) return 'leave';
  // There are no words for it: the client keeps what it has until it no longer asks for it.
  if (stream.protocol === 'sotw' && !state.traits.fullSet) return 'leave';
  if (stream.trust !== 'complete') {
    state.wait(name, 'removal', now);
    return 'wait';
  }
  // Who does not have it and asked is told at once (rule 25).
  return has ? removeUnused(stream, state, name, now) : 'remove';
}

/** Removes a name as soon as nothing that the client uses needs it (rule 39). */
function removeUnused(stream: Stream, state: TypeState, name: string, now: number): Decision {
  const use = stillUsed(stream, state.type, name, now);
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
