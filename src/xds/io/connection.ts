import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { SliceMeter } from '../../lib/slices.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Frame, Hub, HubStream, StreamError, StreamOptions } from '../index.ts';
import type { Call } from './call.ts';
import { type Status, status } from './status.ts';

/** A stream of the hub and the gRPC call that carries it. */
export interface Connection {
  readonly stream: HubStream;
  /** `host:port` of the client. */
  readonly peer: string;
  /** What the client showed of itself; undefined: nothing was asked for. */
  readonly certificate: X509Certificate | undefined;
  /** Writes a frame. The hub is told when the socket is full, and when it can take more. */
  write(frame: Frame): void;
  /** Ends the call for what the client asked. */
  refuse(error: StreamError): void;
  /** Ends the call. `UNAVAILABLE` means "come back", here or elsewhere. */
  end(code: Status, words: string): void;
  readonly closed: boolean;
}

/** What becomes of a client's reading. */
export interface Reading {
  /** The socket is full. */
  full(connection: Connection): void;
  /** It is no longer: the client has read, or is gone. */
  drained(connection: Connection): void;
}

export interface ConnectionOptions {
  readonly hub: Hub;
  readonly call: Call;
  readonly open: StreamOptions;
  readonly log: Logger;
  readonly clock: Clock;
  readonly reading: Reading;
  readonly slices: SliceMeter;
  /** It is ended for what the client asked. */
  readonly onRefused: (error: StreamError) => void;
  readonly onClosed: (connection: Connection) => void;
}

const codes: Record<StreamError['reason'], Status> = {
  malformed: status.INVALID_ARGUMENT,
  'node-missing': status.INVALID_ARGUMENT,
  'type-missing': status.INVALID_ARGUMENT,
  'too-many-names': status.INVALID_ARGUMENT,
  overloaded: status.RESOURCE_EXHAUSTED,
  'wrong-identity': status.PERMISSION_DENIED,
};

/** Joins a call to the hub: bytes one way, frames the other, until either end closes. */
export function createConnection(options: ConnectionOptions): Connection {
  const { hub, call, open, log, clock, reading, slices, onRefused, onClosed } = options;
  const { peer, certificate } = call;
  const stream = hub.open(peer, clock(), open);
  let ended = false;
  let closed = false;

  const connection: Connection = {
    stream,
    peer,
    certificate,
    get closed() {
      return closed;
    },
    write(frame) {
      if (!ended) call.write(frame.chunks, frame.sizeBytes);
    },
    refuse(error) {
      if (ended) return;
      const { reason, words } = error;
      log.warn({ event: 'stream_refused', peer, streamId: stream.id, reason, words });
      onRefused(error);
      connection.end(codes[reason], words);
    },
    end(code, words) {
      if (ended) return;
      ended = true;
      stream.setWritable(false);
      call.end(code, words);
    },
  };

  call.handle({
    message(bytes) {
      if (ended) return;
      slices.begin();
      const error = stream.receive(bytes, clock());
      slices.end('request');
      if (error !== undefined) connection.refuse(error);
    },
    // The client has said all it will say: so have we.
    ended: () => connection.end(status.OK, ''),
    full() {
      if (ended) return;
      // Nothing more is built for the stream until then: what is sent later is newer.
      stream.setWritable(false);
      reading.full(connection);
    },
    drained() {
      reading.drained(connection);
      if (!ended) stream.setWritable(true);
    },
    closed() {
      reading.drained(connection);
      closed = true;
      ended = true;
      stream.close(clock());
      onClosed(connection);
    },
  });
  return connection;
}
