/**
 * What a stream is made of: who is at the other end, what it may see, and its state of each type. The session
 * drives it; answering and sending (answers.ts, responder.ts) work on it.
 */
import type { Batches } from './batches.ts';
import type { Counts } from './counts.ts';
import type { Fills } from './fills.ts';
import type { Forms, Version } from './forms.ts';
import type { Editions } from './holdings.ts';
import type { NameLists } from './name-lists.ts';
import { NameSet } from './name-set.ts';
import { type Linger, type StreamView, visible } from './needs.ts';
import type { NodeInfo } from './node-info.ts';
import { maxStalledNames, type Progress, type Stall } from './progress.ts';
import { type Need, type Resource, type TypeUrl, typeUrls } from './resource.ts';
import type { Runs } from './runs.ts';
import type { Table } from './table.ts';
import { TypeState } from './type-state.ts';
import { isKnownType } from './types.ts';
import type { Protocol } from './wire.ts';

export interface SessionOptions {
  /** `control_plane.identifier` of every response. */
  readonly identifier: string;
  /** Responses of more than one resource are split at this size. */
  readonly maxFrameBytes: number;
  /** The same as `Commit.audiences[].drainMs`, for nodes of which that says nothing. */
  readonly drainMs: number;
  /** How long a resource waits for what it needs, beyond the warm-up of the latter. */
  readonly needMs: number;
  /** How long an answer may take before the stream counts as stalled. */
  readonly answerMs: number;
  /** From so many names on, what streams have in common is kept once. */
  readonly shareFrom: number;
}

/** What a stream reads of the server it belongs to, and whom it tells. */
export interface SessionHost {
  readonly table: Table;
  readonly forms: Forms;
  readonly options: SessionOptions;
  /** Changes up to this revision have been marked on all streams. */
  readonly markedRevision: number;
  readonly batches: Batches;
  readonly runs: Runs;
  readonly editions: Editions;
  readonly nameLists: NameLists;
  readonly fills: Fills;
  readonly counts: Counts;
  /** What responses of the type have in common now. */
  responseHead(protocol: Protocol, type: TypeUrl): Uint8Array;
  joined(stream: Stream, node: NodeInfo): void;
  emit(progress: Progress): void;
  /** A batch was refused that held the name: it is tried anew, by one stream of the version. */
  doubt(stream: Stream, type: TypeUrl, name: string): void;
  /** The stream that was to try the name cannot. */
  passOn(type: TypeUrl, name: string): void;
  /** Whether another stream of the same version holds the form. */
  heldElsewhere(stream: Stream, type: TypeUrl, name: string, hash: string): boolean;
  /** A form of a name in doubt, or one that was convicted, turned out to be good. */
  proven(stream: Stream, resource: Resource, revision: number, acquitted: boolean, at: number): void;
  /** Whether it is for this stream to try a form of a name in doubt. */
  isCanary(stream: Stream, resource: Resource): boolean;
}

/**
 * `nothing`: it is not known how far this replica lags behind the store, so the stream is sent nothing. `additions`:
 * nor can it be found out, so nothing is removed, and nothing replaced that may be newer. `complete`: it has reached
 * what the store had when the stream opened.
 */
export type Trust = 'nothing' | 'additions' | 'complete';

/**
 * What is known of a client before it says anything, from its certificate: the node and cluster that it may call itself
 * (rule 41).
 */
export interface PeerIdentity {
  readonly nodeId: string;
  readonly cluster: string;
}

/** Types without rules of their own on one stream: agents use a handful, and nobody needs more. */
const maxOtherTypes = 32;

