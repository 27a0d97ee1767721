/**
 * view: the incremental kernel that everything derived rests on.
 *
 * Collections of immutable rows, of three sorts (table, derived, index), declared once at start in the order of
 * computation; derived rows can be gathered by the members of an index. A change is a fork: put inputs, settle, look at
 * what changed, adopt or drop. Nothing is computed that read nothing that changed, and nothing is read that is not
 * recorded, absent keys included; so the cost of a change does not grow with the world, and a reference that was missing
 * heals when its target appears.
 *
 * There is one kernel per controller, one fork at a time under way in it (commits and dry runs share a queue), and
 * rows are shared by all. Why not a signal library or persistent maps: one world only, no keyed sets, no absent keys;
 * or ten times the cost of a native Map for snapshots that nobody keeps.
 */
export type { Collection, Derived, Failure, Index, Members, Read, Rows, Table, World } from './collection.ts';
export type { Budget, Fork, IndexChange, RowChange } from './fork.ts';
export type { Gathered } from './gather.ts';
export { Kernel } from './kernel.ts';
