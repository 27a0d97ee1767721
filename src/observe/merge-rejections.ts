import { maxEarlier, maxNamedNodes, type Rejection } from '../status/index.ts';

/**
 * What two controllers say of the refusals of one resource, together. It makes no difference who merges, in which order
 * or how often: so that all of them come to the same record. Numbers are at least what either has counted; who refused
 * at both is not known to be the same proxy or another.
 */
export function mergeRejections(a: Rejection, b: Rejection): Rejection {
  const [newer, older] = isNewer(a, b) ? [a, b] : [b, a];
  const accepted = newestAccepted(newer.accepted, older.accepted);
  if (newer.hash !== older.hash) {
    const earlier = union(older.earlier, [older.hash], newer.earlier).filter((hash) => hash !== newer.hash);
    return { ...newer, earlier: earlier.slice(-maxEarlier), accepted };
  }
  const nodes = union(older.nodes, newer.nodes).sort();
  const [first] = [newer.first, older.first].sort();
  const last = [newer.last, older.last].sort().at(-1);
  return {
    ...newer,
    words: (newer.last >= older.last ? newer : older).words,
    versions: union(older.versions, newer.versions).sort(),
    nodes: nodes.slice(0, maxNamedNodes),
    nodeCount: Math.max(newer.nodeCount, older.nodeCount, Math.min(nodes.length, maxNamedNodes)),
    count: Math.max(newer.count, older.count),
    first: first as string,
    last: last as string,
    earlier: union(older.earlier, newer.earlier).slice(-maxEarlier),
    accepted,
    acquitted: newer.acquitted || (older.acquitted && older.revision === newer.revision),
  };
}

/** Of two of one revision it is all the same which; but all controllers must take the same one. */
function isNewer(a: Rejection, b: Rejection): boolean {
  if (a.revision !== b.revision) return a.revision > b.revision;
  if (a.hash !== b.hash) return a.hash > b.hash;
  return a.suspects.length >= b.suspects.length;
}

function newestAccepted(a: Rejection['accepted'], b: Rejection['accepted']): Rejection['accepted'] {
  if (a === null || b === null) return a ?? b;
  if (a.revision !== b.revision) return a.revision > b.revision ? a : b;
  return a.hash >= b.hash ? a : b;
}

function union(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}
