/**
 * Envoy's ClientStatusDiscoveryService: who is connected, what each should have, and what it has, in the form that
 * existing tools ask for. One answer to one request, made from the hub as it stands.
 *
 * Secrets are named with their versions and without their content: this service knows nobody who may see a key.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { err, ok, type Result } from '../lib/result.ts';
import type { ResourceVersions, StreamStatus } from './fleet.ts';
import type { Hub } from './hub.ts';
import { encodeNode } from './node-info.ts';
import { typeUrls } from './resource.ts';
import { decodeResource, guarded } from './wire.ts';

/** `envoy.service.status.v3.ConfigStatus`. */
const configStatus = { synced: 1, notSent: 2, stale: 3, error: 4 } as const;

/** `envoy.admin.v3.ClientResourceStatus`. */
const clientStatus = { requested: 1, doesNotExist: 2, acked: 3, nacked: 4 } as const;

interface Request {
  readonly matchers: readonly Matcher[];
  readonly withoutContents: boolean;
}

type Matcher = (nodeId: string) => boolean;

/**
 * Answers an encoded `ClientStatusRequest` with an encoded `ClientStatusResponse`. The error says what of the request
 * is malformed or cannot be matched by. With `only`, nothing is said of other nodes.
 */
export function answerClientStatus(hub: Hub, request: Uint8Array, only?: string): Result<Uint8Array, string> {
  const read = guarded(() => readRequest(request));
  if (!read.ok) return read;
  if (!read.value.ok) return read.value;
  const { matchers, withoutContents } = read.value.value;
  const response = new BinaryWriter();
  for (const stream of hub.fleet.streams()) {
    if (only !== undefined && stream.node.id !== only) continue;
    if (matchers.length > 0 && !matchers.some((matches) => matches(stream.node.id))) continue;
    response.tag(1, WireType.LengthDelimited).bytes(clientConfig(hub, stream, withoutContents));
  }
  return ok(response.finish());
}

function clientConfig(hub: Hub, stream: StreamStatus, withoutContents: boolean): Uint8Array {
  const refusals = new Map(
    stream.types.flatMap(({ type, rejected }) =>
      rejected.map((refused) => [`${type} ${refused.name}`, refused] as const),
    ),
  );
  const config = new BinaryWriter();
  config.tag(1, WireType.LengthDelimited).bytes(encodeNode(stream.node));
  for (const version of hub.fleet.versions(stream.streamId) ?? []) {
    const refused = refusals.get(`${version.type} ${version.name}`);
    config.tag(3, WireType.LengthDelimited).bytes(genericConfig(hub, version, refused, withoutContents));
  }
  return config.finish();
}

function genericConfig(
  hub: Hub,
  { type, name, wanted, sent, acked }: ResourceVersions,
  refused: { readonly hash: string; readonly words: string } | undefined,
  withoutContents: boolean,
): Uint8Array {
  const config = new BinaryWriter();
  config.tag(1, WireType.LengthDelimited).string(type);
  config.tag(2, WireType.LengthDelimited).string(name);
  if (acked !== undefined) config.tag(3, WireType.LengthDelimited).string(acked);
  const resource = hub.table.get(type, name)?.resource;
  if (!withoutContents && type !== typeUrls.secret && resource !== undefined && resource.hash === acked) {
    const inner = decodeResource(resource.bytes);
    if (inner.ok) {
      config.tag(4, WireType.LengthDelimited).fork();
      config.tag(1, WireType.LengthDelimited).string(inner.value.typeUrl);
      config.tag(2, WireType.LengthDelimited).bytes(inner.value.value).join();
    }
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
function readRequest(bytes: Uint8Array): Result<Request, string> {
  const reader = new BinaryReader(bytes);
  const matchers: Matcher[] = [];
  let withoutContents = false;
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 1) {
      const matcher = readNodeMatcher(reader.bytes());
      if (!matcher.ok) return matcher;
      matchers.push(matcher.value);
    } else if (field === 3) withoutContents = reader.bool();
    else reader.skip(wire, field);
  }
  return ok({ matchers, withoutContents });
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
