/** The gRPC side of the ClientStatusDiscoveryService: one answer to each request, once or for as long as one asks. */
import { inSlices } from '../../lib/in-slices.ts';
import { createOneAtATime } from '../../lib/one-at-a-time.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import type { SliceMeter } from '../../lib/slices.ts';
import {
  answerClientStatus,
  type ClientStatusAnswer,
  type ClientStatusRequest,
  clientStatusTooLarge,
  type Hub,
  joinClientStatus,
  type NodeInfo,
  nameClients,
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

/** What is asked of servers elsewhere. */
export interface ElsewhereQuestion {
  /** An encoded `ClientStatusRequest`. */
  readonly request: Uint8Array;
  /** Nothing is said of nodes with other ids; undefined: of all. */
  readonly only: string | undefined;
  /** All that they say may not be larger together. */
  readonly maxBytes: number;
}

/** What they say of the clients that are connected there. */
export interface Elsewhere {
  /** Undefined: it is larger than it may be. */
  readonly answer: ClientStatusAnswer | undefined;
  /** Clients, asked for or not, of which nobody says more than that they are connected. */
  readonly unknown: readonly Pick<NodeInfo, 'id' | 'cluster'>[];
}

/** Asks all of them at once; none is waited for for long. */
export type AskElsewhere = (question: ElsewhereQuestion) => Promise<Elsewhere>;

export interface ClientStatusOptions {
  readonly hub: Hub;
  readonly slices: SliceMeter;
  /** Undefined: all clients are here. */
  readonly askElsewhere: AskElsewhere | undefined;
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
export function createClientStatus({ hub, slices, askElsewhere, identify }: ClientStatusOptions): TakeClientStatus {
  const inTurn = createOneAtATime();

  /** Of all clients; undefined when nobody waits for it any more. */
  async function make(
    { request, only }: Question,
    isWanted: () => boolean,
  ): Promise<Result<ClientStatusAnswer, string> | undefined> {
    const work = { work: 'answer', slices, isWanted } as const;
    const tooLarge = err(clientStatusTooLarge(maxAnswerBytes));
    const here = await inSlices(answerClientStatus(hub, request, { only, maxBytes: maxAnswerBytes }), work);
    if (here === undefined || !here.ok || askElsewhere === undefined) return here;
    const room = maxAnswerBytes - here.value.sizeBytes;
    const { answer, unknown } = await askElsewhere({ request: request.asked, only, maxBytes: room });
    if (answer === undefined || answer.sizeBytes > room) return tooLarge;
    const left = room - answer.sizeBytes;
    const named = await inSlices(nameClients(hub, unknown, request, { only, maxBytes: left }), work);
    if (named === undefined) return undefined;
    return named.ok ? ok(joinClientStatus([here.value, answer, named.value])) : tooLarge;
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
        const question = waiting.shift() as Question;
        const made = await inTurn(() => make(question, () => !isClosed));
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
