/**
 * The server's end of one gRPC call: messages as bytes on an HTTP/2 stream, with the status in its trailers.
 *
 * It is written on `node:http2` itself: grpc-js passes each message through a dozen layers and three copies, which at a
 * thousand streams costs more than everything else that a change costs.
 */
import type { X509Certificate } from 'node:crypto';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { type MessageFault, MessageReader, prefixBytes, writePrefix } from './message-reader.ts';
import { type Status, status } from './status.ts';

/** What happens to a call, each called as it happens; `closed` is the last and comes once, whoever ends it. */
export interface CallHandlers {
  /** A message; it is only good until the handler returns. */
  message(bytes: Uint8Array): void;
  /** The client will send no more. */
  ended(): void;
  /** The socket has not taken all that was written: wait for `drained`, or let it grow. */
  full(): void;
  /** It has taken it. */
  drained(): void;
  closed(): void;
}

export interface Call {
  /** `host:port` of the client. */
  readonly peer: string;
  /** Of the client, checked against the CAs of the server; undefined when the server asks for none. */
  readonly certificate: X509Certificate | undefined;
  /** To be called once, before anything else. */
  handle(handlers: CallHandlers): void;
  /** Writes one message, given in pieces that are not changed later. */
  write(pieces: readonly Uint8Array[], sizeBytes: number): void;
  /** Ends the call; it is closed at once, though its last bytes may still be on their way. */
  end(code: Status, words: string): void;
}

/** A call at its socket. */
export interface SocketCall extends Call {
  /** Writes one message as it goes out, with its prefix. */
  writeFramed(bytes: Uint8Array): void;
  /** The socket has not taken all that was written. */
  readonly isFull: boolean;
  /** Reads no more until `resume`, so that the client has to wait. */
  pause(): void;
  resume(): void;
}

/** After an outage a client lists all that it holds: 60,000 clusters are above gRPC's usual 4 MiB. */
const maxMessageBytes = 64 * 1024 * 1024;

/** Up to this size a message is copied into one piece of memory, which costs less than handing over the pieces. */
export const copyBytes = 16 * 1024;

/** So long a client may take to read the end of a call and to stop sending; then the stream is reset. */
const lingerMs = 5_000;

const faults: Readonly<Record<MessageFault, readonly [code: Status, words: string]>> = {
  'too-large': [status.RESOURCE_EXHAUSTED, `a message is larger than ${maxMessageBytes} bytes`],
  compressed: [status.UNIMPLEMENTED, 'compressed messages are not taken: send them as they are'],
};

const headers = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': 'identity',
};

export function createCall(
  stream: ServerHttp2Stream,
  { peer, certificate }: Pick<Call, 'peer' | 'certificate'>,
): SocketCall {
  const reader = new MessageReader(maxMessageBytes);
  let handlers: CallHandlers | undefined;
  let ended = false;

  function end(code: Status, words: string): void {
    if (ended) return;
    ended = true;
    finish({ 'grpc-status': String(code), 'grpc-message': percentEncode(words) });
    handlers?.closed();
  }

  function finish(trailers: Record<string, string>): void {
    if (stream.destroyed) return;
    if (stream.headersSent) {
      stream.once('wantTrailers', () => stream.sendTrailers(trailers));
      stream.end();
    } else stream.respond({ ...headers, ...trailers }, { endStream: true });
    // At once would be too soon: a reset overtakes the trailers. A client that does not read never gets them.
    const reset = setTimeout(() => {
      stream.close(stream.writableFinished ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
    }, lingerMs);
    stream.once('close', () => clearTimeout(reset));
    // What still comes is read, for a stream that is not read never closes.
    stream.resume();
  }

  /** False: there is nobody to write to. */
  function begin(): boolean {
    if (ended || stream.destroyed) return false;
    if (!stream.headersSent) stream.respond(headers, { waitForTrailers: true });
    return true;
  }

  function writeFramed(bytes: Uint8Array): void {
    if (begin() && !stream.write(bytes)) handlers?.full();
  }

  function take(chunk: Buffer): void {
    if (ended) return;
    const fault = reader.take(chunk, (message) => {
      if (!ended) handlers?.message(message);
    });
    if (fault !== undefined) end(...faults[fault]);
  }

  // `close` follows. What broke is the client's business or the network's.
  stream.on('error', () => undefined);
  stream.on('close', () => {
    if (ended) return;
    ended = true;
    handlers?.closed();
  });
  return {
    peer,
    certificate,
    handle(given) {
      handlers = given;
      stream.on('data', take);
      stream.on('end', () => given.ended());
      stream.on('drain', () => given.drained());
    },
    write(pieces, sizeBytes) {
      // Not of the pool that others share: a piece that is kept for long would keep what was sent to thirty clients.
      const head = Buffer.allocUnsafeSlow(sizeBytes <= copyBytes ? prefixBytes + sizeBytes : prefixBytes);
      writePrefix(head, sizeBytes);
      if (sizeBytes <= copyBytes) {
        let at = prefixBytes;
        for (const piece of pieces) {
          head.set(piece, at);
          at += piece.byteLength;
        }
        writeFramed(head);
        return;
      }
      if (!begin()) return;
      stream.cork();
      stream.write(head);
      for (const piece of pieces) stream.write(piece);
      stream.uncork();
      if (stream.writableNeedDrain) handlers?.full();
    },
    writeFramed,
    get isFull() {
      return stream.writableNeedDrain;
    },
    pause: () => stream.pause(),
    resume: () => stream.resume(),
    end,
  };
}

/** As `grpc-message` wants it: what is not printable ASCII, and `%`, as the bytes of its UTF-8. */
function percentEncode(words: string): string {
  return words.replace(/[^ -$&-~]+/g, (some) =>
    [...Buffer.from(some)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
