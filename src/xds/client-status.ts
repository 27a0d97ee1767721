/**
 * Envoy's ClientStatusDiscoveryService: who is connected, what each should have, and what it has, in the form that
 * existing tools ask for. One answer to one request (the service knows no parts of one), made in pieces.
 *
 * Secrets are named with their versions and without their content: this service knows nobody who may see a key.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { err, ok, type Result } from '../lib/result.ts';
import type { ResourceVersions, StreamStatus } from './fleet.ts';
import type { Hub } from './hub.ts';
import { encodeNode, type NodeInfo } from './node-info.ts';
import { each, type Pieces } from './pieces.ts';
import { typeUrls } from './resource.ts';
import { decodeResource, guarded, joinShared, type WireAny } from './wire.ts';

/** `envoy.service.status.v3.ConfigStatus`. */
const configStatus = { synced: 1, notSent: 2, stale: 3, error: 4 } as const;

/** `envoy.admin.v3.ClientResourceStatus`. */
const clientStatus = { requested: 1, doesNotExist: 2, acked: 3, nacked: 4 } as const;

/** What is asked for. */
export interface ClientStatusRequest {
  /** One of them has to match; empty: all nodes. */
  readonly matchers: readonly Matcher[];
  readonly withoutContents: boolean;
  /** An encoded request that says the same, and nothing that is not looked at. At most {@link maxAskedBytes}. */
  readonly asked: Uint8Array;
}

type Matcher = (nodeId: string) => boolean;

/** An encoded `ClientStatusResponse`, in pieces that follow each other. */
export interface ClientStatusAnswer {
  readonly chunks: readonly Uint8Array[];
  readonly sizeBytes: number;
}

export interface ClientStatusOptions {
  /** Nothing is said of nodes with other ids. Default: of all. */
  readonly only?: string | undefined;
  /** An answer may not be larger. */
  readonly maxBytes: number;
}

/** The most that tag and length of a field have in such a request. */
const fieldBytes = 3;

/** Each client is held against all matchers at once, and whoever passes the question on has room for so much. */
const maxAskedBytes = 8 * 1024;

/** Resources written in one piece, and bytes of their contents. */
const perChunk = 64;
const contentPerChunk = 256 * 1024;

/** Pieces that a socket is handed: those of one client may be few bytes. */
const joinBytes = 64 * 1024;

/** Reads an encoded `ClientStatusRequest`; the error says what of it is malformed or cannot be matched by. */
export function readClientStatusRequest(bytes: Uint8Array): Result<ClientStatusRequest, string> {
  const read = guarded(() => readRequest(bytes));
  return read.ok ? read.value : read;
}

/**
 * Answers in pieces: each client is told as it is when its turn comes, and one that comes or goes meanwhile may be told or
 * not. The error says how to ask for less than was too much.
 */
export function* answerClientStatus(
  hub: Hub,
  request: ClientStatusRequest,
  { only, maxBytes }: ClientStatusOptions,
): Pieces<Result<ClientStatusAnswer, string>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  let small: Uint8Array[] = [];
  let smallBytes = 0;
  for (const stream of hub.fleet.streams()) {
    if (!isAsked(stream.node.id, request, only)) continue;
    for (const chunk of yield* clientConfig(hub, stream, request.withoutContents, maxBytes - sizeBytes)) {
      sizeBytes += chunk.byteLength;
      small.push(chunk);
      smallBytes += chunk.byteLength;
      if (smallBytes < joinBytes) continue;
      chunks.push(joinShared({ chunks: small, sizeBytes: smallBytes }));
      small = [];
      smallBytes = 0;
      yield;
    }
    // One that was cut short was too large already.
    if (sizeBytes > maxBytes) return err(clientStatusTooLarge(maxBytes));
    yield;
  }
  chunks.push(joinShared({ chunks: small, sizeBytes: smallBytes }));
  return ok({ chunks, sizeBytes });
}

