import http2, { type ClientHttp2Session, type ClientHttp2Stream, type SecureClientSessionOptions } from 'node:http2';

/** A gRPC call of whose bytes the test has the last word: it may send nonsense, or not read. */
export interface RawCall {
  readonly stream: ClientHttp2Stream;
  /** Sends a message with its prefix. */
  send(message: Uint8Array): void;
  /** Bytes that came since the call began, while it was read. */
  readonly receivedBytes: number;
  /** Messages that came whole. */
  readonly messages: readonly Buffer[];
  /** Resolves when the call has ended, with `grpc-status` and `grpc-message`; -1 if it was reset without. */
  readonly ended: Promise<{ readonly code: number; readonly words: string }>;
}

export interface RawClient {
  readonly session: ClientHttp2Session;
  call(path: string): RawCall;
  close(): void;
}

export const adsPath = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
export const sotwPath = adsPath.replace('Delta', 'Stream');

const prefixBytes = 5;

export function grpcMessage(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([prefix, message]);
}

/** With `tls`, a client of that TLS; else of plain text. */
export function rawClient(address: string, tls?: SecureClientSessionOptions): RawClient {
  const session = http2.connect(`${tls === undefined ? 'http' : 'https'}://${address}`, tls ?? {});
  session.on('error', () => undefined);
  return {
    session,
    call(path) {
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.on('error', () => undefined);
      const messages: Buffer[] = [];
      let rest = Buffer.alloc(0);
      let receivedBytes = 0;
      const { promise: ended, resolve: end } = Promise.withResolvers<{ code: number; words: string }>();
      const take = (headers: http2.IncomingHttpHeaders): void => {
        const code = headers['grpc-status'];
        if (code === undefined) return;
        end({ code: Number(code), words: decodeURIComponent(String(headers['grpc-message'])) });
        stream.end();
      };
      stream.on('response', take);
      stream.on('trailers', take);
      stream.on('close', () => end({ code: -1, words: '' }));
      stream.on('data', (chunk: Buffer) => {
        receivedBytes += chunk.byteLength;
        rest = Buffer.concat([rest, chunk]);
        while (rest.byteLength >= prefixBytes && rest.byteLength >= prefixBytes + rest.readUInt32BE(1)) {
          const end = prefixBytes + rest.readUInt32BE(1);
          messages.push(rest.subarray(prefixBytes, end));
          rest = rest.subarray(end);
        }
      });
      return {
        stream,
        send: (message) => void stream.write(grpcMessage(message)),
        get receivedBytes() {
          return receivedBytes;
        },
        messages,
        ended,
      };
    },
    close: () => session.destroy(),
  };
}
