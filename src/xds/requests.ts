/**
 * The requests of one stream. Nearly all are taken as they come. One that asks for very much is taken in pieces; those
 * that come meanwhile wait, for a later request means what it says only after the earlier ones.
 */
import { bytesPerPiece, type Pieces } from './pieces.ts';
import type { StreamError } from './session.ts';

interface Waiting {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** Takes a request; what comes of it ends the stream. */
export type TakeRequest = (bytes: Uint8Array, now: number) => Pieces<StreamError | undefined>;

/** As large as the largest request: a client that sends more while one is taken does not wait for answers. */
const maxWaitingBytes = 64 * 1024 * 1024;

export class Requests {
  readonly #take: TakeRequest;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #running: Pieces<StreamError | undefined> | undefined;

  constructor(take: TakeRequest) {
    this.#take = take;
  }

  /** A request is not taken to its end: `step` wants to be called. */
  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** Takes what it can of a request in one piece; the bytes may change afterwards. */
  receive(bytes: Uint8Array, now: number): StreamError | undefined {
    if (this.#running === undefined) {
      // Read in one piece, its bytes are not needed any more.
      this.#running = this.#take(bytes.byteLength < bytesPerPiece ? bytes : bytes.slice(), now);
      return this.step();
    }
    this.#waitingBytes += bytes.byteLength;
    if (this.#waitingBytes > maxWaitingBytes) {
      return { reason: 'overloaded', words: `more than ${maxWaitingBytes} bytes of requests wait here` };
    }
    this.#waiting.push({ bytes: bytes.slice(), at: now });
    return undefined;
  }

  /** Takes the next piece. */
  step(): StreamError | undefined {
    const next = this.#running?.next();
    if (next?.done !== true) return undefined;
    const waiting = this.#waiting.shift();
    this.#waitingBytes -= waiting?.bytes.byteLength ?? 0;
    this.#running = waiting && this.#take(waiting.bytes, waiting.at);
    return next.value;
  }
}