/**
 * The same of clients of which it is only known that they are connected, elsewhere: a client without any `generic_xds_configs`
 * is one whose status is unknown. Those that are here by now are left out.
 */
export function* nameClients(
  hub: Hub,
  clients: Iterable<Pick<NodeInfo, 'id' | 'cluster'>>,
  request: ClientStatusRequest,
  { only, maxBytes }: ClientStatusOptions,
): Pieces<Result<ClientStatusAnswer, string>> {
  const here = new Set(hub.fleet.streams().map(({ node }) => node.id));
  const writer = new BinaryWriter();
  yield* each(clients, (client) => {
    if (here.has(client.id) || !isAsked(client.id, request, only)) return;
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).bytes(encodeNode(client)).join();
  });
  const bytes = writer.finish();
  const { byteLength: sizeBytes } = bytes;
  return sizeBytes > maxBytes ? err(clientStatusTooLarge(maxBytes)) : ok({ chunks: [bytes], sizeBytes });
}

/** Answers one after another: fields that are repeated go on in the next one. */
export function joinClientStatus(answers: readonly ClientStatusAnswer[]): ClientStatusAnswer {
  return {
    chunks: answers.flatMap(({ chunks }) => chunks),
    sizeBytes: answers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

function isAsked(nodeId: string, { matchers }: ClientStatusRequest, only: string | undefined): boolean {
  if (only !== undefined && nodeId !== only) return false;
  return matchers.length === 0 || matchers.some((matches) => matches(nodeId));
}

/** How to ask for less than was too much. */
export function clientStatusTooLarge(maxBytes: number): string {
  return `the answer is larger than ${maxBytes} bytes: ask for fewer nodes by node_matchers, or with exclude_resource_contents`;
}

/** The field of a response that tells of one client, not much longer than it may be. */
function* clientConfig(
  hub: Hub,
  stream: StreamStatus,
  withoutContents: boolean,
  maxBytes: number,
): Pieces<readonly Uint8Array[]> {
  const refusals = new Map(
    stream.types.flatMap(({ type, rejected }) =>
      rejected.map((refused) => [`${type} ${refused.name}`, refused] as const),
    ),
  );
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  let writer = new BinaryWriter();
  let written = 0;
  let contentBytes = 0;
  const flush = (): void => {
    const chunk = writer.finish();
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    writer = new BinaryWriter();
    written = 0;
    contentBytes = 0;
  };
  writer.tag(1, WireType.LengthDelimited).bytes(encodeNode(stream.node));
  for (const version of (yield* hub.fleet.versions(stream.streamId)) ?? []) {
    const content = withoutContents ? undefined : contentOf(hub, version);
    const refused = refusals.get(`${version.type} ${version.name}`);
    writer.tag(3, WireType.LengthDelimited).bytes(genericConfig(version, refused, content));
    written += 1;
    contentBytes += content?.value.byteLength ?? 0;
    if (written < perChunk && contentBytes < contentPerChunk) continue;
    flush();
    if (sizeBytes > maxBytes) return chunks;
    yield;
  }
  flush();
  const head = new BinaryWriter().tag(1, WireType.LengthDelimited).uint32(sizeBytes).finish();
  return [head, ...chunks];
}

/** What the client has of a resource, as far as it is still known and anybody may see it. */
function contentOf(hub: Hub, { type, name, acked }: ResourceVersions): WireAny | undefined {
  const resource = type === typeUrls.secret ? undefined : hub.table.get(type, name)?.resource;
  if (resource === undefined || resource.hash !== acked) return undefined;
  const inner = decodeResource(resource.bytes);
  return inner.ok ? inner.value : undefined;
}

function genericConfig(
  { type, name, wanted, sent, acked }: ResourceVersions,
  refused: { readonly hash: string; readonly words: string } | undefined,
  content: WireAny | undefined,
): Uint8Array {
  const config = new BinaryWriter();
  config.tag(1, WireType.LengthDelimited).string(type);
  config.tag(2, WireType.LengthDelimited).string(name);
  if (acked !== undefined) config.tag(3, WireType.LengthDelimited).string(acked);
  if (content !== undefined) {
    config.tag(4, WireType.LengthDelimited).fork();
    config.tag(1, WireType.LengthDelimited).string(content.typeUrl);
    config.tag(2, WireType.LengthDelimited).bytes(content.value).join();
  }
  const inStep = wanted !== undefined && wanted === acked;
  const status =
    refused !== undefined
      ? configStatus.error
      : inStep
        ? configStatus.synced
        : sent === undefined
          ? configStatus.notSent
          : configStatus.stale;
  config.tag(6, WireType.Varint).int32(status);
  const known =
    acked !== undefined
      ? clientStatus.acked
      : wanted === undefined
        ? clientStatus.doesNotExist
        : clientStatus.requested;
  config.tag(7, WireType.Varint).int32(refused === undefined ? known : clientStatus.nacked);
  if (refused !== undefined) {
    config.tag(8, WireType.LengthDelimited).fork();
    config.tag(3, WireType.LengthDelimited).string(refused.words);
    config.tag(4, WireType.LengthDelimited).string(refused.hash).join();
  }
  return config.finish();
}

/** `ClientStatusRequest`. */
function readRequest(bytes: Uint8Array): Result<ClientStatusRequest, string> {
  const reader = new BinaryReader(bytes);
  const matchers: Matcher[] = [];
  const asked = new BinaryWriter();
  let askedBytes = fieldBytes;
  let withoutContents = false;
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) {
      const given = reader.bytes();
      askedBytes += given.byteLength + fieldBytes;
      if (askedBytes > maxAskedBytes) {
        return err(`node_matchers have more than ${maxAskedBytes} bytes: match by prefix, or ask more than once`);
      }
      const matcher = readNodeMatcher(given);
      if (!matcher.ok) return matcher;
      matchers.push(matcher.value);
      asked.tag(1, WireType.LengthDelimited).bytes(given);
    } else if (field === 3) withoutContents = reader.bool();
    else reader.skip(wire, field);
  }
  asked.tag(3, WireType.Varint).bool(withoutContents);
  return ok({ matchers, withoutContents, asked: asked.finish() });
}

