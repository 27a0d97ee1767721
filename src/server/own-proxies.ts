import type { CommitInfo, ProxyInfo, ProxyResource } from '../api/index.ts';
import type { Records } from '../control/index.ts';
import { inSlices } from '../lib/in-slices.ts';
import type { SliceMeter } from '../lib/slices.ts';
import { nodeName } from '../observe/index.ts';
import { rejectionKey } from '../status/index.ts';
import type { Hub, StreamStatus } from '../xds/index.ts';
import type { Commits, CommitTrack, Span } from './commits.ts';
import type { Deliveries } from './deliveries.ts';
import { createOwnClientStatus, type OwnClientStatus } from './own-client-status.ts';
import { configOf } from './proxy-config.ts';

/** What this controller knows of the proxies that have their stream here, as it is told to people and to peers. */
export interface OwnProxies {
  list(filter: {
    readonly fleet?: string | undefined;
    readonly node?: string | undefined;
  }): Promise<readonly ProxyInfo[]>;
  /** Undefined: not connected here. */
  config(
    node: string,
    options: { readonly type: string | undefined; readonly content: boolean },
  ): Promise<readonly ProxyResource[] | undefined>;
  /** Begins to compare one, or all; how many that are. */
  compare(node: string | undefined): number;
  /** Undefined: not yet taken in, or too long ago. */
  commit(revision: number): CommitInfo | undefined;
  /** As Envoy's ClientStatusDiscoveryService tells of them. */
  readonly clientStatus: OwnClientStatus;
}

export interface OwnProxiesOptions {
  readonly deliveries: Deliveries;
  readonly commits: Commits;
  readonly records: Records;
  readonly hub: Hub;
  /** Name of this controller. */
  readonly replica: string;
  readonly slices: SliceMeter;
}

export function createOwnProxies(options: OwnProxiesOptions): OwnProxies {
  const { deliveries, commits, records, hub, replica, slices } = options;
  function streams(node: string | undefined): readonly StreamStatus[] {
    const all = deliveries.streams();
    return node === undefined ? all : all.filter((candidate) => nodeName(candidate.node.id) === node);
  }

  function* infosOf({ fleet, node }: Parameters<OwnProxies['list']>[0]): Generator<void, readonly ProxyInfo[]> {
    const infos: ProxyInfo[] = [];
    for (const stream of streams(node)) {
      if (fleet !== undefined && stream.node.cluster !== fleet) continue;
      infos.push(proxyInfo(stream, deliveries.isInStep(stream), records, replica));
      yield;
    }
    return infos;
  }

  return {
    async list(filter) {
      return (await inSlices(infosOf(filter), { work: 'answer', slices })) ?? [];
    },
    async config(node, options) {
      const [stream] = streams(node);
      return stream && inSlices(configOf(hub, stream, options), { work: 'answer', slices });
    },
    compare: (node) => streams(node).filter(({ streamId }) => hub.compare(streamId)).length,
    commit(revision) {
      const track = commits.get(revision);
      return track === undefined ? undefined : commitInfo(track);
    },
    clientStatus: createOwnClientStatus(hub, slices),
  };
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
