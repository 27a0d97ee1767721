/**
 * Resources that are joined from pieces. Two forms of one that follow each other have nearly all of them in common, at the
 * beginning and at the end: what is asked of both, or made of one for the other, looks at the stretch between.
 */
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Differing, differing } from '../lib/differing.ts';
import type { Form } from './forms.ts';
import { OfPair } from './of-pair.ts';
import { innerOf, type Piece, type Resource } from './resource.ts';

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

/** Writes pieces one after the other; those that `former` has as well are copied from there in two long stretches. */
export function writePieces(to: BinaryWriter, pieces: readonly Piece[], former?: Resource): void {
  if (former?.pieces === undefined || pieces.length < manyPieces) {
    for (const { bytes } of pieces) to.raw(bytes);
    return;
  }
  const { start, end, otherEnd } = differing(pieces, former.pieces);
  const was = endsOf(former.pieces);
  const ends = new Uint32Array(pieces.length);
  ends.set(was.subarray(0, start));
  const inner = innerOf(former.bytes);
  let size = was[start - 1] ?? 0;
  to.raw(inner.subarray(0, size));
  for (let at = start; at < end; at += 1) {
    const { bytes } = pieces[at] as Piece;
    to.raw(bytes);
    size += bytes.byteLength;
    ends[at] = size;
  }
  const from = was[otherEnd - 1] ?? 0;
  for (let at = end; at < pieces.length; at += 1) ends[at] = (was[at - end + otherEnd] as number) - from + size;
  to.raw(inner.subarray(from));
  knownEnds.set(pieces, ends);
}

/** Fewer are written one by one. */
const manyPieces = 64;

/** Where in the joined bytes each piece ends: to add up thousands anew costs more than to copy what they are. */
const knownEnds = new WeakMap<readonly Piece[], Uint32Array>();

function endsOf(pieces: readonly Piece[]): Uint32Array {
  const known = knownEnds.get(pieces);
  if (known !== undefined) return known;
  let size = 0;
  return Uint32Array.from(pieces, ({ bytes }) => {
    size += bytes.byteLength;
    return size;
  });
}
