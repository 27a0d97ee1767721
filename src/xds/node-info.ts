/**
 * What is kept of the `envoy.config.core.v3.Node` that a client sends in the first request of a stream. Of Envoy's
 * 61 kB nearly all is the list of extensions, which is skipped without being decoded.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A value of `google.protobuf.Struct`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface NodeInfo {
  readonly id: string;
  readonly cluster: string;
  readonly locality: { readonly region: string; readonly zone: string; readonly subZone: string };
  readonly metadata: { readonly [key: string]: Json };
  /** `envoy` for Envoy. */
  readonly userAgent: string;
  /** Release of the user agent, `1.40.0`; empty when the client does not say. */
  readonly version: string;
  readonly clientFeatures: readonly string[];
}

/**
 * Metadata stays in memory as long as the stream, so a client must not be able to park megabytes there; larger
 * metadata is dropped and the node is served all the same.
 */
const maxMetadataBytes = 64 * 1024;

/** Struct values nest; deeper than this is an attack and not a configuration. */
const maxDepth = 64;

/** Reads a node; throws on malformed bytes, as the reader does. */
export function readNode(bytes: Uint8Array): NodeInfo {
  const reader = new BinaryReader(bytes);
  const clientFeatures: string[] = [];
  let id = '';
  let cluster = '';
  let locality = { region: '', zone: '', subZone: '' };
  let metadata: NodeInfo['metadata'] = {};
  let userAgent = '';
  let version = '';
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (wire !== WireType.LengthDelimited) reader.skip(wire, field);
    else if (field === 1) id = reader.string(true);
    else if (field === 2) cluster = reader.string(true);
    else if (field === 3) {
      const struct = reader.bytes();
      if (struct.byteLength <= maxMetadataBytes) metadata = readStruct(struct, maxDepth);
    } else if (field === 4) locality = readLocality(reader.bytes());
    else if (field === 6) userAgent = reader.string(true);
    else if (field === 7) version = reader.string(true);
    else if (field === 8) version = readBuildVersion(reader.bytes());
    else if (field === 10) clientFeatures.push(reader.string(true));
    else reader.skip(wire, field);
  }
  return { id, cluster, locality, metadata, userAgent, version, clientFeatures };
}

/** Writes a node, as a client does in its first request. */
export function encodeNode(node: Partial<NodeInfo> & { readonly id: string }): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(node.id);
  if (node.cluster) writer.tag(2, WireType.LengthDelimited).string(node.cluster);
  if (node.metadata && Object.keys(node.metadata).length > 0) {
    writer.tag(3, WireType.LengthDelimited).bytes(encodeStruct(node.metadata));
  }
  if (node.locality) {
    writer.tag(4, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(node.locality.region);
    writer.tag(2, WireType.LengthDelimited).string(node.locality.zone);
    writer.tag(3, WireType.LengthDelimited).string(node.locality.subZone).join();
  }
  if (node.userAgent) writer.tag(6, WireType.LengthDelimited).string(node.userAgent);
  if (node.version) writer.tag(7, WireType.LengthDelimited).string(node.version);
  for (const feature of node.clientFeatures ?? []) writer.tag(10, WireType.LengthDelimited).string(feature);
  return writer.finish();
}

function readLocality(bytes: Uint8Array): NodeInfo['locality'] {
  const reader = new BinaryReader(bytes);
  let region = '';
  let zone = '';
  let subZone = '';
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) region = reader.string(true);
    else if (field === 2) zone = reader.string(true);
    else if (field === 3) subZone = reader.string(true);
    else reader.skip(wire, field);
  }
  return { region, zone, subZone };
}

/** `BuildVersion { SemanticVersion version = 1 }` as `major.minor.patch`. */
function readBuildVersion(bytes: Uint8Array): string {
  const reader = new BinaryReader(bytes);
  const numbers = [0, 0, 0];
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field !== 1) {
      reader.skip(wire, field);
      continue;
    }
    const semantic = new BinaryReader(reader.bytes());
    while (semantic.pos < semantic.len) {
      const [part, partWire] = semantic.tag();
      if (part >= 1 && part <= 3) numbers[part - 1] = semantic.uint32();
      else semantic.skip(partWire, part);
    }
  }
  return numbers.join('.');
}

function readStruct(bytes: Uint8Array, depth: number): { readonly [key: string]: Json } {
  if (depth === 0) throw new RangeError('metadata nests too deep');
  const reader = new BinaryReader(bytes);
  const entries: [string, Json][] = [];
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field !== 1) {
      reader.skip(wire, field);
      continue;
    }
    const entry = new BinaryReader(reader.bytes());
    let key = '';
    let value: Json = null;
    while (entry.pos < entry.len) {
      const [part, partWire] = entry.tag();
      if (part === 1) key = entry.string(true);
      else if (part === 2) value = readValue(entry.bytes(), depth - 1);
      else entry.skip(partWire, part);
    }
    entries.push([key, value]);
  }
  // fromEntries defines own properties, so a key `__proto__` stays a key.
  return Object.fromEntries(entries);
}

function readValue(bytes: Uint8Array, depth: number): Json {
  if (depth === 0) throw new RangeError('metadata nests too deep');
  const reader = new BinaryReader(bytes);
  let value: Json = null;
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) {
      reader.skip(wire, field);
      value = null;
    } else if (field === 2) value = reader.double();
    else if (field === 3) value = reader.string(true);
    else if (field === 4) value = reader.bool();
    else if (field === 5) value = readStruct(reader.bytes(), depth - 1);
    else if (field === 6) {
      const list = new BinaryReader(reader.bytes());
      const items: Json[] = [];
      while (list.pos < list.len) {
        const [part, partWire] = list.tag();
        if (part === 1) items.push(readValue(list.bytes(), depth - 1));
        else list.skip(partWire, part);
      }
      value = items;
    } else reader.skip(wire, field);
  }
  return value;
}

function encodeStruct(struct: { readonly [key: string]: Json }): Uint8Array {
  const writer = new BinaryWriter();
  for (const [key, value] of Object.entries(struct)) {
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    writer.tag(2, WireType.LengthDelimited).bytes(encodeValue(value)).join();
  }
  return writer.finish();
}

function encodeValue(value: Json): Uint8Array {
  const writer = new BinaryWriter();
  if (value === null) writer.tag(1, WireType.Varint).int32(0);
  else if (typeof value === 'number') writer.tag(2, WireType.Bit64).double(value);
  else if (typeof value === 'string') writer.tag(3, WireType.LengthDelimited).string(value);
  else if (typeof value === 'boolean') writer.tag(4, WireType.Varint).bool(value);
  else if (isList(value)) {
    writer.tag(6, WireType.LengthDelimited).fork();
    for (const item of value) writer.tag(1, WireType.LengthDelimited).bytes(encodeValue(item));
    writer.join();
  } else writer.tag(5, WireType.LengthDelimited).bytes(encodeStruct(value));
  return writer.finish();
}

function isList(value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] {
  return Array.isArray(value);
}
