/**
 * What one thread hands to another at one go. Messages of calls stand one after another in one piece of memory that
 * changes hands, so that a thousand of them cost no more than one; whatever is rare comes as it is, in its place among
 * them.
 */

import { inNextTurn } from '../../lib/next-turn.ts';

/** Nothing in it may be used by the sender any more. */
export interface Parcel<Rare> {
  /** Records: number of the call, size, and so many bytes; of `rareMark` there is no size: the next of `rare` is meant. */
  readonly bytes: ArrayBuffer;
  readonly rare: readonly Rare[];
}

/** No call has this number. */
const rareMark = 0;
const markBytes = 4;
const headBytes = 8;
const firstBytes = 4 * 1024;

export interface OutboxOptions<Rare> {
  send(parcel: Parcel<Rare>, moved: ArrayBuffer[]): void;
  /** Has `flush` called soon: what is put in until then goes together. */
  plan(flush: () => void): void;
}

/** Collects what is to go to the other thread, in order. */
export class Outbox<Rare> {
  readonly #options: OutboxOptions<Rare>;
  readonly #flush = (): void => this.flush();
  #buffer = Buffer.alloc(0);
  #used = 0;
  #rare: Rare[] = [];
  #moved: ArrayBuffer[] = [];
  #planned = false;

  constructor(options: OutboxOptions<Rare>) {
    this.#options = options;
  }

  /** Begins a message of a call (above 0), whose bytes, as many as are said here, follow by `put`. */
  message(call: number, sizeBytes: number): void {
    this.#makeRoom(headBytes + sizeBytes);
    this.#uint32(call);
    this.#uint32(sizeBytes);
  }

  put(piece: Uint8Array): void {
    this.#buffer.set(piece, this.#used);
    this.#used += piece.byteLength;
  }

  /** `moved`: memory in it that changes hands, too. */
  rare(item: Rare, moved: readonly ArrayBuffer[] = []): void {
    this.#makeRoom(markBytes);
    this.#uint32(rareMark);
    this.#rare.push(item);
    for (const memory of moved) this.#moved.push(memory);
  }

  flush(): void {
    this.#planned = false;
    if (this.#used === 0) return;
    // No larger than what is in it: a client that reads slowly keeps it for a while.
    const bytes = (this.#buffer.buffer as ArrayBuffer).transfer(this.#used);
    const [rare, moved] = [this.#rare, this.#moved];
    this.#buffer = Buffer.alloc(0);
    this.#used = 0;
    this.#rare = [];
    this.#moved = [];
    moved.push(bytes);
    this.#options.send({ bytes, rare }, moved);
  }

  #uint32(value: number): void {
    this.#used = this.#buffer.writeUInt32LE(value, this.#used);
  }

  #makeRoom(sizeBytes: number): void {
    if (!this.#planned) {
      this.#planned = true;
      this.#options.plan(this.#flush);
    }
    const wanted = this.#used + sizeBytes;
    const had = this.#buffer.byteLength;
    if (wanted <= had) return;
    // Not of the pool that others share, since it changes hands.
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, 2 * had, firstBytes));
    larger.set(this.#buffer.subarray(0, this.#used));
    this.#buffer = larger;
  }
}

export interface InboxOptions<Rare> {
  /** `bytes` are a view of the parcel, which nobody else uses. */
  onMessage(call: number, bytes: Buffer): void;
  onRare(item: Rare): void;
}

/** Longer than this the loop is not held by what came. */
const sliceMs = 4;

/** Takes out in order what came from the other thread, in turns: a parcel may hold a thousand messages. */
export class Inbox<Rare> {
  readonly #options: InboxOptions<Rare>;
  readonly #parcels: Parcel<Rare>[] = [];
  readonly #run = (): void => this.#turn();
  /** Where the first of the parcels was left. */
  #bytes: Buffer | undefined;
  #at = 0;
  #rareAt = 0;
  #planned = false;

  constructor(options: InboxOptions<Rare>) {
    this.#options = options;
  }

  take(parcel: Parcel<Rare>): void {
    this.#parcels.push(parcel);
    this.#plan();
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    inNextTurn(this.#run);
  }

  #turn(): void {
    this.#planned = false;
    const end = performance.now() + sliceMs;
    for (let parcel = this.#parcels[0]; parcel !== undefined; parcel = this.#parcels[0]) {
      this.#bytes ??= Buffer.from(parcel.bytes);
      if (this.#at < this.#bytes.byteLength) this.#one(parcel, this.#bytes);
      else {
        this.#parcels.shift();
        this.#bytes = undefined;
        this.#at = 0;
        this.#rareAt = 0;
      }
      if (performance.now() < end) continue;
      this.#plan();
      return;
    }
  }

  #one(parcel: Parcel<Rare>, bytes: Buffer): void {
    const call = bytes.readUInt32LE(this.#at);
    if (call === rareMark) {
      const item = parcel.rare[this.#rareAt] as Rare;
      this.#at += markBytes;
      this.#rareAt += 1;
      this.#options.onRare(item);
      return;
    }
    const from = this.#at + headBytes;
    this.#at = from + bytes.readUInt32LE(this.#at + markBytes);
    this.#options.onMessage(call, bytes.subarray(from, this.#at));
  }
}
