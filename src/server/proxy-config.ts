import type { ProxyResource } from '../api/index.ts';
import { pathOf } from '../graph/index.ts';
import { describeResource } from '../translate/index.ts';
import type { Hub, ResourceVersions, StreamStatus } from '../xds/index.ts';

/** `Cluster` of `type.googleapis.com/envoy.config.cluster.v3.Cluster`. */
export function shortType(type: string): string {
  return type.slice(type.lastIndexOf('.') + 1);
}

/** Resources told in one piece; with their content, each is decoded and written out as text. */
const perPiece = 256;

/** What a proxy should have and what it was sent and acknowledged, resource by resource. */
export function* configOf(
  hub: Hub,
  stream: StreamStatus,
  options: { readonly type: string | undefined; readonly content: boolean },
): Generator<void, readonly ProxyResource[]> {
  const refusals = new Map(
    stream.types.flatMap(({ type, rejected }) =>
      rejected.map(({ name, words }) => [`${type} ${name}`, words] as const),
    ),
  );
  const resources: ProxyResource[] = [];
  for (const version of (yield* hub.fleet.versions(stream.streamId)) ?? []) {
    const { type, name, wanted, sent, acked } = version;
    if (options.type !== undefined && shortType(type) !== options.type) continue;
    const resource = hub.table.get(type, name)?.resource;
    const message = refusals.get(`${type} ${name}`);
    const shown = resource?.hash === wanted ? resource : undefined;
    resources.push({
      type,
      name,
      state: stateOf(version, message),
      wanted,
      sent,
      acknowledged: acked,
      ...(message === undefined ? {} : { message }),
      from: (shown?.parts ?? []).map(({ unit }) => `${unit.slice(0, unit.indexOf('/'))} ${pathOf(unit)}`),
      ...(options.content && shown !== undefined ? { content: describeResource(shown.bytes) } : {}),
    });
    if (options.content || resources.length % perPiece === 0) yield;
  }
  return resources;
}

function stateOf({ wanted, acked }: ResourceVersions, message: string | undefined): ProxyResource['state'] {
  if (wanted === undefined) return 'removed';
  if (wanted === acked) return 'acknowledged';
  return message === undefined ? 'pending' : 'rejected';
}
