import { BinaryWriter } from '@bufbuild/protobuf/wire';

/** A buffer larger than this is not kept for the next message. */
const keptBytes = 1 << 20;

/** The writer that is not in use. */
let idle: BinaryWriter | undefined = new BinaryWriter();

/**
 * The bytes that `write` writes, in an array of just that size. The writer is used again, since most of what encoding
 * a small message costs is the allocation of its buffer.
 */
export function encodeWith(write: (to: BinaryWriter) => void): Uint8Array<ArrayBuffer> {
  const writer = idle ?? new BinaryWriter();
  // Taken until the end: what is encoded meanwhile, inside `write`, takes another one.
  idle = undefined;
  write(writer);
  const bytes = writer.finish();
  // Only here: one that was left in the middle of a message, by a throw, is of no use.
  idle = bytes.byteLength > keptBytes ? undefined : writer;
  return bytes;
}
