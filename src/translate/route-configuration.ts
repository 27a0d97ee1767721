import { create } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { RouteConfigurationSchema } from '../gen/envoy/config/route/v3/route_pb.js';
import { type Effective, pathOf } from '../graph/index.ts';
import { encodeWith } from '../lib/encode-with.ts';
import { contentHash } from '../lib/hash.ts';
import type { ObjectKey } from '../model/index.ts';
import { type Need, type Part, type Piece, type Resource, typeUrls } from '../xds/index.ts';
import { type Encoder, encode } from './encode.ts';
import { type EncodedHost, encodeMisdirected } from './virtual-host.ts';

/** RouteConfiguration: a route table, put together from its encoded virtual hosts, sorted by host. */

/** Field number of the name; the virtual hosts bring their own. */
const nameOfTable = 1;

/** Fields that follow the virtual hosts. A host is one whatever port the client names with it. */
const tail = encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { ignorePortInHostMatching: true }));

export interface RouteTable {
  readonly name: string;
  readonly audience: string;
  readonly service: Effective<'VirtualService'>;
  readonly hosts: readonly EncodedHost[];
}

export function routeConfiguration(encoder: Encoder, { name, audience, service, hosts }: RouteTable): Resource {
  const sorted = [...hosts].sort((a, b) => (a.host < b.host ? -1 : 1));
  const misdirected = encodeMisdirected(misdirectedHosts(name, service, hosts));
  const head = encodeWith((to) => to.tag(nameOfTable, WireType.LengthDelimited).string(name));
  const pieces = [
    plainPiece('', head),
    ...sorted.map(pieceOf),
    ...(misdirected === undefined ? [] : [plainPiece(' misdirected', misdirected)]),
    plainPiece(' tail', tail),
  ];
  return encoder.composite(
    { type: typeUrls.route, name, audience, needs: needsOf(pieces), pieces },
    partsOf(service, sorted, misdirected),
    RouteConfigurationSchema,
    (to) => {
      for (const { bytes } of pieces) to.raw(bytes);
    },
  );
}

const pieces = new WeakMap<EncodedHost, Piece>();

/** The same for as long as the host is: most of a table is pieces that did not change. */
function pieceOf(host: EncodedHost): Piece {
  let piece = pieces.get(host);
  if (piece === undefined) {
    const { bytes, clusters, parts } = host;
    const needs = clusters.map((name) => ({ type: typeUrls.cluster, name }));
    piece = { key: host.host, bytes, needs, units: parts.map(({ unit }) => unit) };
    pieces.set(host, piece);
  }
  return piece;
}

/** A stretch that needs nothing. No host has such a key. */
function plainPiece(key: string, bytes: Uint8Array): Piece {
  return { key, bytes, needs: [], units: [] };
}

/**
 * Hosts of the other HTTPS listeners of the same socket, which connections to this one come asking for. Those that
 * are served here are in their right place.
 */
function misdirectedHosts(
  table: string,
  { key, spec }: Effective<'VirtualService'>,
  hosts: readonly EncodedHost[],
): string[] {
  const secure = spec.listeners.filter(({ protocol }) => protocol === 'HTTPS');
  const own = secure.find(({ name }) => `${pathOf(key)}/${name}` === table);
  const others = secure.filter((other) => other !== own && other.port === own?.port);
  if (others.length === 0) return [];
  const served = new Set(hosts.map(({ host }) => host));
  const named = others.flatMap((other) => other.hosts ?? []).map((host) => host.toLowerCase());
  return [...new Set(named.filter((host) => !served.has(host)))].sort();
}

/** Clusters in the order of their first naming. */
function needsOf(all: readonly Piece[]): Need[] {
  const needs = new Map<string, Need>();
  for (const piece of all) for (const need of piece.needs) if (!needs.has(need.name)) needs.set(need.name, need);
  return [...needs.values()];
}

/** One part for each object. The service is always one of them: it makes the table, even an empty one. */
function partsOf(
  { key, generation }: { readonly key: ObjectKey; readonly generation: number },
  hosts: readonly EncodedHost[],
  misdirected: Uint8Array | undefined,
): Part[] {
  const parts = new Map<string, Part>();
  const several = new Map<string, Set<string>>();
  for (const host of hosts) {
    for (const part of host.parts) {
      const known = parts.get(part.unit);
      if (known === undefined) parts.set(part.unit, part);
      else if (known.hash !== part.hash) {
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
  const own = parts.get(key)?.hash ?? '';
  const hash = misdirected === undefined ? own : contentHash(`${own},${contentHash(misdirected)}`);
  parts.set(key, { unit: key, generation, hash });
  return [...parts.values()];
}
