/** The gRPC side of the ClientStatusDiscoveryService: one answer to each request, once or for as long as one asks. */
import type { Result } from '../../lib/result.ts';
import { answerClientStatus, type Hub, type PeerIdentity } from '../index.ts';
import type { Call } from './call.ts';
import { status } from './status.ts';

/**
 * Takes a call of FetchClientStatus or, when `streams`, of StreamClientStatus. `identify` is asked for each request, and
 * ends the call of whoever may not ask; a client that is known is told of itself alone.
 */
export function takeClientStatus(
  hub: Hub,
  call: Call,
  { streams, identify }: { streams: boolean; identify: (call: Call) => Result<PeerIdentity | undefined, undefined> },
): void {
  call.handle({
    message(request) {
      const identity = identify(call);
      if (!identity.ok) return;
      const answer = answerClientStatus(hub, request, identity.value?.nodeId);
      if (!answer.ok) {
        call.end(status.INVALID_ARGUMENT, answer.error);
        return;
      }
      call.write([answer.value], answer.value.byteLength);
      if (!streams) call.end(status.OK, '');
    },
    ended: () => call.end(status.OK, ''),
    full: () => undefined,
    drained: () => undefined,
    closed: () => undefined,
  });
}
