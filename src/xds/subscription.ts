/**
 * What a client has asked for, of one type on one stream: names, or all (`*`), or both. The rules are numbered as in
 * the tests of this room.
 */
import { type NameList, NameSet } from './name-set.ts';
import { each, type Pieces } from './pieces.ts';

export interface Subscription {
  /** Whether all resources of the type are wanted. */
  wildcard: boolean;
  /** Whether no name was ever subscribed on this stream: only then an empty list means all (rule 16). */
  legacyWildcardPossible: boolean;
  readonly names: NameSet;
}

/** What a change of a subscription calls for. */
export interface Asked {
  /** Names to be answered even if nothing changed (rules 21, 23). */
  readonly answer: readonly string[];
  /** What `answer` is, when it is a long list. */
  readonly list?: NameList;
  /** A wildcard is new: everything is to be answered. */
  readonly all: boolean;
  /** Names that the client no longer wants and forgets. */
  readonly dropped: readonly string[];
  /** The wildcard ended: all but `names` is forgotten. */
  readonly wildcardEnded: boolean;
}

export const wildcardName = '*';

export function createSubscription(): Subscription {
  return { wildcard: false, legacyWildcardPossible: true, names: new NameSet() };
}

export function wants(subscription: Subscription, name: string): boolean {
  return subscription.wildcard || subscription.names.has(name);
}

export interface DeltaLists {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** The first request of this type on the stream. */
  readonly first: boolean;
  /** The names in `subscribe` are those that an old client holds by wildcard (rule 32). */
  readonly stayWildcard?: boolean;
  /** What `subscribe` is, when it is a long list without `*`. */
  readonly list?: NameList | undefined;
}

/** Applies the lists of a delta request: subscribe first, then unsubscribe (rule 24). Changes `subscription`. */
export function* applyDelta(subscription: Subscription, lists: DeltaLists): Pieces<Asked> {
  const { names } = subscription;
  const wasWildcard = subscription.wildcard;
  let all = false;
  if (lists.first && (lists.subscribe.length === 0 || lists.stayWildcard === true)) {
    subscription.wildcard = true;
    all = true;
  }
  const subscribed = lists.stayWildcard === true ? [] : lists.subscribe;
  const list = lists.stayWildcard === true ? undefined : lists.list;
  if (list !== undefined) {
    yield* names.addAll(list.places);
    subscription.legacyWildcardPossible = false;
  }
  yield* each(list === undefined ? subscribed : [], (name) => {
    if (name === wildcardName) {
      all ||= !subscription.wildcard || subscription.legacyWildcardPossible;
      subscription.wildcard = true;
    } else names.add(name);
    // Rule 18: the first name ends the legacy reading, but a wildcard held until then stays.
    subscription.legacyWildcardPossible = false;
  });
  const dropped: string[] = [];
  const refreshed: string[] = [];
  let wildcardEnded = false;
  // Names first, then `*`: whether a name is dropped or refreshed depends on the wildcard after the whole request.
  if (lists.unsubscribe.includes(wildcardName)) {
    wildcardEnded = wasWildcard;
    subscription.wildcard = false;
    subscription.legacyWildcardPossible = false;
    all = false;
  }
  yield* each(lists.unsubscribe, (name) => {
    if (name === wildcardName || !names.delete(name)) return;
    if (subscription.wildcard) refreshed.push(name);
    else dropped.push(name);
  });
  if (list !== undefined && lists.unsubscribe.length === 0) {
    return { answer: list.names, list, all, dropped, wildcardEnded };
  }
  const answer: string[] = [];
  yield* each(subscribed, (name) => {
    if (name !== wildcardName && names.has(name)) answer.push(name);
  });
  for (const name of refreshed) answer.push(name);
  return { answer, all, dropped, wildcardEnded };
}

export interface SotwList {
  /** All names of the request. */
  readonly names: readonly string[];
  /** An empty list never means all: clients ask for this type by name (rule 20). */
  readonly byName: boolean;
}

/** Applies the list of a state-of-the-world request, which says all that the client wants. Changes `subscription`. */
export function* applySotw(subscription: Subscription, { names: list, byName }: SotwList): Pieces<Asked> {
  const { names } = subscription;
  const wasWildcard = subscription.wildcard;
  if (list.length > 0) subscription.legacyWildcardPossible = false;
  const wanted = new Set<string>();
  yield* each(list, (name) => wanted.add(name));
  subscription.wildcard = wanted.delete(wildcardName) || (subscription.legacyWildcardPossible && !byName);
  const dropped: string[] = [];
  yield* each(names, (name) => {
    if (wanted.has(name)) return;
    names.delete(name);
    if (!subscription.wildcard) dropped.push(name);
  });
  const answer: string[] = [];
  yield* each(wanted, (name) => {
    if (names.has(name)) return;
    names.add(name);
    answer.push(name);
  });
  return {
    answer,
    all: subscription.wildcard && !wasWildcard,
    dropped,
    wildcardEnded: wasWildcard && !subscription.wildcard,
  };
}