export class Stream implements StreamView {
  readonly id: string;
  readonly peer: string;
  readonly protocol: Protocol;
  readonly openedAt: number;
  readonly openedRevision: number;
  /** Undefined: anybody may be at the other end. */
  readonly identity: PeerIdentity | undefined;
  readonly host: SessionHost;
  /** How far this replica may be believed to know the newest (rule 34). */
  trust: Trust;
  readonly lingering: Linger[] = [];
  /** What clusters sent on this stream use of types that were not asked for yet (rule 33). */
  readonly used = new Map<TypeUrl, NameSet>([
    [typeUrls.endpoint, new NameSet()],
    [typeUrls.secret, new NameSet()],
  ]);
  /** Set by the first request. */
  node: NodeInfo | undefined;
  audiences: ReadonlySet<string> = new Set();
  returned = false;
  /** Others of its version accepted what this client refused. */
  isOdd = false;
  /** Something was late and nothing has been at rest since. */
  stall: Stall | undefined;
  /** An answer came in that has not been reported. */
  answered = false;
  /** When the response was sent that was answered last. */
  answeredSentAt = 0;
  /** Counts the calls of `next`: between two of them the client may come to use something else. */
  round = 0;
  /** Responding stopped for the sake of time. */
  unfinished = false;
  #version: Version | undefined;
  readonly #nonceTag: string;
  /** In the order in which a push sends them. */
  #ordered: readonly TypeState[] = [];
  /** The types of these, in the same order: half a dozen are found faster one by one than by their hash. */
  #types: readonly TypeUrl[] = [];
  readonly #astir: TypeState[] = [];
  #sent = 0;
  /** Names of secrets of others that were asked for: each is told once. */
  #foreign = new Set<string>();

  constructor(host: SessionHost, opened: StreamOpened) {
    this.host = host;
    this.id = opened.id;
    this.peer = opened.peer;
    this.protocol = opened.protocol;
    this.trust = opened.trust;
    this.openedAt = opened.now;
    this.identity = opened.identity;
    this.openedRevision = host.table.revision;
    this.#nonceTag = opened.nonceTag;
  }

  get table(): Table {
    return this.host.table;
  }

  /** How long what a removed listener used stays, for the connections that it drains. */
  get drainMs(): number {
    return (this.node && this.table.drainMsOf(this.node)) ?? this.host.options.drainMs;
  }

  /** The states of all types asked for, in the order in which a push sends them. */
  get states(): readonly TypeState[] {
    return this.#ordered;
  }

  /**
   * Those of them that have anything to send, to wait for, or refused, in the same order: a change is of one type or
   * two, and each of a thousand streams is asked for it several times.
   */
  get astir(): readonly TypeState[] {
    return this.#astir;
  }

  /** Leaves out of `astir` those that have come to rest. */
  calmDown(): void {
    for (let at = this.#astir.length - 1; at >= 0; at -= 1) {
      const state = this.#astir[at];
      if (state?.rests !== true) continue;
      state.astir = false;
      this.#astir.splice(at, 1);
    }
  }

