import type { ObjectKey } from '../model/index.ts';
import type { Delivery, NodeStatus } from '../status/index.ts';
import { type Entry, type Hub, type Progress, type RejectedName, type StreamStatus, typeUrls } from '../xds/index.ts';

/** Which names of objects stand for proxies: `node.id` → name of the Node. */
type NodeName = (nodeId: string) => string;

/** What is kept of a stream, for the time when it is no more. */
interface Proxy {
  readonly nodeId: string;
  readonly cluster: string;
  /** Revision of the table when the stream opened. */
  readonly openedRevision: number;
  filled: boolean;
  /** All up to this revision was acknowledged. */
  ackedRevision: number;
}

/** How far proxies are, in the terms of status. Reads the hub; keeps only the proxies that were lost just now. */
export interface Deliveries {
  /** Takes in what the hub tells, in order. */
  observe(progress: readonly Progress[]): void;
  /** The table has changed: what was read of the streams is out of date. */
  tableChanged(): void;
  /** At start: proxies that an earlier run left connected come back in a moment, or are gone. */
  expect(nodeIds: Iterable<string>, at: number): void;
  /** Whether none of them is waited for any more: until then nobody knows what is in force at how many proxies. */
  readonly complete: boolean;
  /** With `unit`: how far proxies are with that object's part of the resource. */
  of(resource: { readonly type: string; readonly name: string }, unit?: ObjectKey): readonly Delivery[];
  ofFleet(fleet: string): readonly Delivery[];
  ofNode(name: string): Omit<NodeStatus, 'record' | 'connected'> | undefined;
  streams(): readonly StreamStatus[];
  /** Whether the proxy has acknowledged all that it should have. */
  isInStep(stream: StreamStatus): boolean;
  /** A proxy that was lost here is with another controller. What it had acknowledged; undefined: it was not lost. */
  release(name: string): number | undefined;
  /** Forgets proxies that have been gone for long; true when there were any. */
  sweep(now: number): boolean;
}

/** So long a proxy whose stream broke still counts: it comes back within seconds, or it is gone. */
const lostMs = 30_000;

