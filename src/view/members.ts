import type { Members } from './collection.ts';

/**
 * The members of one index key as they are kept. Nearly all keys have just one: a `Set` for each would take half the
 * memory of the kernel. Undefined: none.
 */
export type MemberSet = string | Set<string> | undefined;

/** The set with one more member; a `Set` is changed in place. */
export function withMember(set: MemberSet, member: string): MemberSet {
  if (set === undefined || set === member) return member;
  return typeof set === 'string' ? new Set([set, member]) : set.add(member);
}

/** The set without the member; a `Set` is changed in place. */
export function withoutMember(set: MemberSet, member: string): MemberSet {
  if (typeof set !== 'object') return set === member ? undefined : set;
  set.delete(member);
  return set.size === 0 ? undefined : set;
}

export function hasMember(set: MemberSet, member: string): boolean {
  return typeof set === 'object' ? set.has(member) : set === member;
}

export function memberCount(set: MemberSet): number {
  if (set === undefined) return 0;
  return typeof set === 'string' ? 1 : set.size;
}

export function eachMember(set: MemberSet): Iterable<string> {
  if (set === undefined) return noMembers;
  return typeof set === 'string' ? [set] : set;
}

/** To be read; a later change of the set may show in it. */
export function asMembers(set: MemberSet): Members {
  if (set === undefined) return noMembers;
  return typeof set === 'string' ? new SoleMember(set) : set;
}

const noMembers: ReadonlySet<string> = new Set<string>();

/** An adopted set as a fork sees it, without a copy: one member among 100,000 costs one. */
export function overlaidMembers(base: MemberSet, added: MemberSet, removed: MemberSet): Members {
  if (removed === undefined) {
    if (added === undefined) return asMembers(base);
    if (base === undefined) return asMembers(added);
  }
  return new OverlaidMembers(base, added, removed);
}

class SoleMember implements Members {
  readonly size = 1;
  readonly #member: string;

  constructor(member: string) {
    this.#member = member;
  }

  has(key: string): boolean {
    return key === this.#member;
  }

  *[Symbol.iterator](): Iterator<string> {
    yield this.#member;
  }
}

class OverlaidMembers implements Members {
  readonly #base: MemberSet;
  /** None of them in the base. */
  readonly #added: MemberSet;
  /** All of them in the base. */
  readonly #removed: MemberSet;

  constructor(base: MemberSet, added: MemberSet, removed: MemberSet) {
    this.#base = base;
    this.#added = added;
    this.#removed = removed;
  }

  get size(): number {
    return memberCount(this.#base) + memberCount(this.#added) - memberCount(this.#removed);
  }

  has(key: string): boolean {
    return hasMember(this.#added, key) || (hasMember(this.#base, key) && !hasMember(this.#removed, key));
  }

  *[Symbol.iterator](): Iterator<string> {
    for (const key of eachMember(this.#base)) if (!hasMember(this.#removed, key)) yield key;
    yield* eachMember(this.#added);
  }
}
