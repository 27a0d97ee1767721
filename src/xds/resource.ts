import { BinaryReader, type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { encodeWith } from '../lib/encode-with.ts';
import { contentHash, hashLength } from '../lib/hash.ts';

/** An xDS type URL, for instance `type.googleapis.com/envoy.config.cluster.v3.Cluster`. */
export type TypeUrl = string;

const prefix = 'type.googleapis.com/';

/** The types that this server knows by name; the order is the order in which one push sends them. */
export const typeUrls = {
  cluster: `${prefix}envoy.config.cluster.v3.Cluster`,
  endpoint: `${prefix}envoy.config.endpoint.v3.ClusterLoadAssignment`,
  secret: `${prefix}envoy.extensions.transport_sockets.tls.v3.Secret`,
  extension: `${prefix}envoy.config.core.v3.TypedExtensionConfig`,
  listener: `${prefix}envoy.config.listener.v3.Listener`,
  route: `${prefix}envoy.config.route.v3.RouteConfiguration`,
} as const;

/** Name of a resource that must be ready on a stream before the one that needs it is sent there. */
export interface Need {
  readonly type: TypeUrl;
  readonly name: string;
}

/** By name, then by type. */
export function byNeed(a: Need, b: Need): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.type < b.type ? -1 : a.type > b.type ? 1 : 0;
}

/**
 * A piece of a resource and where it came from, so that a refusal can be laid at the right door. A plain resource
 * has one part, a composite (a RouteConfiguration) one for each unit that its fragments came from.
 */
export interface Part {
  /** Opaque here; for Fairway the key of an object, `Route/default/api`. */
  readonly unit: string;
  /** Opaque here; for Fairway the generation of that object which this part was made from. */
  readonly generation: number;
  /** Content hash of the part. */
  readonly hash: string;
}

/** A stretch of the inner message of a composite: a virtual host of a RouteConfiguration. Immutable, shared by forms. */
export interface Piece {
  /** What it is about: one that is changed has the key of the former. */
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly needs: readonly Need[];
  /** The units that it was made from. */
  readonly units: readonly string[];
}

/** One row of the resource table. Immutable; the bytes are shared by every stream. */
export interface Resource {
  readonly type: TypeUrl;
  readonly name: string;
  /** The whole encoded `envoy.service.discovery.v3.Resource` (name, version, Any). */
  readonly bytes: Uint8Array;
  /** The xDS version: content hash of the inner message, of many pieces that of their hashes. */
  readonly hash: string;
  /** Who gets it: every stream that has this audience. */
  readonly audience: string;
  /** Of a composite all that its pieces need, each once, in the order of {@link byNeed}. */
  readonly needs: readonly Need[];
  /** One for each unit; of several in the order of the units. */
  readonly parts: readonly Part[];
  /** Of a composite: what its inner message is joined from, so that a stretch of it can wait while the rest goes on. */
  readonly pieces?: readonly Piece[];
  /** The names of this resource may be withheld this long after its CDS answer is due (active checks, DNS, TLS). */
  readonly warmupMs?: number;
}

/**
 * What changed in the table at one revision. Structured-clonable: this and {@link Progress} are the only things
 * that cross into and out of this room.
 */
export interface Commit {
  readonly revision: number;
  readonly puts: readonly Resource[];
  readonly removals: readonly { readonly type: TypeUrl; readonly name: string }[];
  /**
   * Which audiences a subject now has; an empty list takes all away. Subjects are `cluster/<node.cluster>` and
   * `node/<node.id>`; a stream has the union of its two subjects' audiences.
   */
  readonly audiences: readonly {
    readonly subject: string;
    readonly audiences: readonly string[];
    /** Drain time of the subject's proxies: so long, what a removed listener used is kept for its connections. */
    readonly drainMs?: number;
  }[];
}

/** Encodes an `envoy.service.discovery.v3.Resource` around the encoded inner message. */
export function encodeResource(name: string, version: string, typeUrl: TypeUrl, value: Uint8Array): Uint8Array {
  return encodeWith((to) => writeResource(to, name, version, typeUrl, () => to.raw(value)));
}

/** A resource as bytes, with its version. */
export interface Composed {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/**
 * The same around an inner message that is written in its place, so that it is held once. The version is the content
 * hash of that message, unless another one of that length is given.
 */
export function composeResource(
  name: string,
  typeUrl: string,
  write: (to: BinaryWriter) => void,
  version?: string,
): Composed {
  const bytes = encodeWith((to) => writeResource(to, name, version ?? versionToCome, typeUrl, write));
  if (version !== undefined) return { bytes, hash: version };
  const hash = contentHash(innerOf(bytes));
  for (let at = 0; at < versionToCome.length; at += 1) bytes[versionAt + at] = hash.charCodeAt(at);
  return { bytes, hash };
}

/** As long as a content hash. */
const versionToCome = ' '.repeat(hashLength);
/** Behind the tag and the length of the first field. */
const versionAt = 2;

function writeResource(
  to: BinaryWriter,
  name: string,
  version: string,
  typeUrl: TypeUrl,
  write: (to: BinaryWriter) => void,
): void {
  to.tag(1, WireType.LengthDelimited).string(version);
  to.tag(2, WireType.LengthDelimited).fork();
  to.tag(1, WireType.LengthDelimited).string(typeUrl);
  to.tag(2, WireType.LengthDelimited).fork();
  write(to);
  to.join().join();
  to.tag(3, WireType.LengthDelimited).string(name);
}

/** The inner message of a resource with a content hash for its version. */
export function innerOf(bytes: Uint8Array): Uint8Array {
  const reader = new BinaryReader(bytes);
  reader.pos = versionAt + versionToCome.length;
  // Into the Any, past the name of its type.
  reader.uint32();
  reader.uint32();
  reader.uint32();
  reader.bytes();
  reader.uint32();
  return reader.bytes();
}
