/**
 * Resources that are joined from pieces. Two forms of one that follow each other have nearly all of them in common, at the
 * beginning and at the end: what is asked of both, or made of one for the other, looks at the stretch between.
 */
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Differing, differing } from '../lib/differing.ts';
import { contentHash, hashLength } from '../lib/hash.ts';
import type { Form } from './forms.ts';
import { OfPair } from './of-pair.ts';
import { type Composed, composeResource, innerOf, type Piece, type Resource, type TypeUrl } from './resource.ts';

/** A resource that has pieces. */
export type Composite = Resource & { readonly pieces: readonly Piece[] };

export function isComposite(form: Form): form is Composite {
  return 'pieces' in form && form.pieces !== undefined;
}

const compared = new OfPair<readonly Piece[], readonly Piece[], Differing>();

/** Where the pieces of a resource are others than those of `base`. */
export function differingPieces({ pieces }: Composite, base: Composite): Differing {
  return compared.get(pieces, base.pieces, () => differing(pieces, base.pieces));
}

/**
 * The same as {@link composeResource} for an inner message that is joined from pieces. Of many, the version is the hash
 * of the hashes of all pieces, and those that `former` has as well are copied from there in two long stretches: one piece
 * of thousands that changes is hashed, and not all of them. The outcome is the same without `former`.
 */
export function composePieces(
  name: string,
  typeUrl: TypeUrl,
  pieces: readonly Piece[],
  former: Resource | undefined,
): Composed {
  if (pieces.length < manyPieces) {
    return composeResource(name, typeUrl, (to) => {
      for (const { bytes } of pieces) to.raw(bytes);
    });
  }
  const was = former !== undefined && isComposite(former) ? former : undefined;
  const base = layoutOf(was?.pieces ?? []);
  const inner = was === undefined ? noBytes : innerOf(was.bytes);
  const difference = differing(pieces, was?.pieces ?? []);
  const { start, end, otherEnd } = difference;
  const layout = layoutAfter(base, pieces, difference);
  layouts.set(pieces, layout);
  const write = (to: BinaryWriter): void => {
    to.raw(inner.subarray(0, base.ends[start - 1] ?? 0));
    for (let at = start; at < end; at += 1) to.raw((pieces[at] as Piece).bytes);
    to.raw(inner.subarray(base.ends[otherEnd - 1] ?? 0));
  };
  return composeResource(name, typeUrl, write, contentHash(layout.hashes));
}

/** Fewer are written, and hashed, as one. */
const manyPieces = 64;

const noBytes = new Uint8Array();

/** How pieces lie one behind the other. */
interface Layout {
  /** Where in the joined bytes each piece ends. */
  readonly ends: Uint32Array;
  /** The content hash of each piece, one after the other. */
  readonly hashes: string;
}

const nothing: Layout = { ends: new Uint32Array(), hashes: '' };

/** Of many pieces: to go through thousands anew costs more than to copy what is known of them. */
const layouts = new WeakMap<readonly Piece[], Layout>();

function layoutOf(pieces: readonly Piece[]): Layout {
  return layouts.get(pieces) ?? layoutAfter(nothing, pieces, { start: 0, end: pieces.length, otherEnd: 0 });
}

/** The layout of pieces that differ from others, of which it is known. */
function layoutAfter(was: Layout, pieces: readonly Piece[], { start, end, otherEnd }: Differing): Layout {
  const ends = new Uint32Array(pieces.length);
  ends.set(was.ends.subarray(0, start));
  let hashes = was.hashes.slice(0, start * hashLength);
  let size = was.ends[start - 1] ?? 0;
  for (let at = start; at < end; at += 1) {
    const { bytes } = pieces[at] as Piece;
    hashes += contentHash(bytes);
    size += bytes.byteLength;
    ends[at] = size;
  }
  const from = was.ends[otherEnd - 1] ?? 0;
  for (let at = end; at < pieces.length; at += 1) ends[at] = (was.ends[at - end + otherEnd] as number) - from + size;
  return { ends, hashes: hashes + was.hashes.slice(otherEnd * hashLength) };
}
