import type { Members } from './collection.ts';
import {
  asMembers,
  hasMember,
  type MemberSet,
  memberCount,
  overlaidMembers,
  withMember,
  withoutMember,
} from './members.ts';
import { Cell, noCells } from './node.ts';

/**
 * A key that a fork has touched, or read while absent: of a key that the world does not have, the cell that adoption
 * may put there; of one that it has, what stands in front of its cell and leaves it as it is.
 */
export type Entry = Cell | Change;

/** How a fork sees the key of an adopted cell. */
export class Change {
  readonly cell: Cell;
  /** The row in this fork; unused for an index, see `added` and `removed`. */
  value: unknown;
  /** Undefined: not computed here, the adopted edges hold. */
  reads: readonly Cell[] | undefined = undefined;
  /** As of a cell; it goes with `reads`. */
  leans = false;
  /** Of an index: the difference to the adopted set. */
  added: MemberSet = undefined;
  removed: MemberSet = undefined;
  dirty = false;
  queued = false;
  passedOn: boolean;

  constructor(cell: Cell) {
    this.cell = cell;
    this.value = cell.of.sort === 'index' ? undefined : cell.value;
    this.passedOn = cell.value !== undefined;
  }

  /** Whether the key exists in the fork: it has a row, or at least one member. */
  get present(): boolean {
    if (this.cell.of.sort !== 'index') return this.value !== undefined;
    return memberCount(this.#adoptedMembers) + memberCount(this.added) > memberCount(this.removed);
  }

  get members(): Members {
    return overlaidMembers(this.#adoptedMembers, this.added, this.removed);
  }

  /** Whether this key of a derivation has to be computed when the row of its source has changed. */
  get followsSource(): boolean {
    if (this.reads === undefined) return this.cell.followsSource;
    return this.leans || (this.value === undefined && this.reads.length === 0);
  }

  /** What it reads here and did not read, or not in this order, as adopted. */
  get newReads(): readonly Cell[] {
    return this.reads === undefined || this.reads === this.cell.reads ? noCells : this.reads;
  }

  enter(member: string): void {
    if (hasMember(this.removed, member)) this.removed = withoutMember(this.removed, member);
    else this.added = withMember(this.added, member);
  }

  withdraw(member: string): void {
    if (hasMember(this.added, member)) this.added = withoutMember(this.added, member);
    else this.removed = withMember(this.removed, member);
  }

  get #adoptedMembers(): MemberSet {
    return this.cell.value as MemberSet;
  }
}

/** The members of an index key as adopted. */
export function membersOf(cell: Cell | undefined): Members {
  return asMembers(cell?.value as MemberSet);
}

/** The row that the world has; of an index, its members. */
export function adoptedValue(entry: Entry): unknown {
  return entry instanceof Cell ? undefined : entry.cell.value;
}
