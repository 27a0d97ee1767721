import { type Evidence, maxNamedNodes } from './records.ts';

/** Joins what was said in one search. Numbers of proxies are those of the refusal that most of them had part in. */
export function mergeEvidence(
  before: Evidence | null,
  { hash, words, versions, nodes, nodeCount, first, last }: Evidence,
): Evidence {
  if (before === null) return { hash, words, versions, nodes, nodeCount, first, last };
  const allNodes = [...new Set([...before.nodes, ...nodes])].sort();
  return {
    hash,
    words,
    versions: [...new Set([...before.versions, ...versions])].sort(),
    nodes: allNodes.slice(0, maxNamedNodes),
    nodeCount: Math.max(before.nodeCount, nodeCount, Math.min(allNodes.length, maxNamedNodes)),
    first: before.first < first ? before.first : first,
    last: before.last > last ? before.last : last,
  };
}
