/** A call whose socket is on another thread. */
import type { X509Certificate } from 'node:crypto';
import { joinFrame, joinShared } from '../index.ts';
import { type Call, type CallHandlers, copyBytes } from './call.ts';
import { prefixBytes, writePrefix } from './message-reader.ts';
import type { Outbox } from './parcel.ts';
import type { ToSockets } from './socket-protocol.ts';
import type { Status } from './status.ts';

export interface FarCallOptions {
  /** Its number. */
  readonly call: number;
  readonly peer: string;
  readonly certificate: X509Certificate | undefined;
  readonly outbox: Outbox<ToSockets>;
}

const prefix = Buffer.alloc(prefixBytes);

export class FarCall implements Call {
  readonly peer: string;
  readonly certificate: X509Certificate | undefined;
  readonly #call: number;
  readonly #outbox: Outbox<ToSockets>;
  #handlers: CallHandlers | undefined;
  #ended = false;

  constructor({ call, peer, certificate, outbox }: FarCallOptions) {
    this.#call = call;
    this.peer = peer;
    this.certificate = certificate;
    this.#outbox = outbox;
  }

  handle(handlers: CallHandlers): void {
    this.#handlers = handlers;
  }

  write(pieces: readonly Uint8Array[], sizeBytes: number): void {
    if (this.#ended) return;
    if (sizeBytes > copyBytes) {
      this.#writeLarge(pieces, sizeBytes);
      return;
    }
    const outbox = this.#outbox;
    writePrefix(prefix, sizeBytes);
    outbox.message(this.#call, prefixBytes + sizeBytes);
    outbox.put(prefix);
    for (const piece of pieces) outbox.put(piece);
  }

  end(code: Status, words: string): void {
    if (this.#ended) return;
    this.#outbox.rare({ kind: 'end', call: this.#call, code, words });
    this.closed();
  }

  /** What the thread tells of it. */
  message(bytes: Uint8Array): void {
    if (!this.#ended) this.#handlers?.message(bytes);
  }

  told(kind: 'ended' | 'full' | 'drained'): void {
    if (!this.#ended) this.#handlers?.[kind]();
  }

  closed(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handlers?.closed();
  }

  #writeLarge(pieces: readonly Uint8Array[], sizeBytes: number): void {
    const handed = handOver(pieces);
    this.#outbox.rare({ kind: 'large', call: this.#call, pieces: handed.pieces, sizeBytes }, handed.moved);
    // Until the thread says that the socket has taken it: what waits there should not be much more than this.
    this.#handlers?.full();
  }
}

/** Copies of large pieces in memory that both threads see: many streams are sent the same ones. */
const shared = new WeakMap<Uint8Array, Uint8Array>();

/**
 * What another thread can be given: large pieces are copied once for all who are sent them, unless both threads see them as
 * they are; small ones are joined.
 */
function handOver(pieces: readonly Uint8Array[]): { readonly pieces: Uint8Array[]; readonly moved: ArrayBuffer[] } {
  const given: Uint8Array[] = [];
  const moved: ArrayBuffer[] = [];
  let small: Uint8Array[] = [];
  let smallBytes = 0;
  const join = (): void => {
    if (small.length === 0) return;
    const joined = joinFrame({ chunks: small, sizeBytes: smallBytes });
    given.push(joined);
    moved.push(joined.buffer);
    small = [];
    smallBytes = 0;
  };
  for (const piece of pieces) {
    if (piece.byteLength <= copyBytes) {
      small.push(piece);
      smallBytes += piece.byteLength;
    } else {
      join();
      given.push(sharedOf(piece));
    }
  }
  join();
  return { pieces: given, moved };
}

function sharedOf(piece: Uint8Array): Uint8Array {
  if (piece.buffer instanceof SharedArrayBuffer) return piece;
  const copy = shared.get(piece) ?? joinShared({ chunks: [piece], sizeBytes: piece.byteLength });
  shared.set(piece, copy);
  return copy;
}
