/**
 * Joining of encoded messages. In protobuf, the encoding of a repeated field of messages is each one's encoding behind
 * a tag and a length, so a composite can be put together from pieces that were encoded before: one changed route among
 * 3,000 costs its own encoding and a copy. A test holds the outcome equal to encoding the whole.
 */
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Writes a message as the value of field `number` of another one. Fields must come in ascending order of their numbers. */
export function writeField(to: BinaryWriter, number: number, write: (to: BinaryWriter) => void): void {
  to.tag(number, WireType.LengthDelimited).fork();
  write(to);
  to.join();
}
