/**
 * What one stream knows of one type: what was asked for, what the client holds, what is on the way and what is still
 * to be looked at. There is never a queue of responses: `agenda` is a set of names, and what is sent of them is read
 * from the table at the moment of sending.
 */
import { FewMap, FewSet } from '../lib/few.ts';
import { Agenda } from './agenda.ts';
import type { TypeCounts } from './counts.ts';
import { Flights, type Response } from './flights.ts';
import type { Form } from './forms.ts';
import { type Editions, Holdings } from './holdings.ts';
import type { NameList } from './name-set.ts';
import type { Pieces } from './pieces.ts';
import { ackHeads } from './plain-ack.ts';
import type { Rejection } from './progress.ts';
import type { Need, TypeUrl } from './resource.ts';
import { createSubscription, type Subscription, wants } from './subscription.ts';
import type { Entry } from './table.ts';
import { type TypeTraits, traitsOf } from './types.ts';

/** A refusal by this client. */
export interface Refusal {
  readonly hash: string;
  readonly words: string;
  readonly scope: Rejection['scope'];
  /** Of the first refusal of this form, in milliseconds since 1970. */
  readonly since: number;
  /** Of a fault of the host: when it is tried again, and how long after that. */
  readonly retryAt: number | undefined;
  readonly backoffMs: number;
  /** That time has come: the resource may be sent. */
  readonly trying: boolean;
}

export interface Waiting {
  readonly since: number;
  /** Of a resource in pieces: what was missing then. What came to be missing later has a time of its own. */
  readonly missing?: readonly Need[];
  /** A resource waits for what it needs; a removal waits for what needs the name. */
  readonly what: 'put' | 'removal';
}

/** How far a full set is judged. */
interface Judging {
  names: Iterator<string, undefined>;
  /** The first name met that goes alone. */
  suspect: string | undefined;
  /** Others had their turn after the end of it. */
  isPaused: boolean;
}

export class TypeState {
  readonly type: TypeUrl;
  readonly traits: TypeTraits;
  /** Of the type on all streams. */
  readonly counts: TypeCounts;
  /** See plain-ack.ts. */
  readonly ackHead: Uint8Array | undefined;
  readonly subscription: Subscription = createSubscription();
  /** What the client acknowledged, or brought along from an earlier stream. */
  readonly held: Holdings;
  /** The newest response that has the name, of those that are on the way; without a form it is removed there. */
  readonly flying: Flights;
  /** Names to be looked at. */
  readonly agenda = new Agenda();
  readonly waiting = new FewMap<string, Waiting>();
  /** Judged already, for a full set that is not judged to its end. */
  readonly prepared = new FewMap<string, Entry | 'remove'>();
  /** The way through the agenda for that. */
  judging: Judging | undefined;
  /** Names of a refused batch: each is sent again alone, so that a refusal names itself. */
  readonly suspects = new FewSet<string>();
  readonly refused = new FewMap<string, Refusal>();
  /**
   * Names of which the client may keep a form half-made that it refused, or never answered for, with the hash of that.
   * Unless another one is to be sent, it gets once more what it had before, or the removal of what it never had.
   */
  readonly takeBack = new FewMap<string, string>();
  readonly unanswered: Response[] = [];
  /** The first wildcard request is answered even when there is nothing (rule 29). */
  #owesAnswer = false;
  /** The client came with what it has of an earlier stream. */
  returned = false;
  /** Something happened that may end the waiting of names. */
  recheck = false;
  /** The earliest time at which a waiting name goes on unasked. */
  waitingUntil = Number.POSITIVE_INFINITY;
  /** How often an unanswered response was sent again. */
  pushesAgain = 0;
  sentRevision = 0;
  ackedRevision = 0;

  /** It is among those of its stream that are astir. */
  astir = false;
  readonly #onAstir: (state: TypeState) => void;

  /** `onAstir` is told when there comes to be something to send, to wait for, or refused, where there was nothing. */
  constructor(type: TypeUrl, counts: TypeCounts, editions: Editions, onAstir: (state: TypeState) => void) {
    this.type = type;
    this.held = new Holdings(type, editions);
    this.flying = new Flights(editions.shareFrom);
    this.#onAstir = onAstir;
    this.counts = counts;
    this.traits = traitsOf(type);
    this.ackHead = ackHeads.get(type);
  }

  wants(name: string): boolean {
    return wants(this.subscription, name);
  }

  /** What the client has once it accepted all that is on the way. */
  expected(name: string): Form | undefined {
    const flight = this.flying.get(name);
    return flight === undefined ? this.held.get(name) : flight.puts.get(name);
  }

  get owesAnswer(): boolean {
    return this.#owesAnswer;
  }

  set owesAnswer(owes: boolean) {
    this.#owesAnswer = owes;
    if (owes) this.#stir();
  }

