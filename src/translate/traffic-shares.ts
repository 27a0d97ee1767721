import type { WeightedCluster } from '../graph/index.ts';

/** Clusters that get traffic, each once, in the order of their first naming. Weight 0 means none at all. */
export function trafficShares(clusters: readonly WeightedCluster[]): { name: string; weight: number }[] {
  const shares = new Map<string, number>();
  for (const { cluster, weight } of clusters) {
    if (weight > 0) shares.set(cluster, (shares.get(cluster) ?? 0) + weight);
  }
  return [...shares].map(([name, weight]) => ({ name, weight }));
}
