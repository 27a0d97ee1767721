import { create } from '@bufbuild/protobuf';
import { RouteConfigurationSchema } from '../gen/envoy/config/route/v3/route_pb.js';
import type { RouteTableRow } from '../graph/index.ts';
import { contentHash } from '../lib/hash.ts';
import { type Need, type Part, type Resource, typeUrls } from '../xds/index.ts';
import { type Encoder, encode } from './encode.ts';
import { join } from './splice.ts';
import type { EncodedHost } from './virtual-host.ts';

/** RouteConfiguration: a route table, put together from its encoded virtual hosts, sorted by host. */

/** Fields that follow the virtual hosts. A host is one whatever port the client names with it. */
const tail = encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { ignorePortInHostMatching: true }));

export function routeConfiguration(
  encoder: Encoder,
  name: string,
  row: RouteTableRow,
  hosts: readonly EncodedHost[],
  misdirected: Uint8Array | undefined,
): Resource {
  const sorted = [...hosts].sort((a, b) => (a.host < b.host ? -1 : 1));
  const pieces = [
    encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { name })),
    ...sorted.map(({ bytes }) => bytes),
    ...(misdirected === undefined ? [] : [misdirected]),
    tail,
  ];
  return encoder.composite(
    { type: typeUrls.route, name, audience: row.audience, needs: needsOf(sorted) },
    partsOf(row, sorted, misdirected),
    RouteConfigurationSchema,
    join(pieces),
  );
}

/** Clusters in the order of their first naming. */
function needsOf(hosts: readonly EncodedHost[]): Need[] {
  const clusters = new Set<string>();
  for (const host of hosts) for (const cluster of host.clusters) clusters.add(cluster);
  return Array.from(clusters, (name) => ({ type: typeUrls.cluster, name }));
}

/** One part for each object. The service is always one of them: it makes the table, even an empty one. */
function partsOf(row: RouteTableRow, hosts: readonly EncodedHost[], misdirected: Uint8Array | undefined): Part[] {
  const parts = new Map<string, Part>();
  const several = new Map<string, Set<string>>();
  for (const host of hosts) {
    for (const part of host.parts) {
      const known = parts.get(part.unit);
      if (known === undefined) parts.set(part.unit, part);
      else if (known !== part) {
        const hashes = several.get(part.unit);
        if (hashes === undefined) several.set(part.unit, new Set([known.hash, part.hash]));
        else hashes.add(part.hash);
      }
    }
  }
  for (const [unit, hashes] of several) {
    const known = parts.get(unit) as Part;
    parts.set(unit, { ...known, hash: contentHash([...hashes].join()) });
  }
  const own = parts.get(row.service)?.hash ?? '';
  const hash = misdirected === undefined ? own : contentHash(`${own},${contentHash(misdirected)}`);
  parts.set(row.service, { unit: row.service, generation: row.generation, hash });
  return [...parts.values()];
}
