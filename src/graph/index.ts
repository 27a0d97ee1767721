/**
 * graph: what the objects mean together.
 *
 * References are resolved, conflicts decided for the older side, rules attached to hosts, and each object gets its
 * conditions, so that what `translate` renders holds no choice any more. All of it is a set of derivations declared
 * once on the kernel: one graph per kernel, no state of its own. Objects may be created in any order, since a
 * missing one is an absent key that was read. A bad object harms itself only.
 */
export { byAge } from './effective.ts';
export { declareGraph, type Graph } from './graph.ts';
export {
  allFleetsAudience,
  fleetAudience,
  fleetsOfAudience,
  pathOf,
  scopeOf,
  tableName,
  unavailableCluster,
} from './names.ts';
export type * from './rows.ts';
