/**
 * One stream, of either protocol: a machine without I/O. Requests go in by `handle`, time by `tick`, changes of the
 * table by `mark`; `next` gives the frame to be sent now, built from the newest state, and is called when the socket
 * can take one.
 *
 *   mark ─▶ agenda ─next──▶ judge ──▶ leave     nothing to send, or withheld
 *             ▲                ├────▶ wait      until what it needs is ready, at most until a deadline
 *             │                └────▶ flying ──ACK──▶ held
 *             └──── suspects, alone ◀──NACK──┘
 */
import { takeAnswer } from './answers.ts';
import { askDelta, askSotw } from './asks.ts';
import type { Response } from './flights.ts';
import { visible } from './needs.ts';
import type { NodeInfo } from './node-info.ts';
import { each, type Pieces } from './pieces.ts';
import { isPlainAck } from './plain-ack.ts';
import { type TypeUrl, typeUrls } from './resource.ts';
import { abandon, respond } from './responder.ts';
import type { SotwRequest } from './sotw-wire.ts';
import { type PeerIdentity, type SessionHost, Stream, type StreamOpened, type Trust } from './stream.ts';
import type { TypeState } from './type-state.ts';
import type { DeltaRequest, Frame } from './wire.ts';

/** Why a stream has to end. The reason is for logs, metrics and tests, the words for the client. */
export interface StreamError {
  readonly reason: 'malformed' | 'node-missing' | 'type-missing' | 'too-many-names' | 'overloaded' | 'wrong-identity';
  readonly words: string;
}

/** Rule 33: a client that was cut off while a cluster warmed asks for no clusters, but waits for assignments. */
const clusterRequestMs = 1_000;
/** A stream that never asks for listeners counts as filled when it rests this long. */
const fillMs = 5_000;
/** Clusters whose answer is due are pushed again, then taken back; after that only an operator can help. */
const maxPushesAgain = 2;
/** Names that a stream may ask for: ten times what a large Envoy does. All are kept, those that do not exist, too. */
const maxNames = 1_000_000;
/** Characters of what a client calls itself that are repeated, when it is none of its names. */
const maxClaim = 100;
const never = Number.POSITIVE_INFINITY;

export class Session {
  readonly stream: Stream;
  /** When everything the client asked for was there for the first time. */
  filledAt: number | undefined;
  #rested = 0;
  #fillAt = never;
  #fillDue = false;
  #clusterRequestBy = never;
  /** A response that counts as sent and is not put together yet. */
  #making: Pieces<Frame> | undefined;

  constructor(host: SessionHost, opened: StreamOpened) {
    this.stream = new Stream(host, opened);
  }

  /** The last call of `next` stopped for the sake of time: call it again. */
  get unfinished(): boolean {
    return this.stream.unfinished;
  }

  /** Everything up to this revision that concerns the stream is acknowledged or refused; 0 until it is filled. */
  get ackedRevision(): number {
    return this.filledAt !== undefined && this.idle ? this.stream.host.markedRevision : this.#rested;
  }

  // Requests

  /** Takes a request, in pieces; what comes of it ends the stream. Until it is done, nothing is to be sent. */
  *take(request: DeltaRequest | SotwRequest, now: number): Pieces<StreamError | undefined> {
    const { stream } = this;
    if (stream.node === undefined) {
      if (request.node === undefined || request.node.id === '') {
        return { reason: 'node-missing', words: 'the first request of a stream must carry a node with an id' };
      }
      const wrong = identityFault(stream.identity, request.node);
      if (wrong !== undefined) return { reason: 'wrong-identity', words: wrong };
      stream.node = request.node;
      stream.host.joined(stream, request.node);
      stream.emit({ kind: 'opened', node: request.node, peer: stream.peer, revision: stream.openedRevision }, now);
    }
    if (request.typeUrl === '') return { reason: 'type-missing', words: 'a request on ADS must have a type_url' };
    const known = stream.state(request.typeUrl);
    if (namesAfter(stream, known, request) > maxNames) {
      return { reason: 'too-many-names', words: `a stream may ask for ${maxNames} names at most` };
    }
    const state = known ?? stream.begin(request.typeUrl);
    if (state === undefined) return undefined;
    // Rule 4: in the first request of a type a nonce is one of an earlier stream.
    if (known !== undefined && request.nonce !== '') takeAnswer(stream, state, request, now);
    const first = known === undefined;
    if ('names' in request) yield* askSotw(stream, state, request, first, now);
    else yield* askDelta(stream, state, request, first, now);
    if (first) this.#watchClusterRequest(state, now);
    stream.wake();
    return undefined;
  }

