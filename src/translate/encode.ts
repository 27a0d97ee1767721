/**
 * From messages to bytes: the only caller of protobuf's encoder, so that equal content is equal bytes everywhere. The
 * encoder writes map entries in the order of insertion; here they are put in order first.
 */
import { create, type DescMessage, fromBinary, isMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';
import { encodeWith } from '../lib/encode-with.ts';
import type { Need, Part, Piece, Resource, TypeUrl } from '../xds/index.ts';
import { composePieces, composeResource } from '../xds/index.ts';

/** For tests: changes a message before it is encoded, to make what no object can say. */
export type RawPatch = (typeUrl: TypeUrl, name: string, message: Record<string, unknown>) => void;

/** What a resource is made of, besides its content. */
export interface Outline {
  readonly type: TypeUrl;
  readonly name: string;
  readonly audience: string;
  readonly needs?: readonly Need[];
  readonly warmupMs?: number;
}

/** Of a resource that is joined from pieces. */
export interface JoinedOutline extends Outline {
  /** What the message is joined from, in this order. */
  readonly pieces: readonly Piece[];
  /** The resource as it was, which shares most of the pieces. */
  readonly former: Resource | undefined;
}

/** The object that a resource, or a part of it, came from. */
export interface Origin {
  readonly unit: string;
  readonly generation: number;
}

/** Writes the bytes of a message. */
export type Write = (to: BinaryWriter) => void;

/** Written out: a spread makes an object of twice the size, and there are several for each object in the world. */
export function partOf({ unit, generation }: Origin, hash: string): Part {
  return { unit, generation, hash };
}

/** Makes resources; there is one per translation. */
export interface Encoder {
  /** A resource that came from one object; `schema` is of the message that `write` writes. */
  plain(outline: Outline, origin: Origin, schema: DescMessage, write: Write): Resource;
  /** A resource with several parts. */
  composite(outline: Outline, parts: readonly Part[], schema: DescMessage, write: Write): Resource;
  /** The same where each part has written its pieces. */
  joined(outline: JoinedOutline, parts: readonly Part[], schema: DescMessage): Resource;
}

export function createEncoder(patch: RawPatch | undefined): Encoder {
  function patched({ type, name }: Outline, schema: DescMessage, write: Write): Write {
    if (patch === undefined) return write;
    const message = fromBinary(schema, encodeWith(write));
    patch(type, name, message as unknown as Record<string, unknown>);
    return whole(schema, message);
  }
  const composite: Encoder['composite'] = (outline, parts, schema, write) => {
    const composed = composeResource(outline.name, outline.type, patched(outline, schema, write));
    return resourceOf(outline, composed, parts);
  };
  return {
    plain(outline, origin, schema, write) {
      const composed = composeResource(outline.name, outline.type, patched(outline, schema, write));
      return resourceOf(outline, composed, [partOf(origin, composed.hash)]);
    },
    composite,
    joined(outline, parts, schema) {
      const { type, name, pieces, former } = outline;
      if (patch === undefined) {
        return { ...resourceOf(outline, composePieces(name, type, pieces, former), parts), pieces };
      }
      // What was patched is not what the pieces say.
      return composite(outline, parts, schema, (to) => {
        for (const { bytes } of pieces) to.raw(bytes);
      });
    },
  };
}

function resourceOf(
  { type, name, audience, needs = nothing, warmupMs }: Outline,
  { bytes, hash }: Pick<Resource, 'bytes' | 'hash'>,
  parts: readonly Part[],
): Resource {
  const made = { type, name, bytes, hash, audience, needs, parts };
  return warmupMs === undefined ? made : { ...made, warmupMs };
}

const nothing: readonly Need[] = [];

/** Whether two resources are one for everybody: to be sent, to be ordered and to be laid at somebody's door. */
export function sameResource(a: Resource, b: Resource): boolean {
  return (
    a.hash === b.hash &&
    a.audience === b.audience &&
    a.warmupMs === b.warmupMs &&
    sameList(a.needs, b.needs, (x, y) => x.name === y.name && x.type === y.type) &&
    sameList(a.parts, b.parts, samePart)
  );
}

export function samePart(a: Part, b: Part): boolean {
  return a.hash === b.hash && a.unit === b.unit && a.generation === b.generation;
}

export function sameList<T>(a: readonly T[], b: readonly T[], same: (x: T, y: T) => boolean): boolean {
  return a === b || (a.length === b.length && a.every((x, i) => same(x, b[i] as T)));
}

/** The bytes of a message; equal messages give equal bytes. */
export function encode<D extends DescMessage>(schema: D, message: MessageShape<D>): Uint8Array {
  orderMaps(schema, message as unknown as Fields);
  return toBinary(schema, message);
}

/** Writes a message that is there as a whole. */
export function whole<D extends DescMessage>(schema: D, message: MessageShape<D>): Write {
  return (to) => to.raw(encode(schema, message));
}

/** The message inside an `Any`, as typed configuration of extensions wants it. */
export function pack<D extends DescMessage>(schema: D, message: MessageShape<D>): Any {
  return create(AnySchema, { typeUrl: `type.googleapis.com/${schema.typeName}`, value: encode(schema, message) });
}

type Fields = Record<string, unknown>;

function orderMaps(desc: DescMessage, message: Fields): void {
  if (!mayHoldMap(desc)) return;
  for (const field of desc.fields) {
    const holder = field.oneof === undefined ? message : (message[field.oneof.localName] as Fields);
    if (field.oneof !== undefined && holder['case'] !== field.localName) continue;
    const name = field.oneof === undefined ? field.localName : 'value';
    const value = holder[name];
    if (value === undefined || value === null) continue;
    const { message: inner } = field;
    if (field.fieldKind === 'map') {
      const entries = inOrder(value as Fields);
      holder[name] = Object.fromEntries(
        inner === undefined ? entries : entries.map(([key, item]) => [key, orderItem(inner, item)]),
      );
    } else if (inner !== undefined) {
      holder[name] = Array.isArray(value) ? value.map((item) => orderItem(inner, item)) : orderItem(inner, value);
    }
  }
}

/** A field's value in order. Wrappers (BoolValue and so on) and Structs stand there as plain values, not as messages. */
function orderItem(desc: DescMessage, item: unknown): unknown {
  if (isMessage(item)) orderMaps(desc, item as unknown as Fields);
  else if (desc.typeName === 'google.protobuf.Struct') return orderJson(item);
  return item;
}

function orderJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(orderJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(inOrder(value as Fields).map(([key, item]) => [key, orderJson(item)]));
}

function inOrder(fields: Fields): [string, unknown][] {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
}

const holdsMap = new Map<DescMessage, boolean>();

/** Whether a message of this type can have a map anywhere below it. */
function mayHoldMap(desc: DescMessage): boolean {
  const known = holdsMap.get(desc);
  if (known !== undefined) return known;
  const seen = new Set<DescMessage>();
  const queue = [desc];
  let found = false;
  for (let next = queue.pop(); next !== undefined && !found; next = queue.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    for (const field of next.fields) {
      if (field.fieldKind === 'map') found = true;
      else if (field.message !== undefined) queue.push(field.message);
    }
  }
  holdsMap.set(desc, found);
  return found;
}
