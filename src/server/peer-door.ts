import type { PeerDoor } from '../api/index.ts';
import type { Records } from '../control/index.ts';
import { FairwayError } from '../lib/errors.ts';
import { isSignedBy } from '../pki/index.ts';
import type { OwnProxies } from './own-proxies.ts';
import { maxSkewMs, type PeerAnswers, type PeerEnvelope, type PeerQuestion, peerScheme } from './peer-question.ts';

export interface PeerDoorOptions {
  /** Of this run of this controller. */
  readonly run: string;
  readonly records: Pick<Records, 'controllers'>;
  readonly own: OwnProxies;
  readonly now: () => number;
}

/**
 * Where other controllers ask. They are known by their keys, which they have told in the store; a question is for this run
 * of this controller, so that one that was overheard says nothing elsewhere, and nothing here later.
 */
export function createPeerDoor({ run, records, own, now }: PeerDoorOptions): PeerDoor {
  function admit(authorization: string | undefined, body: Uint8Array): PeerQuestion {
    const refuse = (why: string) => new FairwayError('Unauthenticated', `answering a controller: ${why}`);
    const [, signature] = new RegExp(`^${peerScheme} ([A-Za-z0-9_-]+)$`).exec(authorization ?? '') ?? [];
    const envelope = signature === undefined ? undefined : read(body);
    if (envelope === undefined || signature === undefined) throw refuse('the request is not signed by one');
    const key = records.controllers.get(envelope.from)?.key;
    if (key === undefined || !isSignedBy(key, body, signature)) throw refuse('whoever asks is not known here');
    if (envelope.to !== run) throw refuse('it asks another one');
    if (!(Math.abs(now() - envelope.at) <= maxSkewMs)) throw refuse('its clock, or ours, is wrong');
    return envelope.question;
  }

  async function answer(question: PeerQuestion): Promise<PeerAnswers[keyof PeerAnswers]> {
    switch (question.ask) {
      case 'proxies':
        return own.list(question);
      case 'config':
        return (await own.config(question.node, { type: question.type, content: question.content })) ?? null;
      case 'compare':
        return own.compare(question.node);
      case 'commit':
        return own.commit(question.revision) ?? null;
      case 'clientStatus':
        return own.clientStatus(question);
      default:
        // It is of a later version, and knows what to do without an answer.
        throw new FairwayError('InvalidParameter', 'answering a controller: this version does not know the question');
    }
  }

  return { answer: async (authorization, body) => answer(admit(authorization, body)) };
}

function read(body: Uint8Array): PeerEnvelope | undefined {
  try {
    const envelope = JSON.parse(Buffer.from(body).toString('utf8')) as PeerEnvelope | null;
    return typeof envelope?.from === 'string' && typeof envelope.question === 'object' ? envelope : undefined;
  } catch {
    return undefined;
  }
}