  #stir(state: TypeState): void {
    const before = this.#astir.findIndex(({ traits }) => traits.order > state.traits.order);
    if (before < 0) this.#astir.push(state);
    else this.#astir.splice(before, 0, state);
  }

  state(type: TypeUrl): TypeState | undefined {
    const at = this.#types.indexOf(type);
    return at < 0 ? undefined : this.#ordered[at];
  }

  /** Names that the client asks for now, of all types. */
  get namesAsked(): number {
    return this.#ordered.reduce((sum, { subscription }) => sum + subscription.names.size, 0);
  }

  /** Makes the state of a type; undefined when the stream has asked for too many types. */
  begin(type: TypeUrl): TypeState | undefined {
    if (!isKnownType(type)) {
      const others = this.#ordered.filter((state) => !isKnownType(state.type)).length;
      if (others >= maxOtherTypes) return undefined;
    }
    const state = new TypeState(type, this.host.counts.of(type), this.host.editions, (astir) => this.#stir(astir));
    this.#ordered = [...this.#ordered, state].sort((a, b) => a.traits.order - b.traits.order);
    this.#types = this.#ordered.map((one) => one.type);
    return state;
  }

  /** Rule 42. */
  end(): void {
    this.#ordered = [];
    this.#types = [];
    this.#astir.length = 0;
    this.lingering.length = 0;
    this.used.clear();
    this.#foreign.clear();
  }

  /** Names of a type that the stream's audiences have. */
  *namesOf(type: TypeUrl): Generator<string> {
    for (const audience of this.audiences) yield* this.table.namesOf(type, audience);
  }

  /** Something happened that may end the waiting of names. */
  wake(): void {
    for (const state of this.#astir) if (state.waiting.size > 0) state.recheck = true;
  }

  /** Nothing is to be sent, as far as is known without a closer look. */
  get quiet(): boolean {
    for (const state of this.#astir) if (state.busy || state.recheck) return false;
    return true;
  }

  /** Rule 4: unique in this stream, and not equal to one of another stream either. */
  nextNonce(): string {
    const nonce = `${this.#nonceTag}${this.#sent.toString(36)}`;
    this.#sent += 1;
    return nonce;
  }

  /** What the client runs: refusals are those of a version. */
  get version(): Version {
    const { node } = this;
    if (node === undefined) return '';
    this.#version ??= `${node.userAgent} ${node.version}`.trim();
    return this.#version;
  }

  withheld(state: TypeState, resource: Resource): boolean {
    const refusal = state.refused.get(resource.name);
    if (refusal?.hash === resource.hash) return !refusal.trying;
    return (
      this.host.forms.conviction(this.version, state.type, resource.name, resource.hash) !== undefined &&
      state.held.get(resource.name)?.hash !== resource.hash
    );
  }

  /** The form is in doubt, and it is for another stream to try it. */
  awaitsTrial(state: TypeState, resource: Resource): boolean {
    const { type, name, hash } = resource;
    if (!this.host.forms.isOnTrial(this.version, type, name, hash) || visible(this, type, name) === undefined)
      return false;
    if (state.held.get(name)?.hash === hash || this.host.isCanary(this, resource)) return false;
    // A client that accepts an older form later does not undo that another has accepted this one.
    return !this.host.heldElsewhere(this, type, name, hash);
  }

  /** Whether the form goes in a response of its own, so that a refusal names it. */
  goesAlone(state: TypeState, { type, name, hash }: Resource): boolean {
    const { forms } = this.host;
    if (state.refused.get(name)?.trying === true) return true;
    if (forms.isOnTrial(this.version, type, name, hash)) return true;
    return state.suspects.has(name) && forms.acceptedBy(this.version, type, name)?.form.hash !== hash;
  }

  /** The client turned out to have this form, as of a revision of the table. */
  accepted(type: TypeUrl, name: string, form: Resource, now: number, revision = this.table.revision): void {
    const { forms } = this.host;
    const outcome = forms.accept(this.version, type, name, form, revision);
    if (outcome === 'known') return;
    const acquitted = outcome === 'acquitted';
    this.host.proven(this, form, revision, acquitted, now);
  }

  stalled(
    reason: 'needs' | 'answer',
    type: TypeUrl,
    names: readonly string[],
    missing: Need | undefined,
    now: number,
  ): void {
    const some = names.slice(0, maxStalledNames);
    this.stall = { reason, type, names: some, missing, at: now };
    this.emit({ kind: 'stalled', reason, type, names: some, missing }, now);
  }

  /** The client asked for a resource that is there, but not for it: it is answered as if there were none (rule 41). */
  tellForeign(type: TypeUrl, name: string, now: number): void {
    if (this.#foreign.has(name)) return;
    this.#foreign.add(name);
    this.emit({ kind: 'foreign', type, name, cluster: this.node?.cluster ?? '' }, now);
  }

  emitAcked(revision: number, at: number): void {
    const nodeId = this.node?.id ?? '';
    this.host.emit({ kind: 'acked', streamId: this.id, nodeId, revision, sentAt: this.answeredSentAt, at });
  }

  emit(event: OfThisStream<Progress>, at: number): void {
    this.host.emit({ ...event, streamId: this.id, nodeId: this.node?.id ?? '', at } as Progress);
  }
}

export interface StreamOpened {
  readonly id: string;
  /** Address of the client, for people. */
  readonly peer: string;
  readonly protocol: Protocol;
  readonly trust: Trust;
  readonly identity?: PeerIdentity | undefined;
  /** Random text that begins every nonce of the stream. */
  readonly nonceTag: string;
  readonly now: number;
}

/** An event without what every event of a stream has. */
type OfThisStream<T> = T extends { readonly streamId: string } ? Omit<T, 'streamId' | 'nodeId' | 'at'> : never;
