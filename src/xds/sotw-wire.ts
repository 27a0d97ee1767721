/** Hand codec of the state-of-the-world messages of `envoy/service/discovery/v3/discovery.proto`. */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { InvariantError } from '../lib/errors.ts';
import type { Result } from '../lib/result.ts';
import { type NodeInfo, readNode } from './node-info.ts';
import { bytesPerPiece, finish, type Pieces } from './pieces.ts';
import { type DeltaRequest, guarded, readAny, readOneString, readStatus, type WireAny } from './wire.ts';

/** What the server reads of a `DiscoveryRequest`. */
export interface SotwRequest {
  readonly node: NodeInfo | undefined;
  readonly typeUrl: string;
  /** All names that the client wants now, not only new ones. */
  readonly names: readonly string[];
  /** Version of the last response that the client accepted, on an earlier stream maybe; empty when it has none. */
  readonly version: string;
  readonly nonce: string;
  /** Present exactly when `error_detail` is, and then the request is a NACK (rule 7). */
  readonly error: DeltaRequest['error'];
}

/** What a client writes; everything but the type may be left out. */
export type SotwRequestInit = Partial<Omit<SotwRequest, 'node' | 'typeUrl'>> & {
  readonly typeUrl: string;
  /** An encoded `envoy.config.core.v3.Node`. */
  readonly node?: Uint8Array;
};

/** Reads a request. Anything that is not a well-formed message is an error text, never a throw. */
export function decodeSotwRequest(bytes: Uint8Array): Result<SotwRequest, string> {
  return guarded(() => finish(readSotwRequest(bytes)));
}

/** Reads a request in pieces; throws on what is not a well-formed message. */
export function* readSotwRequest(bytes: Uint8Array): Pieces<SotwRequest> {
  const reader = new BinaryReader(bytes);
  const names: string[] = [];
  let node: NodeInfo | undefined;
  let error: SotwRequest['error'];
  let version = '';
  let typeUrl = '';
  let nonce = '';
  let pauseAt = bytesPerPiece;
  while (reader.pos < reader.len) {
    if (reader.pos >= pauseAt) {
      yield;
      pauseAt = reader.pos + bytesPerPiece;
    }
    const [field, wire] = reader.tag();
    if (wire !== WireType.LengthDelimited) reader.skip(wire, field);
    else if (field === 1) version = reader.string(true);
    else if (field === 2) node = readNode(reader.bytes());
    else if (field === 3) names.push(reader.string(true));
    else if (field === 4) typeUrl = reader.string(true);
    else if (field === 5) nonce = reader.string(true);
    else if (field === 6) error = readStatus(reader.bytes());
    else reader.skip(wire, field);
  }
  return { node, typeUrl, names, version, nonce, error };
}

/** Writes a request, as a client of the server does. */
export function encodeSotwRequest(request: SotwRequestInit): Uint8Array {
  const writer = new BinaryWriter();
  if (request.version) writer.tag(1, WireType.LengthDelimited).string(request.version);
  if (request.node !== undefined) writer.tag(2, WireType.LengthDelimited).bytes(request.node);
  for (const name of request.names ?? []) writer.tag(3, WireType.LengthDelimited).string(name);
  writer.tag(4, WireType.LengthDelimited).string(request.typeUrl);
  if (request.nonce) writer.tag(5, WireType.LengthDelimited).string(request.nonce);
  if (request.error !== undefined) {
    writer.tag(6, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.Varint).int32(request.error.code);
    writer.tag(2, WireType.LengthDelimited).string(request.error.message).join();
  }
  return writer.finish();
}

const anyFields = new WeakMap<Uint8Array, Uint8Array>();

/**
 * The `Any` of an encoded `Resource` with its tag and length, as a view of the same memory. It is field 2 in a
 * `Resource` as in a `DiscoveryResponse`, so these bytes are all that a response needs. Throws on bytes that hold none.
 */
export function anyField(resource: Uint8Array): Uint8Array {
  const known = anyFields.get(resource);
  if (known !== undefined) return known;
  const reader = new BinaryReader(resource);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wire] = reader.tag();
    reader.skip(wire, field);
    if (field !== 2) continue;
    const found = resource.subarray(start, reader.pos);
    anyFields.set(resource, found);
    return found;
  }
  throw new InvariantError('a resource of the table holds no message');
}

/** What a client reads of a `DiscoveryResponse`. */
export interface SotwResponse {
  readonly version: string;
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly WireAny[];
  readonly controlPlane: string;
}

/** Reads a response, for clients. The resources' values are views of `bytes`. */
export function decodeSotwResponse(bytes: Uint8Array): Result<SotwResponse, string> {
  return guarded(() => {
    const reader = new BinaryReader(bytes);
    const resources: WireAny[] = [];
    let version = '';
    let typeUrl = '';
    let nonce = '';
    let controlPlane = '';
    while (reader.pos < reader.len) {
      const [field, wire] = reader.tag();
      if (field === 1) version = reader.string(true);
      else if (field === 2) resources.push(readAny(reader.bytes()));
      else if (field === 4) typeUrl = reader.string(true);
      else if (field === 5) nonce = reader.string(true);
      else if (field === 6) controlPlane = readOneString(reader.bytes(), 1);
      else reader.skip(wire, field);
    }
    return { version, typeUrl, nonce, resources, controlPlane };
  });
}
