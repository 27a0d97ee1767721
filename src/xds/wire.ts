/**
 * Hand codec of the delta messages of `envoy/service/discovery/v3/discovery.proto`; those of state-of-the-world are in
 * `sotw-wire.ts`.
 *
 * Generated code would build an object for each of the hundreds of extensions that every Envoy lists in its node
 * (61 kB on every new stream) and would encode each resource again for every stream. Here a request is read field by
 * field, skipping what nobody asks for, and a response is a list of shared chunks: a resource's bytes are framed,
 * never copied or re-encoded, until the transport joins them.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { err, ok, type Result } from '../lib/result.ts';
import { type NodeInfo, readNode } from './node-info.ts';
import { bytesPerPiece, finish, type Pieces } from './pieces.ts';

/** Which of the two aggregated protocols a stream speaks: delta, or state-of-the-world. */
export type Protocol = 'delta' | 'sotw';

/** What the server reads of a `DeltaDiscoveryRequest`. */
export interface DeltaRequest {
  readonly node: NodeInfo | undefined;
  readonly typeUrl: string;
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Name → version that the client holds; sent in the first request of a type on a stream. */
  readonly initialVersions: ReadonlyMap<string, string>;
  /** Empty when the request answers nothing. */
  readonly nonce: string;
  /** Present exactly when `error_detail` is, and then the request is a NACK (rule 7). */
  readonly error: { readonly code: number; readonly message: string } | undefined;
}

/** What a client writes; everything but the type may be left out. */
export type DeltaRequestInit = Partial<Omit<DeltaRequest, 'node' | 'typeUrl'>> & {
  readonly typeUrl: string;
  /** An encoded `envoy.config.core.v3.Node`. */
  readonly node?: Uint8Array;
};

/** Reads a request. Anything that is not a well-formed message is an error text, never a throw. */
export function decodeDeltaRequest(bytes: Uint8Array): Result<DeltaRequest, string> {
  return guarded(() => finish(readDeltaRequest(bytes)));
}

/** Reads a request in pieces; throws on what is not a well-formed message. */
export function* readDeltaRequest(bytes: Uint8Array): Pieces<DeltaRequest> {
  const reader = new BinaryReader(bytes);
  const subscribe: string[] = [];
  const unsubscribe: string[] = [];
  const initialVersions = new Map<string, string>();
  let node: NodeInfo | undefined;
  let error: DeltaRequest['error'];
  let typeUrl = '';
  let nonce = '';
  let pauseAt = bytesPerPiece;
  while (reader.pos < reader.len) {
    if (reader.pos >= pauseAt) {
      yield;
      pauseAt = reader.pos + bytesPerPiece;
    }
    const [field, wire] = reader.tag();
    if (wire !== WireType.LengthDelimited) {
      reader.skip(wire, field);
      continue;
    }
    if (field === 1) node = readNode(reader.bytes());
    else if (field === 2) typeUrl = reader.string(true);
    else if (field === 3) subscribe.push(reader.string(true));
    else if (field === 4) unsubscribe.push(reader.string(true));
    else if (field === 5) {
      const [name, version] = readStringPair(reader.bytes());
      initialVersions.set(name, version);
    } else if (field === 6) nonce = reader.string(true);
    else if (field === 7) error = readStatus(reader.bytes());
    else reader.skip(wire, field);
  }
  return { node, typeUrl, subscribe, unsubscribe, initialVersions, nonce, error };
}

