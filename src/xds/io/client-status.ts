/** The gRPC side of the ClientStatusDiscoveryService: one answer to each request, once or for as long as one asks. */
import { answerClientStatus, type Hub } from '../index.ts';
import type { Call } from './call.ts';
import { status } from './status.ts';

/** Takes a call of FetchClientStatus or, when `streams`, of StreamClientStatus. */
export function takeClientStatus(hub: Hub, call: Call, streams: boolean): void {
  call.handle({
    message(request) {
      const answer = answerClientStatus(hub, request);
      if (!answer.ok) {
        call.end(status.INVALID_ARGUMENT, answer.error);
        return;
      }
      call.write([answer.value], answer.value.byteLength);
      if (!streams) call.end(status.OK, '');
    },
    ended: () => call.end(status.OK, ''),
    drained: () => undefined,
    closed: () => undefined,
  });
}
