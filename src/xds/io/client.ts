import { ChannelCredentials, Client, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import { backoffMs } from '../../lib/backoff.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { ClientStep, DeltaClient, TypeUrl } from '../index.ts';
import { channelOptions } from './channel-options.ts';
import { methods } from './methods.ts';

export interface DeltaConnectionOptions {
  readonly client: DeltaClient;
  /** `host:port` of a controller. */
  readonly address: string;
  readonly log: Logger;
  /** From 0 to below 1, for the spread of attempts. */
  readonly random: () => number;
  /** Default: plain text. */
  readonly credentials?: ChannelCredentials;
  /** Called after each response, with its bytes. */
  readonly onStep?: (step: ClientStep, sizeBytes: number) => void;
  /** Called when a stream ended; another one is opened after a pause. */
  readonly onEnded?: (status: { readonly code: number; readonly details: string }) => void;
  /** First pause before another attempt, and the longest. Default 0.5 s and 30 s. */
  readonly retry?: { readonly baseMs: number; readonly maxMs: number };
}

/** Keeps a client connected until it is closed. What the client received stays over an interruption. */
export interface DeltaConnection {
  subscribe(typeUrl: TypeUrl, names: readonly string[]): void;
  unsubscribe(typeUrl: TypeUrl, names: readonly string[]): void;
  /** Resolves when its stream has ended, at once between two attempts: the client is free for another connection. */
  close(): Promise<void>;
}

const defaultRetry = { baseMs: 500, maxMs: 30_000 };

export function openConnection(options: DeltaConnectionOptions): DeltaConnection {
  const { client, log } = options;
  const credentials = options.credentials ?? ChannelCredentials.createInsecure();
  const grpc = new Client(options.address, credentials, {
    ...channelOptions,
    // One owner of the pauses between attempts: a channel that is still backing off would add its own.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
  });
  let call: ClientDuplexStream<Buffer, Buffer> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let attempt = 0;
  const closed = Promise.withResolvers<void>();
  let isClosing = false;

  function send(requests: readonly Uint8Array[]): void {
    for (const bytes of requests) call?.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  function connect(): void {
    const opened = grpc.makeBidiStreamRequest(methods.deltaResources, asIs, asIs);
    call = opened;
    opened.on('data', (bytes: Buffer) => {
      attempt = 0;
      const step = client.receive(bytes);
      send(step.requests);
      options.onStep?.(step, bytes.byteLength);
    });
    // The status says the same, and always comes.
    opened.on('error', () => {});
    opened.on('status', (status: StatusObject) => ended(opened, status));
    send(client.connect());
  }

  function ended(which: ClientDuplexStream<Buffer, Buffer>, status: StatusObject): void {
    if (call !== which) return;
    call = undefined;
    client.disconnected();
    options.onEnded?.({ code: status.code, details: status.details });
    if (isClosing) {
      closed.resolve();
      return;
    }
    const pauseMs = backoffMs(attempt, { ...(options.retry ?? defaultRetry), random: options.random() });
    attempt += 1;
    log.info({ event: 'xds_disconnected', code: status.code, details: status.details, pauseMs });
    timer = setTimeout(connect, pauseMs);
  }

  connect();
  return {
    subscribe(typeUrl, names) {
      send(client.subscribe(typeUrl, names));
    },
    unsubscribe(typeUrl, names) {
      send(client.unsubscribe(typeUrl, names));
    },
    close() {
      isClosing = true;
      clearTimeout(timer);
      if (call === undefined) closed.resolve();
      else call.cancel();
      grpc.close();
      return closed.promise;
    },
  };
}

/** Encoding is the business of `xds`. */
function asIs(bytes: Buffer): Buffer {
  return bytes;
}
