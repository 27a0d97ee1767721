/**
 * Joining of encoded messages. In protobuf, the encoding of a repeated field of messages is each one's encoding behind
 * a tag and a length, so a composite can be put together from pieces that were encoded before: one changed route among
 * 3,000 costs its own encoding and a copy. A test holds the outcome equal to encoding the whole.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** An encoded message as the value of field `number` of another one. */
export function asField(number: number, message: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(message).finish();
}

/** Pieces of one message, which must come in ascending order of their field numbers. */
export function join(pieces: readonly Uint8Array[]): Uint8Array {
  let sizeBytes = 0;
  for (const piece of pieces) sizeBytes += piece.byteLength;
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}
