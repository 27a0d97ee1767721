import type { Members } from './collection.ts';
import { asMembers, type MemberSet, memberCount, overlaidMembers } from './members.ts';
import { Cell, type Node } from './node.ts';

/** A key that this fork has touched, or read while absent. Stands in front of its cell, which it leaves as it is. */
export class Entry {
  /** The adopted cell, or a fresh one that adoption may put in its place. */
  readonly cell: Cell;
  readonly fresh: boolean;
  /** The row in this fork; unused for an index, see `added` and `removed`. */
  value: unknown;
  /** Undefined: not computed here, the adopted edges hold. */
  reads: readonly Cell[] | undefined = undefined;
  /** As of a cell; it goes with `reads`. */
  leans = false;
  /** Of an index: the difference to the adopted set. */
  added: MemberSet = undefined;
  removed: MemberSet = undefined;
  /** Changed in this round and not yet passed on. */
  queued = false;
  /** Whether the key existed when this was last passed on, or as adopted. */
  passedOn: boolean;

  constructor(node: Node, key: string) {
    const cell = node.cells.get(key);
    this.cell = cell ?? new Cell(node, key);
    this.fresh = cell === undefined;
    this.value = node.sort === 'index' ? undefined : this.cell.value;
    this.passedOn = this.cell.value !== undefined;
  }

  get members(): Members {
    return overlaidMembers(adoptedMembers(this.cell), this.added, this.removed);
  }

  /** Whether this key of a derivation has to be computed when the row of its source has changed. */
  get followsSource(): boolean {
    if (this.reads === undefined) return this.cell.leans || this.cell.isBlank;
    return this.leans || (this.value === undefined && this.reads.length === 0);
  }

  /** Whether the key exists in the fork: it has a row, or at least one member. */
  get present(): boolean {
    if (this.cell.of.sort !== 'index') return this.value !== undefined;
    return memberCount(adoptedMembers(this.cell)) + memberCount(this.added) > memberCount(this.removed);
  }
}

/** The adopted members of an index key. */
export function membersOf(cell: Cell | undefined): Members {
  return asMembers(cell?.value as MemberSet);
}

function adoptedMembers(cell: Cell): MemberSet {
  return cell.value as MemberSet;
}
