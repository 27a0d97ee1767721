/**
 * What is on its way to a client of one type: for each name, the newest response that has it. A large response stands
 * for its names as a whole; only what happened to some of them since is noted name by name.
 */
import { FewMap } from '../lib/few.ts';
import type { Resource } from './resource.ts';

/** A response that the client has not answered. */
export interface Response {
  readonly nonce: string;
  readonly sentAt: number;
  /** When an answer should have come: clusters with checks, DNS or TLS take their time. */
  readonly dueAt: number;
  /** Revision of the table when it was made. */
  readonly revision: number;
  /** Shared with other streams. */
  puts: ReadonlyMap<string, Resource>;
  readonly removals: readonly string[];
  /** Of the names of which it holds an older form: as of which revision. */
  readonly older: ReadonlyMap<string, number>;
  /** The answer is past its deadline and that was said. */
  overdue: boolean;
  /**
   * Names of which an acknowledgement says nothing any more: Envoy takes a cluster that it refused once when it comes
   * again unchanged.
   */
  takenBack: Set<string> | undefined;
}

export class Flights {
  /** From so many resources on a response is large. */
  readonly #largeFrom: number;
  /** Large responses, oldest first. */
  #whole: readonly Response[] = [];
  /** Goes before what the large ones say; undefined: they have the name no more. */
  readonly #single = new FewMap<string, Response | undefined>();

  constructor(largeFrom: number) {
    this.#largeFrom = largeFrom;
  }

  get isEmpty(): boolean {
    // Without large ones, each single one stands for a flight.
    if (this.#whole.length === 0) return this.#single.size === 0;
    for (const _ of this) return false;
    return true;
  }

  get(name: string): Response | undefined {
    const single = this.#single;
    if (single.size > 0) {
      const response = single.get(name);
      if (response !== undefined || single.has(name)) return response;
    }
    return this.#wholeWith(name);
  }

  #wholeWith(name: string): Response | undefined {
    return this.#whole.length === 0 ? undefined : this.#whole.findLast(({ puts }) => puts.has(name));
  }

  add(response: Response): void {
    const { puts, removals } = response;
    if (puts.size < this.#largeFrom) for (const name of puts.keys()) this.#single.set(name, response);
    else {
      for (const name of this.#single.keys()) if (puts.has(name)) this.#single.delete(name);
      this.#whole = [...this.#whole, response];
    }
    for (const name of removals) this.#single.set(name, response);
  }

  delete(name: string): void {
    if (this.#wholeWith(name) === undefined) this.#single.delete(name);
    else this.#single.set(name, undefined);
  }

  /** Ends the flight of a name, if it is still the one of this response; false when it is not. */
  land(name: string, nonce: string): boolean {
    this.#takeApart(nonce);
    if (this.get(name)?.nonce !== nonce) return false;
    this.delete(name);
    return true;
  }

  /**
   * Ends the flight of all that a large response puts, if nothing happened to any of it since. False, and nothing is
   * done, when something did.
   */
  landWhole({ nonce, puts }: Response): boolean {
    const at = this.#whole.findIndex((response) => response.nonce === nonce);
    if (at < 0) return false;
    for (const name of this.#single.keys()) if (puts.has(name)) return false;
    for (const newer of this.#whole.slice(at + 1)) {
      for (const name of puts.keys()) if (newer.puts.has(name)) return false;
    }
    this.#whole = this.#whole.toSpliced(at, 1);
    return true;
  }

  /** From now on a large response is known name by name. */
  #takeApart(nonce: string): void {
    if (this.#whole.length === 0) return;
    const response = this.#whole.find((one) => one.nonce === nonce);
    if (response === undefined) return;
    const own = [...response.puts.keys()].filter((name) => this.get(name) === response);
    this.#whole = this.#whole.filter((one) => one !== response);
    for (const [name, single] of this.#single) {
      if (single === undefined && this.#wholeWith(name) === undefined) this.#single.delete(name);
    }
    for (const name of own) this.#single.set(name, response);
  }

  *keys(): Generator<string> {
    for (const [name] of this) yield name;
  }

  *[Symbol.iterator](): Generator<[string, Response]> {
    for (const [name, response] of this.#single) if (response !== undefined) yield [name, response];
    for (const response of this.#whole) {
      for (const name of response.puts.keys()) if (this.get(name) === response) yield [name, response];
    }
  }
}
