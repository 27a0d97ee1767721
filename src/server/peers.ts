import type { Records } from '../control/index.ts';
import type { BoundedBytes } from '../lib/bounded-answer.ts';
import { FairwayError } from '../lib/errors.ts';
import { beginSlice } from '../lib/in-slices.ts';
import { err, ok, type Result } from '../lib/result.ts';
import type { ControllerKey } from '../pki/index.ts';
import type { ControllerRecord } from '../status/index.ts';
import { type AnswerTo, type PeerEnvelope, type PeerQuestion, peerPath, peerScheme } from './peer-question.ts';
import { type PeerAddress, type PeerPost, postToPeer } from './peer-request.ts';

/** What comes of a question to all others. */
export interface Asked<T> {
  readonly answers: readonly { readonly controller: string; readonly answer: T }[];
  readonly unanswered: readonly Unanswered[];
}

/** A controller that has proxies, maybe, and did not answer. */
export interface Unanswered {
  readonly controller: string;
  /** RFC 3339. */
  readonly since: string;
  /** Goes after its name: `does not answer: …`. */
  readonly reason: string;
}

/**
 * Asks the other controllers that have an xDS door. One per controller.
 *
 * Questions do not travel: who is asked answers of its own proxies, and asks nobody in turn, so that there are no loops.
 * None waits for long: whoever does not answer in time is named in its stead, and is given less time until it answers.
 */
export interface Peers {
  /** Asks those of `among`, as far as they are still there. Default: all. */
  ask<Q extends PeerQuestion>(question: Q, among?: readonly string[]): Promise<Asked<AnswerTo<Q>>>;
  /** Ids of those that would be asked. */
  others(): readonly string[];
}

export interface PeersOptions {
  /** Id of this controller. */
  readonly id: string;
  readonly key: ControllerKey;
  readonly records: Pick<Records, 'controllers'>;
  readonly isAlive: (id: string) => boolean;
  readonly now: () => number;
  readonly onHeard?: (ask: PeerQuestion['ask'], outcome: 'answered' | 'unanswered') => void;
  /** For tests. */
  readonly post?: (peer: PeerAddress, post: PeerPost, signal: AbortSignal) => Promise<BoundedBytes>;
  readonly timeout?: (ms: number) => AbortSignal;
}

/** An answer is made in milliseconds; on a busy machine, or with a thousand proxies, in a second. */
const limitMs = 2_000;
/** The status of all clients may be 64 MiB, a second or two of work on a machine that has other things to do. */
const longMs = 5_000;
/** For one that did not answer last time: enough to hear that it does again, and little to wait in vain. */
const doubtfulMs = 300;

export function createPeers(options: PeersOptions): Peers {
  const { id, key, records, isAlive, now, post = postToPeer, timeout = AbortSignal.timeout } = options;
  const { onHeard = () => undefined } = options;
  /** Run of a controller → since when it does not answer, milliseconds since 1970. */
  const silent = new Map<string, number>();

  /**
   * That a long answer did not come in time tells of its length, maybe, and that a short one did not tells nothing of a
   * long one: for these it counts alone whether the other is heard of.
   */
  function patience({ id, run }: ControllerRecord, { ask }: PeerQuestion): number {
    if (!isAlive(id)) return doubtfulMs;
    if (ask === 'clientStatus') return longMs;
    return silent.has(run) ? doubtfulMs : limitMs;
  }

  async function askOne<Q extends PeerQuestion>(record: ControllerRecord, question: Q): Promise<AnswerTo<Q>> {
    const { address, certificate, run } = record;
    if (record.key === undefined) throw new FairwayError('NotReady', 'its version answers no other controllers');
    const envelope: PeerEnvelope = { from: id, to: run, at: now(), question };
    const body = Buffer.from(JSON.stringify(envelope));
    const signal = timeout(patience(record, question));
    const authorization = `${peerScheme} ${key.sign(body)}`;
    const { status, chunks } = await post({ address, certificate }, { path: peerPath, authorization, body }, signal);
    if (status !== 200) throw new FairwayError('NotReady', `it answers with status ${status}`);
    return (await readAnswer(chunks)) as AnswerTo<Q>;
  }

  async function hear<Q extends PeerQuestion>(
    record: ControllerRecord,
    question: Q,
  ): Promise<Result<Asked<AnswerTo<Q>>['answers'][number], Unanswered>> {
    const { id: controller, run } = record;
    try {
      const answer = await askOne(record, question);
      silent.delete(run);
      onHeard(question.ask, 'answered');
      return ok({ controller, answer });
    } catch (error) {
      const since = silent.get(run) ?? (isAlive(controller) ? now() : Date.parse(record.seenAt));
      silent.set(run, since);
      onHeard(question.ask, 'unanswered');
      return err({ controller, since: new Date(since).toISOString(), reason: wordsOf(error) });
    }
  }

  const others = () => [...records.controllers.values()].filter((one) => one.id !== id && one.xdsAddress !== '');

  return {
    others: () => others().map((one) => one.id),
    async ask(question, among) {
      const all = others();
      const runs = new Set(all.map(({ run }) => run));
      for (const run of silent.keys()) if (!runs.has(run)) silent.delete(run);
      const asked = all.filter((one) => among === undefined || among.includes(one.id));
      const heard = await Promise.all(asked.map((record) => hear(record, question)));
      return {
        answers: heard.flatMap((one) => (one.ok ? one.value : [])),
        unanswered: heard.flatMap((one) => (one.ok ? [] : one.error)),
      };
    },
  };
}

/** A list comes with a line for each of its items, which are read in slices: there may be tens of thousands. */
async function readAnswer(chunks: readonly Uint8Array[]): Promise<unknown> {
  const slice = beginSlice();
  const items: unknown[] = [];
  const lines = linesOf(chunks);
  const first = lines.next().value ?? '';
  // Other answers, and all of earlier versions, are in one line.
  if (first !== '{"answer":[') return JSON.parse([first, ...lines].join('')).answer;
  let isWhole = false;
  for (const line of lines) {
    isWhole = line === ']}';
    if (!isWhole && line !== '') items.push(JSON.parse(line.endsWith(',') ? line.slice(0, -1) : line));
    await slice.pause();
  }
  if (!isWhole) throw new SyntaxError('the answer has no end');
  return items;
}

const newline = 0x0a;

function* linesOf(chunks: readonly Uint8Array[]): Generator<string, undefined> {
  let parts: Uint8Array[] = [];
  const line = (): string => Buffer.concat(parts).toString('utf8');
  for (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      parts.push(chunk.subarray(from, at));
      yield line();
      parts = [];
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
  }
  yield line();
}

/** No addresses and no stacks: whoever asks for proxies may not see them. */
function wordsOf(error: unknown): string {
  if (error instanceof FairwayError) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || name === 'AbortError') return 'it does not answer in time';
  return code === undefined ? 'its answer cannot be read' : `it cannot be reached (${code})`;
}