/** `envoy.type.matcher.v3.NodeMatcher`; only by id. */
function readNodeMatcher(bytes: Uint8Array): Result<Matcher, string> {
  const reader = new BinaryReader(bytes);
  let matcher: Matcher = () => true;
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 2) return err('node_matchers.node_metadatas is not supported: match by node_id');
    if (field === 1) {
      const read = readStringMatcher(reader.bytes());
      if (!read.ok) return read;
      matcher = read.value;
    } else reader.skip(wire, field);
  }
  return ok(matcher);
}

/** `envoy.type.matcher.v3.StringMatcher`. */
function readStringMatcher(bytes: Uint8Array): Result<Matcher, string> {
  const reader = new BinaryReader(bytes);
  let matches: ((text: string, pattern: string) => boolean) | undefined;
  let pattern = '';
  let anyCase = false;
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    const kind = stringMatches[field];
    if (kind !== undefined) {
      matches = kind;
      pattern = reader.string(true);
    } else if (field === 6) anyCase = reader.bool();
    else if (field === 5 || field === 8)
      return err('node_matchers.node_id: match by exact, prefix, suffix or contains');
    else reader.skip(wire, field);
  }
  if (matches === undefined) return err('node_matchers.node_id names nothing to match');
  const matching = matches;
  const fold = (text: string): string => (anyCase ? text.toLowerCase() : text);
  return ok((nodeId) => matching(fold(nodeId), fold(pattern)));
}

const stringMatches: Readonly<Record<number, (text: string, pattern: string) => boolean>> = {
  1: (text, pattern) => text === pattern,
  2: (text, pattern) => text.startsWith(pattern),
  3: (text, pattern) => text.endsWith(pattern),
  7: (text, pattern) => text.includes(pattern),
};