  /** Takes a request that is an ACK and nothing else. False when it is not: then it is to be decoded. */
  takePlainAck(bytes: Uint8Array, now: number): boolean {
    const { stream } = this;
    if (stream.protocol !== 'delta') return false;
    for (const state of stream.astir) {
      const [response] = state.unanswered;
      if (response === undefined || state.ackHead === undefined) continue;
      if (!isPlainAck(bytes, state.ackHead, response.nonce)) continue;
      takeAnswer(stream, state, { nonce: response.nonce, error: undefined }, now);
      stream.wake();
      return true;
    }
    return false;
  }

  /** Rule 33: a client that came back with assignments should ask for clusters, too. In SotW all are sent anyway. */
  #watchClusterRequest(state: TypeState, now: number): void {
    if (state.type === typeUrls.cluster) this.#clusterRequestBy = never;
    if (state.type !== typeUrls.endpoint || !state.returned || this.stream.protocol === 'sotw') return;
    if (this.stream.state(typeUrls.cluster) === undefined) this.#clusterRequestBy = now + clusterRequestMs;
  }

  // Changes of the table

  /** A row changed, appeared or vanished that this stream may see, or could see until now. */
  mark(type: TypeUrl, name: string): void {
    const state = this.stream.state(type);
    if (state?.wants(name)) state.mark(name);
    if (type === typeUrls.cluster) this.#markStandIn(name);
    this.stream.wake();
  }

  /** A cluster whose assignment is not in the table gets an empty one (rule 25), which comes and goes with it. */
  #markStandIn(cluster: string): void {
    const { stream } = this;
    const assignments = stream.state(typeUrls.endpoint);
    if (assignments === undefined) return;
    const named = stream.table.get(typeUrls.cluster, cluster)?.assignments ?? [];
    for (const name of named.length > 0 ? named : [cluster]) {
      if (!assignments.subscription.names.has(name)) continue;
      if (visible(stream, typeUrls.endpoint, name) === undefined) assignments.mark(name);
    }
  }

  /** The node's audiences are others at once; what came or went with them is looked at, in pieces. */
  *setAudiences(audiences: ReadonlySet<string>): Pieces {
    const { stream } = this;
    const before = stream.audiences;
    stream.audiences = audiences;
    for (const audience of [...before, ...audiences]) {
      if (before.has(audience) && audiences.has(audience)) continue;
      for (const type of stream.table.typesOf(audience)) {
        // What it has not asked for is looked at when it does.
        const asked = type === typeUrls.cluster ? typeUrls.endpoint : type;
        if (stream.state(type) === undefined && stream.state(asked) === undefined) continue;
        yield* each(stream.table.namesOf(type, audience), (name) => this.mark(type, name));
      }
    }
  }

  /**
   * Looks at everything: the slow compare, which needs no log. What has no answer long after its time is taken for
   * lost.
   */
  *compare(): Pieces {
    const { stream } = this;
    for (const state of stream.states) {
      for (const response of [...state.unanswered]) if (response.overdue) abandon(stream, state, response, true);
      const names = state.subscription.wildcard ? stream.namesOf(state.type) : state.subscription.names;
      for (const some of [names, state.held.keys()]) yield* each(some, (name) => state.mark(name));
    }
    stream.wake();
  }

  /** This replica turned out to be in step with the store, or it is not known (rule 34). */
  setTrust(trust: Trust): void {
    const { stream } = this;
    if (stream.trust === trust) return;
    stream.trust = trust;
    for (const state of stream.astir) {
      for (const name of state.waiting.keys()) state.agenda.add(name);
      // Their time has not begun: until now they waited for us.
      state.waiting.clear();
    }
  }

  // Sending

  /** The next frame, or undefined when there is nothing to send now. */
  next(now: number): Frame | undefined {
    const { stream } = this;
    stream.unfinished = false;
    if (this.#making !== undefined) return this.#make(this.#making);
    stream.round += 1;
    // Never from an incomplete picture: what the table lacks would read as removed.
    if (!stream.table.ready || stream.trust === 'nothing') return undefined;
    for (const state of stream.astir) {
      const response = respond(stream, state, now);
      if (response === undefined) continue;
      if ('chunks' in response) return response;
      this.#making = response;
      stream.unfinished = true;
      return undefined;
    }
    return undefined;
  }

  /** Goes on with a large response. What is changed, asked or answered meanwhile concerns those after it. */
  #make(making: Pieces<Frame>): Frame | undefined {
    const { done, value } = making.next();
    this.#making = done ? undefined : making;
    if (done) return value;
    this.stream.unfinished = true;
    return undefined;
  }

  // Rest and time

  /** Nothing is to be sent and nothing unanswered; removals that wait until they are safe do not count. */
  get idle(): boolean {
    for (const state of this.stream.astir) {
      if (state.busy || state.unanswered.length > 0 || state.waitsToPut) return false;
    }
    return true;
  }

  /** The client has, and acknowledged, everything that it asked for, and refused nothing. */
  get calm(): boolean {
    if (this.filledAt === undefined || this.stream.trust !== 'complete') return false;
    for (const state of this.stream.astir) if (!state.settled) return false;
    return true;
  }

  /** Called when `next` had nothing: says what has been reached. */
  rest(now: number): void {
    const { stream } = this;
    stream.calmDown();
    if (stream.node === undefined || !stream.table.ready || stream.trust !== 'complete') return;
    const { idle } = this;
    const filled = this.filledAt === undefined && idle && this.#isFilled(now);
    if (idle) stream.stall = undefined;
    if (filled) this.filledAt = now;
    if (idle && this.filledAt !== undefined) this.#rested = stream.host.markedRevision;
    if (filled) stream.emit({ kind: 'filled', revision: this.#rested }, now);
    if (!stream.answered) return;
    stream.answered = false;
    stream.emitAcked(this.#rested, now);
  }

  /** Whether an idle stream has all it will ask for: between two types it may rest a moment, too. */
  #isFilled(now: number): boolean {
    if (this.stream.states.length === 0) return false;
    if (this.#fillDue || this.#complete()) return true;
    if (this.#fillAt === never) this.#fillAt = now + fillMs;
    return false;
  }

  /** A client that asks for clusters or listeners has both, and all that its listeners name. */
  #complete(): boolean {
    const { stream } = this;
    const clusters = stream.state(typeUrls.cluster);
    const listeners = stream.state(typeUrls.listener);
    if (clusters === undefined && listeners === undefined) return true;
    if (clusters === undefined || listeners === undefined) return false;
    for (const form of listeners.held.values()) {
      for (const { type, name } of form.needs ?? []) {
        const entry = visible(stream, type, name);
        const state = stream.state(type);
        if (entry === undefined || state?.held.has(name)) continue;
        if (state === undefined || !stream.withheld(state, entry.resource)) return false;
      }
    }
    return true;
  }

  /** When `tick` wants to be called next; undefined: not by time. */
  nextDeadline(): number | undefined {
    let soonest = Math.min(this.#clusterRequestBy, this.filledAt === undefined ? this.#fillAt : never);
    for (const state of this.stream.astir) {
      soonest = Math.min(soonest, state.waitingUntil);
      for (const response of state.unanswered) {
        if (!response.overdue) soonest = Math.min(soonest, response.dueAt);
      }
      for (const refusal of state.refused.values()) {
        if (refusal.retryAt !== undefined && !refusal.trying) soonest = Math.min(soonest, refusal.retryAt);
      }
    }
    return soonest === never ? undefined : soonest;
  }

  /** What was due at the time is done; where that is a great deal, it is left to be done in pieces. */
  tick(now: number): Pieces | undefined {
    const { stream } = this;
    const isCutOff = now >= this.#clusterRequestBy;
    if (isCutOff) this.#clusterRequestBy = never;
    if (now >= this.#fillAt) {
      this.#fillAt = never;
      this.#fillDue = true;
    }
    while (stream.lingering[0] !== undefined && stream.lingering[0].until <= now) stream.lingering.shift();
    for (const state of stream.astir) this.#tickType(state, now);
    return isCutOff ? this.#sendAgain() : undefined;
  }

  /** Rule 33. What the client does not hold has been answered already. */
  *#sendAgain(): Pieces {
    for (const type of [typeUrls.endpoint, typeUrls.secret]) {
      const state = this.stream.state(type);
      if (state !== undefined) yield* each(state.held.keys(), (name) => state.mark(name, true));
    }
  }

  #tickType(state: TypeState, now: number): void {
    if (now >= state.waitingUntil) {
      state.waitingUntil = never;
      state.recheck = true;
    }
    for (const [name, refusal] of state.refused) {
      if (refusal.retryAt === undefined || refusal.trying || now < refusal.retryAt) continue;
      state.refuse(name, { ...refusal, trying: true });
      state.suspects.add(name);
      state.mark(name);
    }
    for (const response of [...state.unanswered]) {
      if (!response.overdue && now >= response.dueAt) {
        this.#late(state, response, now);
      }
    }
  }

  #late(state: TypeState, response: Response, now: number): void {
    response.overdue = true;
    this.stream.stalled('answer', state.type, [...response.puts.keys(), ...response.removals], undefined, now);
    // Stuck warming: Envoy answers nothing for clusters until the last one is ready, or pushed again.
    if (!state.traits.warms || state.pushesAgain >= maxPushesAgain) return;
    state.pushesAgain += 1;
    // An assignment may have been lost. If it was not that, there is a cluster that Envoy refused and cannot say so.
    if (state.pushesAgain === 1) abandon(this.stream, state, response, true);
    else this.#takeBack(state, response);
  }

  /**
   * Gives the client back what it had before a response that it does not answer. What was new in it and is in use by now
   * stays: its assignment was asked for, so it is ready. Then the answer comes, and names who is to blame.
   */
  #takeBack(state: TypeState, response: Response): void {
    const assignments = this.stream.state(typeUrls.endpoint);
    for (const [name, form] of response.puts) {
      const held = state.held.get(name);
      const assignment = form.needs.find(({ type }) => type === typeUrls.endpoint)?.name ?? name;
      if (held?.hash === form.hash || (held === undefined && assignments?.subscription.names.has(assignment))) continue;
      state.takeBack.set(name, form.hash);
      state.suspects.add(name);
      state.mark(name);
      response.takenBack ??= new Set();
      response.takenBack.add(name);
    }
  }

  close(now: number): void {
    if (this.stream.node !== undefined) this.stream.emit({ kind: 'closed' }, now);
    this.#making = undefined;
    this.stream.end();
  }
}

/** Rule 41: a client is who its certificate says it is, whatever it calls itself. */
function identityFault(identity: PeerIdentity | undefined, node: NodeInfo): string | undefined {
  if (identity === undefined) return undefined;
  const { nodeId, cluster } = identity;
  if (node.id !== nodeId) return `the certificate is that of the node ${nodeId}, not of ${claimOf(node.id)}`;
  if (node.cluster === cluster) return undefined;
  return `the certificate is for the fleet ${cluster}, not for ${claimOf(node.cluster)}`;
}

/** What a client calls itself is as long as it likes. */
function claimOf(text: string): string {
  return text.length <= maxClaim ? text : `${text.slice(0, maxClaim)}…`;
}

/** How many names the stream asks for, at most, once it has taken the request. */
function namesAfter(stream: Stream, state: TypeState | undefined, request: DeltaRequest | SotwRequest): number {
  if (!('names' in request)) return stream.namesAsked + request.subscribe.length;
  return stream.namesAsked - (state?.subscription.names.size ?? 0) + request.names.length;
}
