import type { CommitInfo, Ports, PreviewResult, ProxyInfo, View } from '../api/index.ts';
import { type Changes, type Mirror, oldestGood, preview, type Records, type World } from '../control/index.ts';
import { type ObjectKey, parseObjectKey } from '../model/index.ts';
import { nodeName } from '../observe/index.ts';
import { type ExplainSources, explain, rejectionKey, type StatusSources, statusOf } from '../status/index.ts';
import { listenerNameOf, parseResourceKey, rankOf } from '../translate/index.ts';
import type { Budget } from '../view/index.ts';
import type { Hub, Resource, StreamStatus } from '../xds/index.ts';
import type { Cluster } from './cluster.ts';
import type { Commits, CommitTrack, Span } from './commits.ts';
import type { Deliveries } from './deliveries.ts';
import { configOf } from './proxy-config.ts';

export interface PortsOptions {
  readonly mirror: Mirror;
  readonly changes: Changes;
  readonly commits: Commits;
  readonly deliveries: Deliveries;
  readonly cluster: Cluster;
  readonly sources: StatusSources;
  readonly hub: Hub;
  readonly budget: Budget;
  readonly now: () => number;
  /** Name of this controller. */
  readonly replica: string;
}

/** Fills the ports of the API from the View, the streams and the records. */
export function createPorts(
  options: PortsOptions,
): Pick<Ports, 'controllers' | 'view' | 'tokens' | 'preview' | 'proxies' | 'explain' | 'events' | 'audit'> {
  const { mirror, changes, commits, deliveries, cluster, sources, hub, now, replica } = options;
  const explaining: ExplainSources = {
    ...sources,
    resources: (key) => resourcesOf(mirror.world, key),
    delivery: (resource) => cluster.deliveries.of(resource),
    listenerName: listenerNameOf,
    rank: rankOf,
  };
  const { kernel, graph } = mirror.world;

  const view: View = {
    get revision() {
      return mirror.revision;
    },
    get: (key) => kernel.get(graph.objects[parseObjectKey(key).kind], key),
    *list(kind) {
      for (const key of kernel.keys(graph.objects[kind])) {
        const object = kernel.get(graph.objects[kind], key);
        if (object !== undefined) yield object;
      }
    },
    referrers: (key) => [...kernel.members(graph.referrers, key)].sort(),
    status: (object) => statusOf(keyOf(object), object, sources, now()),
    pinnedGeneration: (key) => oldestGood(mirror.records.held(key)),
    reached: (revision, limits) => mirror.reached(revision, limits),
    changesSince: (revision) => changes.since(revision),
    onChanges: (listener) => changes.subscribe(listener),
  };

  function proxiesOf(fleets: ReadonlySet<string>): string[] {
    const proxies = deliveries.streams().filter(({ node }) => fleets.has(node.cluster));
    return [...new Set(proxies.map(({ node }) => nodeName(node.id)))].sort();
  }

  return {
    controllers: () => cluster.controllers.list(),
    view,
    tokens: { get: (id) => mirror.records.tokens.get(id), list: () => mirror.records.tokens.values() },
    preview: {
      async preview(writes): Promise<PreviewResult> {
        const { fleets, ...found } = await preview(mirror, writes, options.budget);
        return {
          ...found,
          // Most previews are made to see what is removed, and nobody asks for a thousand names.
          get proxies() {
            return proxiesOf(fleets);
          },
        };
      },
    },
    proxies: {
      list: () =>
        deliveries.streams().map((stream) => proxyInfo(stream, deliveries.isInStep(stream), mirror.records, replica)),
      get: (node) => {
        const stream = deliveries.streams().find((candidate) => nodeName(candidate.node.id) === node);
        return stream === undefined
          ? undefined
          : proxyInfo(stream, deliveries.isInStep(stream), mirror.records, replica);
      },
      config(node, options) {
        const stream = deliveries.streams().find((candidate) => nodeName(candidate.node.id) === node);
        return stream === undefined ? undefined : configOf(hub, stream, options);
      },
      compare(node) {
        const streams = deliveries
          .streams()
          .filter((candidate) => node === undefined || nodeName(candidate.node.id) === node);
        return streams.filter(({ streamId }) => hub.compare(streamId)).length;
      },
    },
    events: { list: () => mirror.records.events.values(), onHappened: (listener) => changes.onHappened(listener) },
    audit: () => mirror.records.audit,
    explain: {
      virtualService(key) {
        const object = view.get(key);
        return object === undefined ? undefined : explain(key, object, mirror.world, explaining, now());
      },
      commit(revision) {
        const track = commits.get(revision);
        return track === undefined ? undefined : commitInfo(track);
      },
    },
  };
}

function resourcesOf({ kernel, translation }: World, key: ObjectKey): Resource[] {
  return translation.resourcesOf(kernel, key).flatMap((resource) => {
    const { type, name } = parseResourceKey(resource);
    const found = translation.outputs.map((output) => kernel.get(output, name)).find((row) => row?.type === type);
    return found ?? [];
  });
}

function commitInfo(track: CommitTrack): CommitInfo {
  const time = (at: number): string => new Date(at).toISOString();
  const span = ({ first, last }: Span) => ({ first: time(first), last: time(last) });
  return {
    revision: String(track.revision),
    settledWith: String(track.settledWith),
    committed: time(track.committedAt),
    settled: time(track.settledAt),
    resources: track.resources,
    proxies: track.proxies,
    ...(track.sent === undefined ? {} : { sent: span(track.sent) }),
    ...(track.acknowledged === undefined ? {} : { acknowledged: span(track.acknowledged) }),
  };
}

function keyOf({ kind, metadata }: { kind: string; metadata: { scope?: string; name: string } }): ObjectKey {
  return metadata.scope === undefined ? `${kind}/${metadata.name}` : `${kind}/${metadata.scope}/${metadata.name}`;
}

function proxyInfo(stream: StreamStatus, inStep: boolean, { rejections }: Records, replica: string): ProxyInfo {
  const { node, openedAt, types } = stream;
  const refused = types.some(({ rejected }) => rejected.length > 0);
  return {
    node: nodeName(node.id),
    nodeId: node.id,
    fleet: node.cluster,
    version: node.version,
    connectedSince: new Date(openedAt).toISOString(),
    replica,
    state: refused ? 'Rejected' : stream.stall !== undefined ? 'Stalled' : inStep ? 'Synced' : 'Pending',
    types: types.map((type) => ({
      type: type.type,
      sent: type.sentRevision,
      acked: type.ackedRevision,
      resources: type.acked,
      pending: type.pending,
      rejected: type.rejected.map(({ name, words, since }) => ({
        name,
        message: words,
        since:
          since === undefined
            ? (rejections.get(rejectionKey(type.type, name))?.record.first ?? '')
            : new Date(since).toISOString(),
      })),
    })),
  };
}