/** Writes a request, as a client of the server does. */
export function encodeDeltaRequest(request: DeltaRequestInit): Uint8Array {
  const writer = new BinaryWriter();
  if (request.node !== undefined) writer.tag(1, WireType.LengthDelimited).bytes(request.node);
  writer.tag(2, WireType.LengthDelimited).string(request.typeUrl);
  for (const name of request.subscribe ?? []) writer.tag(3, WireType.LengthDelimited).string(name);
  for (const name of request.unsubscribe ?? []) writer.tag(4, WireType.LengthDelimited).string(name);
  for (const [name, version] of request.initialVersions ?? []) {
    writer.tag(5, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(name).tag(2, WireType.LengthDelimited).string(version).join();
  }
  if (request.nonce) writer.tag(6, WireType.LengthDelimited).string(request.nonce);
  if (request.error !== undefined) {
    writer.tag(7, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.Varint).int32(request.error.code);
    writer.tag(2, WireType.LengthDelimited).string(request.error.message).join();
  }
  return writer.finish();
}

/** Field tag and length that stand before a resource's bytes in a response; made once for each form of a resource. */
export function resourceHead(sizeBytes: number): Uint8Array {
  return new BinaryWriter().tag(2, WireType.LengthDelimited).uint32(sizeBytes).finish();
}

/** One response as chunks in the order in which they go out; most of them are shared by all streams. */
export interface Frame {
  readonly chunks: readonly Uint8Array[];
  readonly sizeBytes: number;
}

/**
 * What the responses of a type at one revision have in common; made once for all streams. The two kinds of response
 * have the same fields under the same numbers, but for the control plane.
 */
export function responseHead(
  head: { readonly typeUrl: string; readonly systemVersion: string; readonly controlPlane: string },
  protocol: Protocol = 'delta',
): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(head.systemVersion);
  writer.tag(4, WireType.LengthDelimited).string(head.typeUrl);
  writer.tag(protocol === 'delta' ? 7 : 6, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(head.controlPlane).join();
  return writer.finish();
}

/**
 * Builds a response from its common head, the framed bytes of its resources and what is its own; only delta has a
 * list of removed names.
 * `nonce` is ASCII and shorter than 128 characters.
 */
export function frameResponse(
  head: Uint8Array,
  own: { readonly nonce: string; readonly removed: readonly string[] },
  resources: readonly Uint8Array[],
): Frame {
  const chunks = [head, nonceField(own.nonce), ...resources];
  if (own.removed.length > 0) {
    const writer = new BinaryWriter();
    for (const name of own.removed) writer.tag(6, WireType.LengthDelimited).string(name);
    chunks.push(writer.finish());
  }
  let sizeBytes = 0;
  for (const chunk of chunks) sizeBytes += chunk.byteLength;
  return { chunks, sizeBytes };
}

/** By hand, because it is all that most responses have of their own: a writer would cost more than the rest of them. */
function nonceField(nonce: string): Uint8Array {
  const bytes = new Uint8Array(2 + nonce.length);
  bytes[0] = (5 << 3) | WireType.LengthDelimited;
  bytes[1] = nonce.length;
  for (let at = 0; at < nonce.length; at++) bytes[2 + at] = nonce.charCodeAt(at);
  return bytes;
}

/** The frame as one piece of memory, for a transport that wants it so. */
export function joinFrame({ chunks, sizeBytes }: Frame): Uint8Array<ArrayBuffer> {
  return joinInto(new Uint8Array(sizeBytes), chunks);
}

/** The same in memory that threads share: it can be handed to the one that has the sockets as it is. */
export function joinShared({ chunks, sizeBytes }: Frame): Uint8Array {
  return joinInto(new Uint8Array(new SharedArrayBuffer(sizeBytes)), chunks);
}

function joinInto<B extends Uint8Array>(bytes: B, chunks: readonly Uint8Array[]): B {
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** What a client reads of a resource; `value` is the encoded inner message of type `typeUrl`. */
export interface WireResource {
  readonly name: string;
  readonly version: string;
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** What a client reads of a `DeltaDiscoveryResponse`. */
export interface DeltaResponse {
  readonly systemVersion: string;
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly WireResource[];
  readonly removed: readonly string[];
  readonly controlPlane: string;
}

/** Reads a response, for clients. The resources' values are views of `bytes`. */
export function decodeDeltaResponse(bytes: Uint8Array): Result<DeltaResponse, string> {
  return guarded(() => {
    const reader = new BinaryReader(bytes);
    const resources: WireResource[] = [];
    const removed: string[] = [];
    let systemVersion = '';
    let typeUrl = '';
    let nonce = '';
    let controlPlane = '';
    while (reader.pos < reader.len) {
      const [field, wire] = reader.tag();
      if (field === 1) systemVersion = reader.string(true);
      else if (field === 2) resources.push(readResource(reader.bytes()));
      else if (field === 4) typeUrl = reader.string(true);
      else if (field === 5) nonce = reader.string(true);
      else if (field === 6) removed.push(reader.string(true));
      else if (field === 7) controlPlane = readOneString(reader.bytes(), 1);
      else reader.skip(wire, field);
    }
    return { systemVersion, typeUrl, nonce, resources, removed, controlPlane };
  });
}

/** Reads an `envoy.service.discovery.v3.Resource`. */
export function decodeResource(bytes: Uint8Array): Result<WireResource, string> {
  return guarded(() => readResource(bytes));
}

function readResource(bytes: Uint8Array): WireResource {
  const reader = new BinaryReader(bytes);
  let name = '';
  let version = '';
  let any: WireAny = { typeUrl: '', value: new Uint8Array() };
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) version = reader.string(true);
    else if (field === 2) any = readAny(reader.bytes());
    else if (field === 3) name = reader.string(true);
    else reader.skip(wire, field);
  }
  return { name, version, ...any };
}

/** A `google.protobuf.Any` as it stands in a response. */
export interface WireAny {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

export function readAny(bytes: Uint8Array): WireAny {
  const reader = new BinaryReader(bytes);
  let typeUrl = '';
  let value: Uint8Array = new Uint8Array();
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) typeUrl = reader.string(true);
    else if (field === 2) value = reader.bytes();
    else reader.skip(wire, field);
  }
  return { typeUrl, value };
}

function readStringPair(bytes: Uint8Array): [string, string] {
  const reader = new BinaryReader(bytes);
  let key = '';
  let value = '';
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) key = reader.string(true);
    else if (field === 2) value = reader.string(true);
    else reader.skip(wire, field);
  }
  return [key, value];
}

export function readStatus(bytes: Uint8Array): { code: number; message: string } {
  const reader = new BinaryReader(bytes);
  let code = 0;
  let message = '';
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) code = reader.int32();
    // Envoy's words are for people: a bad character in them is no reason to lose the refusal.
    else if (field === 2) message = reader.string();
    else reader.skip(wire, field);
  }
  return { code, message };
}

export function readOneString(bytes: Uint8Array, wanted: number): string {
  const reader = new BinaryReader(bytes);
  let text = '';
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === wanted) text = reader.string(true);
    else reader.skip(wire, field);
  }
  return text;
}

/** The reader throws on malformed input; at this edge that becomes a value. */
export function guarded<T>(read: () => T): Result<T, string> {
  try {
    return ok(read());
  } catch (cause) {
    return err(cause instanceof Error ? cause.message : 'malformed message');
  }
}
