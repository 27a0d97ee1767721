import type { Ports, PreviewResult, ProxyInfo, View } from '../api/index.ts';
import { type Changes, type Mirror, preview } from '../control/index.ts';
import { type ObjectKey, parseObjectKey } from '../model/index.ts';
import { nodeName } from '../observe/index.ts';
import { type Rejection, rejectionKey, type StatusSources, statusOf } from '../status/index.ts';
import type { Budget } from '../view/index.ts';
import { type StreamStatus, subjectsOf, type Table } from '../xds/index.ts';
import type { Deliveries } from './deliveries.ts';

export interface PortsOptions {
  readonly mirror: Mirror;
  readonly changes: Changes;
  readonly deliveries: Deliveries;
  readonly sources: StatusSources;
  readonly table: Table;
  readonly budget: Budget;
  readonly now: () => number;
  /** Name of this controller. */
  readonly replica: string;
}

/** Fills the ports of the API from the View, the streams and the records. */
export function createPorts(options: PortsOptions): Pick<Ports, 'view' | 'preview' | 'proxies'> {
  const { mirror, changes, deliveries, sources, table, now, replica } = options;
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
    pinnedGeneration: (key) => mirror.records.pins.get(key)?.good ?? undefined,
    reached: (revision, limits) => mirror.reached(revision, limits),
    changesSince: (revision) => changes.since(revision),
    onChanges: (listener) => changes.subscribe(listener),
  };

  function touchedProxies(audiences: ReadonlySet<string>, subjects: ReadonlySet<string>): string[] {
    const touched = new Set<string>();
    for (const { node } of deliveries.streams()) {
      const own = table.audiencesOf(node);
      const concerned =
        subjectsOf(node).some((subject) => subjects.has(subject)) ||
        [...audiences].some((audience) => own.has(audience));
      if (concerned) touched.add(nodeName(node.id));
    }
    return [...touched].sort();
  }

  return {
    view,
    preview: {
      async preview(writes): Promise<PreviewResult> {
        const { audiences, subjects, ...found } = await preview(mirror, writes, options.budget);
        return { ...found, proxies: touchedProxies(audiences, subjects) };
      },
    },
    proxies: {
      list: () =>
        deliveries
          .streams()
          .map((stream) => proxyInfo(stream, deliveries.isInStep(stream), mirror.records.rejections, replica)),
      get: (node) => {
        const stream = deliveries.streams().find((candidate) => nodeName(candidate.node.id) === node);
        return stream === undefined
          ? undefined
          : proxyInfo(stream, deliveries.isInStep(stream), mirror.records.rejections, replica);
      },
    },
  };
}

function keyOf({ kind, metadata }: { kind: string; metadata: { scope?: string; name: string } }): ObjectKey {
  return metadata.scope === undefined ? `${kind}/${metadata.name}` : `${kind}/${metadata.scope}/${metadata.name}`;
}

function proxyInfo(
  stream: StreamStatus,
  inStep: boolean,
  rejections: ReadonlyMap<string, Rejection>,
  replica: string,
): ProxyInfo {
  const { node, openedAt, types } = stream;
  const refused = types.some(({ rejected }) => rejected.length > 0);
  return {
    node: nodeName(node.id),
    nodeId: node.id,
    fleet: node.cluster,
    version: node.version,
    connectedSince: new Date(openedAt).toISOString(),
    replica,
    state: refused ? 'Rejected' : stream.stalled ? 'Stalled' : inStep ? 'Synced' : 'Pending',
    types: types.map((type) => ({
      type: type.type,
      sent: type.sentRevision,
      acked: type.ackedRevision,
      resources: type.acked,
      pending: type.pending,
      rejected: type.rejected.map(({ name, words }) => ({
        name,
        message: words,
        since: rejections.get(rejectionKey(type.type, name))?.first ?? '',
      })),
    })),
  };
}
