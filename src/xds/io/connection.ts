import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type Frame, type Hub, type HubStream, joinFrame, type StreamError, type StreamOptions } from '../index.ts';

type Call = ServerDuplexStream<Buffer, Buffer>;

/** A stream of the hub and the gRPC call that carries it. */
export interface Connection {
  readonly stream: HubStream;
  /** Writes a frame. The hub is told when the socket is full, and when it can take more. */
  write(frame: Frame): void;
  /** Ends the call. `UNAVAILABLE` means "come back", here or elsewhere. */
  end(code: status, words: string): void;
  readonly closed: boolean;
}

export interface ConnectionOptions {
  readonly hub: Hub;
  readonly call: Call;
  readonly open: StreamOptions;
  readonly log: Logger;
  readonly clock: Clock;
  readonly onClosed: (connection: Connection) => void;
}

/**
 * Bytes handed to gRPC that the socket has not taken. Above this, nothing more is built for the stream: what is sent
 * later is newer. grpc-js itself would take 16 messages of any size.
 */
const maxOutstandingBytes = 64 * 1024;

const codes: Record<StreamError['reason'], status> = {
  malformed: status.INVALID_ARGUMENT,
  'node-missing': status.INVALID_ARGUMENT,
  'type-missing': status.INVALID_ARGUMENT,
  overloaded: status.RESOURCE_EXHAUSTED,
};

/** Joins a call to the hub: bytes one way, frames the other, until either end closes. */
export function createConnection({ hub, call, open, log, clock, onClosed }: ConnectionOptions): Connection {
  const peer = call.getPeer();
  const stream = hub.open(peer, clock(), open);
  let outstandingBytes = 0;
  let ended = false;
  let closed = false;

  const connection: Connection = {
    stream,
    get closed() {
      return closed;
    },
    write(frame) {
      if (ended) return;
      outstandingBytes += frame.sizeBytes;
      if (outstandingBytes > maxOutstandingBytes) stream.setWritable(false);
      const bytes = joinFrame(frame);
      // The callback comes when the socket took the bytes. From a client that reads no more it never comes; then the
      // close of the call, which keepalive or the age limit bring about, frees the stream.
      call.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), () => {
        outstandingBytes -= frame.sizeBytes;
        if (!ended && outstandingBytes <= maxOutstandingBytes) stream.setWritable(true);
      });
    },
    end(code, words) {
      if (ended) return;
      ended = true;
      stream.setWritable(false);
      if (code === status.OK) call.end();
      else call.emit('error', { code, details: words });
    },
  };

  /** Several events tell of an end, in an order that depends on who ended it. */
  function close(): void {
    if (closed) return;
    closed = true;
    ended = true;
    stream.close(clock());
    onClosed(connection);
  }

  call.on('data', (bytes: Buffer) => {
    if (ended) return;
    const error = stream.receive(bytes, clock());
    if (error === undefined) return;
    log.warn({ event: 'stream-refused', peer, streamId: stream.id, reason: error.reason, words: error.words });
    connection.end(codes[error.reason], error.words);
  });
  // The client has said all it will say: so have we.
  call.on('end', () => connection.end(status.OK, ''));
  call.on('cancelled', close);
  call.on('close', close);
  call.on('finish', close);
  call.on('error', (cause: Error & { code?: number }) => {
    if (!ended) log.warn({ event: 'stream-failed', peer, streamId: stream.id, err: cause });
    ended = true;
    stream.setWritable(false);
  });
  return connection;
}