  #stir(): void {
    if (this.astir) return;
    this.astir = true;
    this.#onAstir(this);
  }

  /** Nothing is to be sent, nothing on its way, nothing waits and nothing is refused. */
  get rests(): boolean {
    return (
      !this.busy &&
      this.unanswered.length === 0 &&
      this.flying.isEmpty &&
      this.waiting.size === 0 &&
      this.refused.size === 0
    );
  }

  /** Something was refused, or may be there half-made. */
  get hasDoubts(): boolean {
    return this.suspects.size > 0 || this.refused.size > 0 || this.takeBack.size > 0;
  }

  /** Of no name is there anything to be looked at, to wait for or in doubt: to {@link leave} one changes nothing. */
  get isPlain(): boolean {
    return this.agenda.isEmpty && this.prepared.size === 0 && this.waiting.size === 0 && !this.hasDoubts;
  }

  refuse(name: string, refusal: Refusal): void {
    this.refused.set(name, refusal);
    this.#stir();
  }

  /** Notes that a response is on its way. */
  fly(response: Response): void {
    this.#stir();
    this.flying.add(response);
    this.unanswered.push(response);
  }

  /** Forms that the client may be using now: held ones and those on the way. */
  *inUse(): Generator<Form> {
    yield* this.held.values();
    for (const [name, { puts }] of this.flying) {
      const form = puts.get(name);
      if (form !== undefined) yield form;
    }
  }

  /** Marks a name as to be looked at; `force`: answer even if unchanged. */
  mark(name: string, force = false): void {
    this.agenda.add(name, force);
    this.#stir();
  }

  /** Marks all names of a list. */
  *markList(list: NameList, force: boolean): Pieces {
    if (list.names.length === 0) return;
    this.#stir();
    yield* this.agenda.addList(list, force, this.held.size === 0 && this.flying.isEmpty);
  }

  /** The client no longer has or wants the name. */
  drop(name: string): void {
    this.held.delete(name);
    this.flying.delete(name);
    this.leave(name);
    this.suspects.delete(name);
    this.refused.delete(name);
    this.takeBack.delete(name);
  }

  /** Nothing is to be done about the name for now. */
  leave(name: string): void {
    this.agenda.delete(name);
    // Nearly always empty, and asked a thousand times for each change.
    if (this.waiting.size > 0) this.waiting.delete(name);
    if (this.prepared.size > 0) this.prepared.delete(name);
  }

  /** Something is still to be sent, or to be looked at. */
  get busy(): boolean {
    return this.agenda.size > 0 || this.prepared.size > 0 || this.#owesAnswer;
  }

  /** The client has all that it should have, and refused nothing. What it has until connections are drained is no more. */
  get settled(): boolean {
    return !this.busy && this.flying.isEmpty && !this.waitsToPut && this.refused.size === 0;
  }

  /** Names whose newest form is on the way, waits or is still to be sent; not those that are to go once that is safe. */
  get pending(): number {
    // Without a list of them: it is asked of a thousand streams, and each may have ten thousand.
    let count = this.agenda.size;
    for (const name of this.prepared.keys()) if (!this.agenda.has(name)) count += 1;
    for (const name of this.flying.keys()) if (!this.agenda.has(name) && !this.prepared.has(name)) count += 1;
    for (const [name, { what }] of this.waiting) {
      const isCounted = this.agenda.has(name) || this.prepared.has(name) || this.flying.get(name) !== undefined;
      if (what === 'put' && !isCounted) count += 1;
    }
    return count;
  }

  /** A resource waits for what it needs, and is not being looked at again. */
  get waitsToPut(): boolean {
    if (this.waiting.size === 0) return false;
    for (const [name, { what }] of this.waiting) if (what === 'put' && !this.agenda.has(name)) return true;
    return false;
  }

  /** Responses that may be unanswered now. A refusal beside something that warms would never be told. */
  get window(): number {
    return this.traits.warms && this.suspects.size > 0 ? 1 : this.traits.window;
  }

  /** Responses that count against the window: an overdue one must not stop the type (rule 15). */
  get inWindow(): number {
    let count = 0;
    for (const response of this.unanswered) if (!response.overdue) count += 1;
    return count;
  }

  /** Unanswered responses that were sent before the one with this nonce. */
  before(nonce: string): readonly Response[] {
    const at = this.unanswered.findIndex((response) => response.nonce === nonce);
    return at < 0 ? [] : this.unanswered.slice(0, at);
  }

  /** Takes the response with this nonce out of the unanswered ones. */
  take(nonce: string): Response | undefined {
    const [first] = this.unanswered;
    // They are answered in order, as a rule.
    if (first?.nonce === nonce) return this.unanswered.shift();
    const at = this.unanswered.findIndex((response) => response.nonce === nonce);
    if (at < 0) return undefined;
    const [response] = this.unanswered.splice(at, 1);
    // Answered out of order: what is known of these names now must not be undone by the older answer.
    for (const older of this.unanswered.slice(0, at)) {
      older.puts = new Map([...older.puts].filter(([name]) => response?.puts.has(name) !== true));
    }
    return response;
  }

  /** Notes that a name waits. Gives the time since when; a newer form of the same does not begin anew. */
  wait(name: string, what: Waiting['what'], now: number, missing?: () => readonly Need[]): number {
    const waiting = this.waiting.get(name);
    if (waiting?.what === what) return waiting.since;
    this.#stir();
    this.waiting.set(name, { since: now, what, ...(missing === undefined ? {} : { missing: missing() }) });
    return now;
  }
}
