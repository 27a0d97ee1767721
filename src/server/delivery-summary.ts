import { type DeliveryRecord, type FleetDelivery, maxLaggards, type ProxyRejection } from '../status/index.ts';
import type { StreamStatus } from '../xds/index.ts';

export interface SummarySources {
  readonly streams: readonly StreamStatus[];
  readonly isInStep: (stream: StreamStatus) => boolean;
  readonly nodeName: (nodeId: string) => string;
  /** Of the View. */
  readonly revision: number;
}

/** How far the proxies of this controller are, as others are told. */
export function summaryOf({ streams, isInStep, nodeName, revision }: SummarySources): DeliveryRecord {
  const fleets = new Map<string, { proxies: number; acked: number; behind: [string, number][]; more: number }>();
  const rejected: ProxyRejection[] = [];
  // Of two streams of one proxy the newer one: the other is about to break.
  const newest = new Map(streams.map((stream) => [nodeName(stream.node.id), stream]));
  for (const [node, stream] of newest) {
    const { cluster } = stream.node;
    const fleet = fleets.get(cluster) ?? { proxies: 0, acked: revision, behind: [], more: 0 };
    fleets.set(cluster, fleet);
    fleet.proxies += 1;
    if (!isInStep(stream)) {
      const acked = Math.min(revision, stream.filledAt === undefined ? 0 : stream.ackedRevision);
      fleet.acked = Math.min(fleet.acked, acked);
      if (fleet.behind.length < maxLaggards) fleet.behind.push([node, acked]);
      else fleet.more += 1;
    }
    for (const { type, rejected: names } of stream.types) {
      for (const { name, words, scope, since } of names) {
        if (rejected.length >= maxLaggards) break;
        const time = since === undefined ? {} : { since: new Date(since).toISOString() };
        rejected.push({ node, type, name, words, scope, ...time });
      }
    }
  }
  return { revision, fleets: Object.fromEntries<FleetDelivery>([...fleets].sort()), rejected };
}
