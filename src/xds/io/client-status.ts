/** The gRPC side of the ClientStatusDiscoveryService: one answer to each request, once or for as long as one asks. */
import { inSlices } from '../../lib/in-slices.ts';
import type { Result } from '../../lib/result.ts';
import type { SliceMeter } from '../../lib/slices.ts';
import {
  answerClientStatus,
  type ClientStatusRequest,
  type Hub,
  type PeerIdentity,
  readClientStatusRequest,
} from '../index.ts';
import type { Call } from './call.ts';
import { status } from './status.ts';

/**
 * An answer is one message, which is held until it is sent. Clients take 4 MiB unless they are told otherwise; as much as
 * this is told of a thousand proxies with some hundred resources each.
 */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Requests of a call that wait for their answers: who asks on does not read them. */
const maxWaiting = 16;

export interface ClientStatusOptions {
  readonly hub: Hub;
  readonly slices: SliceMeter;
  /** Asked for each request; ends the call of whoever may not ask. A client that is known is told of itself alone. */
  readonly identify: (call: Call) => Result<PeerIdentity | undefined, undefined>;
}

interface Question {
  readonly request: ClientStatusRequest;
  readonly only: string | undefined;
}

/** Takes a call of FetchClientStatus or, when `streams`, of StreamClientStatus. */
export type TakeClientStatus = (call: Call, options: { readonly streams: boolean }) => void;

/** Answers are made one after another, whoever asks: what one of them costs is bounded, and so is what all do. */
export function createClientStatus({ hub, slices, identify }: ClientStatusOptions): TakeClientStatus {
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  }

  return (call, { streams }) => {
    const waiting: Question[] = [];
    let isAnswering = false;
    let isFull = false;
    let hasEnded = false;
    let isClosed = false;

    /** Answers what waits, while the client takes the answers. */
    async function answer(): Promise<void> {
      if (isAnswering) return;
      isAnswering = true;
      while (!isFull && !isClosed && waiting.length > 0) {
        const { request, only } = waiting.shift() as Question;
        const pieces = answerClientStatus(hub, request, { only, maxBytes: maxAnswerBytes });
        const made = await inTurn(() => inSlices(pieces, { work: 'answer', slices, isWanted: () => !isClosed }));
        if (made === undefined) break;
        if (!made.ok) {
          call.end(status.RESOURCE_EXHAUSTED, made.error);
          break;
        }
        call.write(made.value.chunks, made.value.sizeBytes);
        if (!streams) call.end(status.OK, '');
      }
      isAnswering = false;
      if (hasEnded && waiting.length === 0) call.end(status.OK, '');
    }

    call.handle({
      message(bytes) {
        const identity = identify(call);
        if (!identity.ok) return;
        const request = readClientStatusRequest(bytes);
        if (!request.ok) call.end(status.INVALID_ARGUMENT, request.error);
        else if (waiting.length === maxWaiting) {
          call.end(status.RESOURCE_EXHAUSTED, `${maxWaiting} requests wait here: read their answers first`);
        } else {
          waiting.push({ request: request.value, only: identity.value?.nodeId });
          void answer();
        }
      },
      ended() {
        hasEnded = true;
        if (!isAnswering && waiting.length === 0) call.end(status.OK, '');
      },
      full() {
        isFull = true;
      },
      drained() {
        isFull = false;
        void answer();
      },
      closed() {
        isClosed = true;
      },
    });
  };
}
