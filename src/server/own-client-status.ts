import { FairwayError } from '../lib/errors.ts';
import { beginSlice, inSlices } from '../lib/in-slices.ts';
import { createOneAtATime } from '../lib/one-at-a-time.ts';
import type { SliceMeter } from '../lib/slices.ts';
import { answerClientStatus, type Hub, readClientStatusRequest } from '../xds/index.ts';
import type { ClientStatusQuestion, PeerAnswers } from './peer-question.ts';

/** Answers other controllers that are asked for the status of clients, of those with a stream here. One per controller. */
export type OwnClientStatus = (question: ClientStatusQuestion) => Promise<PeerAnswers['clientStatus']>;

/** Each controller asks one such question at a time; those that it no longer waits for are here a little longer. */
const maxWaiting = 16;

/** Answers are made one after another: what one of them costs is bounded, and so is what all do. */
export function createOwnClientStatus(hub: Hub, slices: SliceMeter): OwnClientStatus {
  const inTurn = createOneAtATime();
  let waiting = 0;

  async function answer({ request, only, maxBytes }: ClientStatusQuestion): Promise<PeerAnswers['clientStatus']> {
    const read = readClientStatusRequest(Buffer.from(request, 'base64'));
    if (!read.ok) throw new FairwayError('InvalidParameter', `answering a controller: ${read.error}`);
    const made = await inSlices(answerClientStatus(hub, read.value, { only, maxBytes }), { work: 'answer', slices });
    return made?.ok ? encode(made.value.chunks) : null;
  }

  return async (question) => {
    if (waiting === maxWaiting) throw new FairwayError('TooManyRequests', 'answering a controller: too many ask');
    waiting += 1;
    try {
      return await inTurn(() => answer(question));
    } finally {
      waiting -= 1;
    }
  };
}

async function encode(chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const slice = beginSlice();
  const texts: string[] = [];
  for (const { buffer, byteOffset, byteLength } of chunks) {
    texts.push(Buffer.from(buffer, byteOffset, byteLength).toString('base64'));
    await slice.pause();
  }
  return texts;
}
