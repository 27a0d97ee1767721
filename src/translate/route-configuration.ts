import { create } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { RouteConfigurationSchema } from '../gen/envoy/config/route/v3/route_pb.js';
import { type Effective, pathOf } from '../graph/index.ts';
import { encodeWith } from '../lib/encode-with.ts';
import { contentHash } from '../lib/hash.ts';
import { placeIn } from '../lib/place-in.ts';
import type { ObjectKey } from '../model/index.ts';
import { type Part, type Piece, type Resource, typeUrls } from '../xds/index.ts';
import { type Encoder, encode } from './encode.ts';
import { TableHosts } from './table-hosts.ts';
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
  /** In the order of their names. */
  readonly hosts: readonly EncodedHost[];
}

/** Places in the list of pieces. */
const headAt = 0;
const misdirectedAt = -2;

/** From so many hosts on it is kept what a table was made of: below that it costs little to make it from nothing. */
const largeTable = 64;

/** What large tables were made of, for as long as somebody has one of their forms. */
const kept = new WeakMap<Resource, TableHosts>();

/** `was` is the former table, which the new one is made from where it can be: it comes out the same without. */
export function routeConfiguration(
  encoder: Encoder,
  { name, audience, service, hosts }: RouteTable,
  was: Resource | undefined,
): Resource {
  const table = (was && kept.get(was)) ?? new TableHosts();
  const { pieces: ofHosts, needs, parts } = table.update(hosts);
  const misdirected = encodeMisdirected(misdirectedHosts(name, service, hosts));
  const pieces = [
    was?.pieces?.at(headAt) ?? plainPiece('', headOf(name)),
    ...ofHosts,
    ...(misdirected === undefined ? [] : [misdirectedPiece(misdirected, was?.pieces?.at(misdirectedAt))]),
    tailPiece,
  ];
  const outline = { type: typeUrls.route, name, audience, needs, pieces, former: was };
  const resource = encoder.joined(outline, withService(parts, service, misdirected), RouteConfigurationSchema);
  if (hosts.length >= largeTable) kept.set(resource, table);
  return resource;
}

function headOf(name: string): Uint8Array {
  return encodeWith((to) => to.tag(nameOfTable, WireType.LengthDelimited).string(name));
}

/** A stretch that needs nothing. No host has such a key. */
function plainPiece(key: string, bytes: Uint8Array): Piece {
  return { key, bytes, needs: none, units: none };
}

const none: readonly never[] = [];

const tailPiece = plainPiece(' tail', tail);

/** The former piece where it is the same: then all that follows the hosts is the same. */
function misdirectedPiece(bytes: Uint8Array, former: Piece | undefined): Piece {
  const key = ' misdirected';
  const isSame = former?.key === key && contentHash(former.bytes) === contentHash(bytes);
  return isSame ? former : plainPiece(key, bytes);
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

/** The service is always among the parts: it makes the table, even an empty one. */
function withService(
  parts: readonly Part[],
  { key, generation }: { readonly key: ObjectKey; readonly generation: number },
  misdirected: Uint8Array | undefined,
): readonly Part[] {
  const at = placeIn(parts, key, ({ unit }) => unit);
  const there = parts[at]?.unit === key ? parts[at] : undefined;
  const own = there?.hash ?? '';
  const hash = misdirected === undefined ? own : contentHash(`${own},${contentHash(misdirected)}`);
  if (there?.hash === hash && there.generation === generation) return parts;
  return parts.toSpliced(at, there === undefined ? 0 : 1, { unit: key, generation, hash });
}
