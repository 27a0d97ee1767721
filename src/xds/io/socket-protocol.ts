/** What the loop and the thread of the sockets say to each other, besides messages of calls. */
import type { TlsMaterial } from '../../lib/tls-files.ts';
import type { HandshakeFailure } from './grpc-server.ts';
import type { Status } from './status.ts';

/** What the thread begins with. */
export interface SocketThreadData {
  readonly listen: { readonly host: string; readonly port: number };
  /** Of methods; a call of another one is refused on the thread. */
  readonly paths: readonly string[];
  /** Absent: plain text. */
  readonly tls?: TlsMaterial;
}

/** From the loop to the thread. A message of a call is as it goes out, with its prefix. */
export type ToSockets =
  /** A large message of a call, without its prefix; its end is told by `drained`. */
  | {
      readonly kind: 'large';
      readonly call: number;
      readonly pieces: readonly Uint8Array[];
      readonly sizeBytes: number;
    }
  | { readonly kind: 'end'; readonly call: number; readonly code: Status; readonly words: string }
  /** The loop has come to where the call was `paused`. */
  | { readonly kind: 'resume'; readonly call: number }
  /** It has come to a `mark`. */
  | { readonly kind: 'passed' }
  | { readonly kind: 'tls'; readonly material: TlsMaterial }
  | { readonly kind: 'stop' }
  | { readonly kind: 'destroy' };

/** From the thread to the loop. A message of a call comes without its prefix. */
export type FromSockets =
  | { readonly kind: 'listening'; readonly port: number }
  /** It cannot listen, and ends. */
  | { readonly kind: 'refused'; readonly words: string }
  | {
      readonly kind: 'opened';
      /** Above 0, and of no other call. */
      readonly call: number;
      readonly path: string;
      readonly peer: string;
      /** Of the client, in DER, with the number of the connection: its other calls have the same one. */
      readonly certificate?: { readonly connection: number; readonly der: Uint8Array };
    }
  | { readonly kind: 'ended' | 'full' | 'drained' | 'closed'; readonly call: number }
  /** Nothing more is read of the call until `resume`. */
  | { readonly kind: 'paused'; readonly call: number }
  /** To be answered by `passed`. */
  | { readonly kind: 'mark' }
  | { readonly kind: 'handshakeFailed'; readonly peer: string; readonly failure: HandshakeFailure }
  /** The last connection has ended; so does the thread. */
  | { readonly kind: 'stopped' };
