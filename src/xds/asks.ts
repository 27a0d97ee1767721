/**
 * What a request asks for: the subscription it changes, and what that calls for. One function for each protocol, in
 * pieces: an Envoy that comes back after an outage lists all that it has.
 */

import type { NameList } from './name-set.ts';
import { visible } from './needs.ts';
import { each, type Pieces } from './pieces.ts';
import { type TypeUrl, typeUrls } from './resource.ts';
import type { SotwRequest } from './sotw-wire.ts';
import type { Stream } from './stream.ts';
import { type Asked, applyDelta, applySotw, wildcardName } from './subscription.ts';
import type { TypeState } from './type-state.ts';
import type { DeltaRequest } from './wire.ts';

/** Takes the lists of a delta request; `first`: of the first request of its type on the stream. */
export function* askDelta(
  stream: Stream,
  state: TypeState,
  request: DeltaRequest,
  first: boolean,
  now: number,
): Pieces {
  const list = yield* listOf(stream, request);
  const asked = yield* applyDelta(state.subscription, {
    subscribe: list?.names ?? (yield* interned(stream, state, request.subscribe)),
    list,
    unsubscribe: request.unsubscribe,
    first,
    stayWildcard: first && repeatsWildcard(stream, request),
  });
  yield* forget(state, asked);
  if (first) yield* remember(stream, state, request.initialVersions);
  // A new `*` is answered in full, but what the client brought along is only compared (rule 33).
  if (asked.all) yield* markAll(stream, state, !first);
  if (asked.list !== undefined) yield* state.markList(asked.list, true);
  else yield* each(asked.answer, (name) => state.mark(name, !(first && request.initialVersions.has(name))));
  lookForForeign(stream, state, asked, now);
  if (first) yield* markUsed(stream, state, asked.list !== undefined);
}

/** What the request subscribes to, when these are many names and all of them are to be answered. */
function* listOf({ host }: Stream, request: DeltaRequest): Pieces<NameList | undefined> {
  const { subscribe, initialVersions, typeUrl } = request;
  if (subscribe.length < host.options.shareFrom || initialVersions.size > 0) return undefined;
  return subscribe.includes(wildcardName) ? undefined : yield* host.nameLists.asked(typeUrl, subscribe);
}

/** Takes the list of a state-of-the-world request. */
export function* askSotw(stream: Stream, state: TypeState, request: SotwRequest, first: boolean, now: number): Pieces {
  const asked = yield* applySotw(state.subscription, {
    names: yield* interned(stream, state, request.names),
    byName: state.traits.byName,
  });
  yield* forget(state, asked);
  if (first && request.version !== '') {
    state.returned = true;
    stream.returned = true;
  }
  if (asked.all) yield* markAll(stream, state, false);
  // What came by the wildcard and is now asked for by name as well is there already.
  yield* each(asked.answer, (name) => state.mark(name, state.expected(name) === undefined));
  lookForForeign(stream, state, asked, now);
  if (first) yield* markUsed(stream, state, false);
}

/** The table's own strings for the names. */
function* interned(stream: Stream, { type }: TypeState, names: readonly string[]): Pieces<string[]> {
  const own: string[] = [];
  yield* each(names, (name) => own.push(stream.table.intern(type, name)));
  return own;
}

/** Everything of the type is to be looked at, and the client told even if there is nothing (rule 29). */
function* markAll(stream: Stream, state: TypeState, force: boolean): Pieces {
  state.owesAnswer = true;
  const list = yield* stream.host.nameLists.all(state.type, stream.audiences);
  yield* state.markList(list, force);
}

/** Rule 41: who asks for a secret of others gets none, and is told of. */
function lookForForeign(stream: Stream, state: TypeState, asked: Asked, now: number): void {
  if (state.type !== typeUrls.secret) return;
  for (const name of asked.answer) {
    const isThere = stream.table.get(state.type, name) !== undefined;
    if (isThere && visible(stream, state.type, name) === undefined) stream.tellForeign(state.type, name, now);
  }
}

/**
 * Rule 33: what clusters sent on this stream use is sent in any case, once it is asked for; `isMarked`: all that is asked
 * for is marked so already.
 */
function* markUsed(stream: Stream, state: TypeState, isMarked: boolean): Pieces {
  yield* each((isMarked ? undefined : stream.used.get(state.type)) ?? [], (name) => {
    if (state.wants(name)) state.mark(name, true);
  });
  stream.used.delete(state.type);
}

/** Takes in what the client holds from an earlier stream (rule 31). */
function* remember(stream: Stream, state: TypeState, versions: ReadonlyMap<string, string>): Pieces {
  if (versions.size > 0) {
    state.returned = true;
    stream.returned = true;
  }
  yield* each(versions, ([text, hash]) => {
    if (!state.wants(text) || text === wildcardName) return;
    const resource = stream.table.get(state.type, text)?.resource;
    const name = resource?.name ?? text;
    if (resource?.hash === hash) {
      state.held.set(name, resource);
      stream.accepted(state.type, name, resource, stream.openedAt);
    } else state.held.set(name, { hash, needs: undefined, parts: [] });
    state.mark(name);
  });
}

const clusterAndListener: readonly TypeUrl[] = [typeUrls.cluster, typeUrls.listener];

/** Rule 32: before 1.21, Envoy lists on reconnect the names that it holds by wildcard. */
function repeatsWildcard(stream: Stream, request: DeltaRequest): boolean {
  if (!clusterAndListener.includes(request.typeUrl)) return false;
  if (stream.node?.userAgent !== 'envoy' || request.subscribe.length === 0) return false;
  const [major, minor] = stream.node.version.split('.', 2).map(Number);
  if (major !== 1 || minor === undefined || !(minor < 21)) return false;
  return request.subscribe.every((name) => name !== wildcardName && request.initialVersions.has(name));
}

/** Drops what the client no longer wants. */
function* forget(state: TypeState, asked: Asked): Pieces {
  yield* each(asked.dropped, (name) => state.drop(name));
  if (!asked.wildcardEnded) return;
  state.owesAnswer = false;
  for (const names of [state.held, state.flying, state.agenda, state.waiting]) {
    yield* each(names.keys(), (name) => {
      if (!state.wants(name)) state.drop(name);
    });
  }
}
