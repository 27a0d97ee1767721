import type { Delivery, NodeStatus } from '../status/index.ts';
import { type Hub, type Progress, type StreamStatus, typeUrls } from '../xds/index.ts';

/** Which names of objects stand for proxies: `node.id` → name of the Node. */
type NodeName = (nodeId: string) => string;

interface Lost {
  readonly node: string;
  readonly nodeId: string;
  readonly cluster: string;
  /** All up to this revision was acknowledged when the stream broke. */
  readonly ackedRevision: number;
  readonly at: number;
}

/** How far proxies are, in the terms of status. Reads the hub; keeps only the proxies that were lost just now. */
export interface Deliveries {
  /** Takes in what the hub tells, in order. */
  observe(progress: readonly Progress[]): void;
  /** The table has changed: what was read of the streams is out of date. */
  tableChanged(): void;
  of(resource: { readonly type: string; readonly name: string }): readonly Delivery[];
  ofFleet(fleet: string): readonly Delivery[];
  ofNode(name: string): Omit<NodeStatus, 'record'> | undefined;
  streams(): readonly StreamStatus[];
  /** Whether the proxy has acknowledged all that it should have. */
  isInStep(stream: StreamStatus): boolean;
  /** Forgets proxies that have been gone for long; true when there were any. */
  sweep(now: number): boolean;
}

/** So long a proxy whose stream broke still counts: it comes back within seconds, or it is gone. */
const lostMs = 30_000;

export function createDeliveries(hub: Hub, nodeName: NodeName): Deliveries {
  const lost = new Map<string, Lost>();
  const acked = new Map<string, { nodeId: string; cluster: string; revision: number }>();
  let statuses: readonly StreamStatus[] | undefined;
  let quiet = new Map<string, boolean>();

  function streams(): readonly StreamStatus[] {
    if (statuses !== undefined) return statuses;
    const fresh = hub.fleet.streams();
    quiet = new Map(fresh.map((stream) => [stream.streamId, isInStep(stream)]));
    // While changes are still being handed to the streams, what they say is true for a moment only.
    if (hub.marked) statuses = fresh;
    return fresh;
  }

  /** Nothing is on its way to it: what such a proxy has not asked for it does not want. */
  function isInStep(stream: StreamStatus): boolean {
    return hub.marked && stream.filledAt !== undefined && stream.types.every(({ pending }) => pending === 0);
  }

  function lostDelivery(proxy: Lost, revision: number): Delivery {
    const state = revision <= proxy.ackedRevision ? 'acked' : 'pending';
    return { node: proxy.node, state, counts: true, lost: true };
  }

  function streamDelivery(stream: StreamStatus): Delivery {
    const node = nodeName(stream.node.id);
    const [rejected] = stream.types.flatMap((type) => type.rejected);
    const counts = stream.filledAt !== undefined;
    if (rejected !== undefined) return { node, state: 'rejected', words: rejected.words, counts: true };
    return { node, state: isInStep(stream) ? 'acked' : 'pending', counts };
  }

  return {
    observe(progress) {
      statuses = undefined;
      for (const event of progress) {
        if (event.kind === 'opened') {
          acked.set(event.streamId, { nodeId: event.nodeId, cluster: event.node.cluster, revision: 0 });
          lost.delete(event.nodeId);
        } else if (event.kind === 'acked' || event.kind === 'filled') {
          const stream = acked.get(event.streamId);
          if (stream !== undefined) stream.revision = event.revision;
        } else if (event.kind === 'closed') {
          const stream = acked.get(event.streamId);
          acked.delete(event.streamId);
          if (stream === undefined || [...acked.values()].some(({ nodeId }) => nodeId === event.nodeId)) continue;
          const { nodeId, cluster, revision } = stream;
          lost.set(nodeId, { node: nodeName(nodeId), nodeId, cluster, ackedRevision: revision, at: event.at });
        }
      }
    },
    tableChanged() {
      statuses = undefined;
    },
    of({ type, name }) {
      const entry = hub.table.get(type, name);
      if (entry === undefined) return [];
      streams();
      const found: Delivery[] = hub.fleet.delivery(type, name).map((delivery) => {
        const unwanted =
          delivery.state === 'unsubscribed' && !isWildcard(type) && quiet.get(delivery.streamId) === true;
        const state = unwanted ? 'unwanted' : delivery.state === 'unsubscribed' ? 'pending' : delivery.state;
        return {
          node: nodeName(delivery.nodeId),
          state,
          counts: delivery.filled || delivery.openedRevision < entry.revision,
          ...(delivery.words === undefined ? {} : { words: delivery.words }),
        };
      });
      for (const proxy of lost.values()) {
        const audiences = hub.table.audiencesOf({ id: proxy.nodeId, cluster: proxy.cluster });
        if (audiences.has(entry.resource.audience)) found.push(lostDelivery(proxy, entry.revision));
      }
      return found;
    },
    ofFleet(fleet) {
      const here = streams()
        .filter(({ node }) => node.cluster === fleet)
        .map(streamDelivery);
      const gone = [...lost.values()].filter(({ cluster }) => cluster === fleet);
      return [...here, ...gone.map((proxy) => lostDelivery(proxy, hub.table.revision))];
    },
    ofNode(name) {
      const stream = streams().find(({ node }) => nodeName(node.id) === name);
      if (stream === undefined) return undefined;
      const types = stream.types.map((type) => ({
        type: type.type,
        sent: type.sentRevision,
        acked: type.ackedRevision,
        resources: type.acked,
        nack: type.rejected.length,
      }));
      return { types, delivery: streamDelivery(stream) };
    },
    streams,
    isInStep,
    sweep(now) {
      let swept = false;
      for (const [nodeId, { at }] of lost) if (now - at >= lostMs) swept = lost.delete(nodeId) || swept;
      return swept;
    },
  };
}

/** Envoy takes all clusters and listeners; it asks for the rest by name. */
function isWildcard(type: string): boolean {
  return type === typeUrls.cluster || type === typeUrls.listener;
}
