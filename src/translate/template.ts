/** Encoded messages with holes for texts, filled at whatever depth they stand: all lengths around them are written anew. */
import { BinaryReader, type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Writes the message with its holes filled from the list. */
export type Template = (to: BinaryWriter, values: readonly string[]) => void;

/** Begins every hole: a character of the private use area, which is nothing to anybody. */
export const holeMark = '\uE000';
const holeEnd = '\uE001';

/** A text that stands for the value of that number. */
export function hole(index: number): string {
  return `${holeMark}${index}${holeEnd}`;
}

/** Makes a template of a message some of whose strings are holes. */
export function createTemplate(message: Uint8Array): Template {
  const pieces = piecesOf(message);
  return (to, values) => write(to, pieces, values);
}

/** Bytes as they are, a string field, or a field with a message that has holes. */
type Piece =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'hole'; readonly tag: number; readonly index: number }
  | { readonly kind: 'message'; readonly tag: number; readonly pieces: readonly Piece[] };

function write(to: BinaryWriter, pieces: readonly Piece[], values: readonly string[]): void {
  for (const piece of pieces) {
    if (piece.kind === 'bytes') {
      to.raw(piece.bytes);
    } else if (piece.kind === 'hole') {
      to.uint32(piece.tag).string(values[piece.index] as string);
    } else {
      to.uint32(piece.tag).fork();
      write(to, piece.pieces, values);
      to.join();
    }
  }
}

const text = new TextDecoder();

function piecesOf(message: Uint8Array): Piece[] {
  const pieces: Piece[] = [];
  const reader = new BinaryReader(message);
  let plainFrom = 0;
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.uint32();
    if ((tag & 7) !== WireType.LengthDelimited) {
      reader.skip(tag & 7, tag >>> 3);
      continue;
    }
    const value = reader.bytes();
    const words = text.decode(value);
    if (!words.includes(holeMark)) continue;
    if (start > plainFrom) pieces.push({ kind: 'bytes', bytes: message.slice(plainFrom, start) });
    plainFrom = reader.pos;
    const whole = /^\uE000(\d+)\uE001$/.exec(words);
    pieces.push(
      whole === null
        ? { kind: 'message', tag, pieces: piecesOf(value) }
        : { kind: 'hole', tag, index: Number(whole[1]) },
    );
  }
  if (message.length > plainFrom) pieces.push({ kind: 'bytes', bytes: message.slice(plainFrom) });
  return pieces;
}
