/** The gRPC side of the ClientStatusDiscoveryService: one answer to each request, once or for as long as one asks. */
import { type handleUnaryCall, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { answerClientStatus, type Hub } from '../index.ts';

interface ClientStatusService {
  readonly FetchClientStatus: handleUnaryCall<Buffer, Buffer>;
  readonly StreamClientStatus: (call: ServerDuplexStream<Buffer, Buffer>) => void;
}

export function clientStatusService(hub: Hub): ClientStatusService {
  return {
    FetchClientStatus(call, callback) {
      const answer = answerClientStatus(hub, call.request);
      if (answer.ok) callback(null, bufferOf(answer.value));
      else callback({ code: status.INVALID_ARGUMENT, details: answer.error });
    },
    StreamClientStatus(call) {
      call.on('data', (request: Buffer) => {
        const answer = answerClientStatus(hub, request);
        if (answer.ok) call.write(bufferOf(answer.value));
        else call.emit('error', { code: status.INVALID_ARGUMENT, details: answer.error });
      });
      call.on('end', () => call.end());
      call.on('error', () => undefined);
    },
  };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