export function createDeliveries(hub: Hub, nodeName: NodeName): Deliveries {
  const open = new Map<string, Proxy>();
  const lost = new Map<string, { readonly proxy: Proxy; readonly at: number }>();
  /** Node id → since when it is waited for. */
  const expected = new Map<string, number>();
  /** What was read of the streams since the last change. */
  let glance: Glance | undefined;
  /** Audience, and type where that matters → what is said of all its proxies at once. */
  const chorus = new Map<string, Chorus>();
  let chorusRevision = 0;
  /** Audience → its proxies, in the edition of the fleet that they are of. */
  const singers = new Map<string, Singers>();
  let singersEdition = 0;
  const names = new Map<string, string>();
  /** Name of the node → its streams, oldest first. */
  const streamsOf = new Map<string, Set<string>>();

  /** Computed once for each proxy: it is asked for thousands of times. */
  function nameOf(nodeId: string): string {
    let name = names.get(nodeId);
    if (name === undefined) {
      name = nodeName(nodeId);
      names.set(nodeId, name);
    }
    return name;
  }

  function forgetGlance(): void {
    glance = undefined;
    chorus.clear();
  }

  /**
   * What is to be said of a resource when the same is true of all its proxies: that they have it, or that none was
   * sent it yet. Nearly always one of the two is, and then the answer is the same list for thousands of resources.
   */
  function together({ resource, revision }: Entry): readonly Delivery[] | undefined {
    if (lost.size > 0) return undefined;
    if (chorusRevision !== hub.markedRevision) chorus.clear();
    chorusRevision = hub.markedRevision;
    const { audience, type } = resource;
    // Nobody was told of it: so it is whenever the answer to a write is asked for.
    if (revision > chorusRevision) return singersOf(audience).pending;
    const key = isWildcard(type) ? `${audience} ${type}` : audience;
    let known = chorus.get(key);
    if (known === undefined) {
      // Of streams that are being filled it has to be asked one by one whether they count.
      const inStep = hub.fleet.inStep(audience, isWildcard(type) ? type : undefined);
      known = inStep ? singersOf(audience) : 'divided';
      chorus.set(key, known);
    }
    if (known !== 'divided') return known.acked;
    // They are behind with something else.
    return isWildcard(type) && hub.fleet.haveUpTo(revision, audience, type) ? singersOf(audience).acked : undefined;
  }

  function singersOf(audience: string): Singers {
    if (singersEdition !== hub.fleet.edition) singers.clear();
    singersEdition = hub.fleet.edition;
    let known = singers.get(audience);
    if (known === undefined) {
      const nodes = hub.fleet.nodeIds(audience).map(nameOf);
      const all = (state: Delivery['state']) => nodes.map((node): Delivery => ({ node, state, counts: true }));
      known = { acked: all('acked'), pending: all('pending') };
      singers.set(audience, known);
    }
    return known;
  }

  function look(): Glance {
    if (glance !== undefined) return glance;
    const streams = hub.fleet.streams();
    const fresh = {
      streams,
      inStep: new Set(streams.filter(hasAll).map(({ streamId }) => streamId)),
    };
    glance = fresh;
    // While changes are still being handed to the streams, what they say is true for a moment only: until whoever asks
    // now has ended. It asks about each of a thousand proxies, and a look is at all of them.
    if (!hub.marked) {
      queueMicrotask(() => {
        if (glance === fresh) glance = undefined;
      });
    }
    return fresh;
  }

  /**
   * Nothing is on its way to it: what such a proxy has not asked for it does not want. What it still has, for the
   * connections that a removed listener drains, is no matter. Of a stream as it is at this moment.
   */
  function hasAll({ filledAt, ackedRevision }: StreamStatus): boolean {
    return filledAt !== undefined && isNewest(ackedRevision);
  }

  function isNewest(revision: number): boolean {
    return hub.marked && revision >= hub.markedRevision;
  }

  function isInStep({ streamId }: StreamStatus): boolean {
    return look().inStep.has(streamId);
  }

  function lostDelivery({ nodeId, filled, openedRevision, ackedRevision }: Proxy, revision: number): Delivery {
    const state = revision <= ackedRevision ? 'acked' : 'pending';
    return { node: nameOf(nodeId), state, counts: filled || openedRevision < revision, lost: true };
  }

  function streamDelivery(stream: StreamStatus, inStep: boolean): Delivery {
    const node = nameOf(stream.node.id);
    const { refusal } = stream;
    if (refusal !== undefined) return { node, state: 'rejected', ...refusalOf(refusal), counts: true };
    return { node, state: inStep ? 'acked' : 'pending', counts: stream.filledAt !== undefined };
  }

  function closed(streamId: string, at: number): void {
    const proxy = open.get(streamId);
    if (proxy === undefined) return;
    open.delete(streamId);
    const name = nameOf(proxy.nodeId);
    const streams = streamsOf.get(name);
    streams?.delete(streamId);
    if (streams !== undefined && streams.size > 0) return;
    streamsOf.delete(name);
    lost.set(proxy.nodeId, { proxy, at });
  }

  return {
    observe(progress) {
      forgetGlance();
      for (const event of progress) {
        if (event.kind === 'opened') {
          const { nodeId, node, revision: openedRevision } = event;
          open.set(event.streamId, { nodeId, cluster: node.cluster, openedRevision, filled: false, ackedRevision: 0 });
          const streams = streamsOf.get(nameOf(nodeId)) ?? new Set();
          streamsOf.set(nameOf(nodeId), streams.add(event.streamId));
          lost.delete(nodeId);
        } else if (event.kind === 'acked' || event.kind === 'filled') {
          const proxy = open.get(event.streamId);
          if (proxy === undefined) continue;
          proxy.ackedRevision = event.revision;
          if (event.kind === 'acked') continue;
          proxy.filled = true;
          expected.delete(proxy.nodeId);
        } else if (event.kind === 'closed') closed(event.streamId, event.at);
      }
    },
    tableChanged: forgetGlance,
    expect(nodeIds, at) {
      for (const nodeId of nodeIds) expected.set(nodeId, at);
    },
    get complete() {
      return expected.size === 0;
    },
    of({ type, name }, unit) {
      const entry = hub.table.get(type, name);
      if (entry === undefined) return [];
      const same = together(entry);
      if (same !== undefined) return same;
      const singers = singersOf(entry.resource.audience);
      const found: Delivery[] = hub.fleet.delivery(type, name, unit).map((delivery, at) => {
        const unwanted = delivery.state === 'unsubscribed' && !isWildcard(type) && hub.marked && delivery.rests;
        const state = unwanted ? 'unwanted' : delivery.state === 'unsubscribed' ? 'pending' : delivery.state;
        const counts = delivery.filled || delivery.openedRevision < entry.revision;
        const known = counts && (state === 'acked' || state === 'pending') ? singers[state][at] : undefined;
        const refusal = delivery.refusal === undefined ? {} : refusalOf(delivery.refusal);
        return known ?? { node: nameOf(delivery.nodeId), state, counts, ...refusal };
      });
      for (const { proxy } of lost.values()) {
        const audiences = hub.table.audiencesOf({ id: proxy.nodeId, cluster: proxy.cluster });
        if (audiences.has(entry.resource.audience)) found.push(lostDelivery(proxy, entry.revision));
      }
      return found;
    },
    ofFleet(fleet) {
      const here = look()
        .streams.filter(({ node }) => node.cluster === fleet)
        .map((stream) => streamDelivery(stream, isInStep(stream)));
      const gone = [...lost.values()].filter(({ proxy }) => proxy.cluster === fleet);
      return [...here, ...gone.map(({ proxy }) => lostDelivery(proxy, hub.table.revision))];
    },
    ofNode(name) {
      // Of two streams the newer one: the other is about to break.
      const stream = hub.fleet.stream([...(streamsOf.get(name) ?? [])].at(-1) ?? '');
      if (stream === undefined) return undefined;
      const types = stream.types.map((type) => ({
        type: type.type,
        sent: type.sentRevision,
        acked: type.ackedRevision,
        resources: type.acked,
        nack: type.rejected.length,
      }));
      return { types, stall: stream.stall, delivery: streamDelivery(stream, hasAll(stream)) };
    },
    streams: () => look().streams,
    isInStep,
    release(name) {
      for (const [nodeId, { proxy }] of lost) {
        if (nameOf(nodeId) !== name) continue;
        lost.delete(nodeId);
        forgetGlance();
        return proxy.filled ? proxy.ackedRevision : undefined;
      }
      return undefined;
    },
    sweep(now) {
      let swept = false;
      for (const [nodeId, { at }] of lost) if (now - at >= lostMs) swept = lost.delete(nodeId) || swept;
      for (const [nodeId, at] of expected) if (now - at >= lostMs) swept = expected.delete(nodeId) || swept;
      return swept;
    },
  };
}

/** All proxies of an audience say the same, or they do not. */
type Chorus = Singers | 'divided';

/** What they can say. The lists are the same as long as the proxies are. */
interface Singers {
  readonly acked: readonly Delivery[];
  readonly pending: readonly Delivery[];
}

interface Glance {
  readonly streams: readonly StreamStatus[];
  /** Ids of streams. */
  readonly inStep: ReadonlySet<string>;
}

function refusalOf({ words, scope, since }: Omit<RejectedName, 'name' | 'hash'>) {
  return { words, scope, ...(since === undefined ? {} : { since: new Date(since).toISOString() }) };
}

/** Envoy takes all clusters and listeners; it asks for the rest by name. */
function isWildcard(type: string): boolean {
  return type === typeUrls.cluster || type === typeUrls.listener;
}
