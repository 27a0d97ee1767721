/**
 * Length-prefixed messages of gRPC (its protocol description, "Length-Prefixed-Message"): a byte that says whether the
 * message is compressed, its length in four bytes, and the message.
 */

/** What stands before each message. */
export const prefixBytes = 5;

/** Writes what stands before a message that is not compressed. */
export function writePrefix(into: Buffer, messageBytes: number): void {
  into[0] = 0;
  into.writeUInt32BE(messageBytes, 1);
}

/** Why bytes are no messages that are taken here. */
export type MessageFault = 'too-large' | 'compressed';

export class MessageReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  /** Size of the message under way with its prefix; undefined before the prefix is complete. */
  #wanted: number | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes bytes as they come and hands on every message that they complete; it is a view of them where it came in one
   * piece. What is returned ends the call.
   */
  take(chunk: Buffer, message: (bytes: Buffer) => void): MessageFault | undefined {
    let rest = chunk;
    while (rest.byteLength > 0) {
      if (this.#sizeBytes === 0 && rest.byteLength >= prefixBytes) {
        // The usual case: a message begins, and ends, in this chunk.
        const size = prefixBytes + rest.readUInt32BE(1);
        const fault = this.#check(rest, size);
        if (fault !== undefined) return fault;
        if (rest.byteLength >= size) {
          message(rest.subarray(prefixBytes, size));
          rest = rest.subarray(size);
          continue;
        }
      }
      const missing = (this.#wanted ?? prefixBytes) - this.#sizeBytes;
      const piece = rest.subarray(0, missing);
      rest = rest.subarray(piece.byteLength);
      this.#chunks.push(piece);
      this.#sizeBytes += piece.byteLength;
      if (piece.byteLength < missing) return undefined;
      if (this.#wanted === undefined) {
        const prefix = this.#join();
        this.#wanted = prefixBytes + prefix.readUInt32BE(1);
        const fault = this.#check(prefix, this.#wanted);
        if (fault !== undefined) return fault;
        if (this.#wanted > prefixBytes) continue;
      }
      const whole = this.#join();
      this.#chunks = [];
      this.#sizeBytes = 0;
      this.#wanted = undefined;
      message(whole.subarray(prefixBytes));
    }
    return undefined;
  }

  #check(prefix: Buffer, size: number): MessageFault | undefined {
    if (size - prefixBytes > this.#maxBytes) return 'too-large';
    return prefix[0] === 0 ? undefined : 'compressed';
  }

  #join(): Buffer {
    const joined = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}
