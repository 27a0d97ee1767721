import type { EtcdQuorum } from './etcd-quorum.ts';

/**
 * Milliseconds that a call may take in all where no majority of etcd's members answers, or nothing is known of it: an
 * answer or `StoreUnavailable`, so that who writes through the API hears of it within two seconds.
 */
export const callLimitMs = 1_800;

/**
 * And while a majority answers: it has a leader, or elects one, which takes up to twice the election timeout of etcd
 * (one second unless it is set), and again where two members ran at the same time. Longer is no election: nothing is
 * waited for beyond `callLimitMs` once etcd has been silent for so long, and members that reach us but not each other
 * hold nobody up for ever.
 */
export const electionLimitMs = 5_000;

/** Members are asked whether they are there from then on, in time for an answer before `callLimitMs`. */
const suspectMs = 800;

const lookAgainMs = 100;

/** How long a call, or several that serve one purpose, may still take. */
export interface CallTime {
  /** Aborts when it is over. */
  readonly over: AbortSignal;
  /** Milliseconds that one attempt gets which begins now. */
  attemptMs(): number;
  /** Nobody waits any more. */
  end(): void;
}

/** So long and no longer. */
export function fixedTime(limitMs: number): CallTime {
  const over = new AbortController();
  const endsAt = performance.now() + limitMs;
  const timer = setTimeout(() => over.abort(), Math.max(0, limitMs));
  return {
    over: over.signal,
    attemptMs: () => Math.max(0, endsAt - performance.now()),
    end: () => clearTimeout(timer),
  };
}

/**
 * How long calls wait for an etcd that does not answer. One per connection.
 *
 * ```
 *   asked ──▶ 1.8 s ──▶ does a majority of members answer? ── no ──▶ over
 *                        │ yes: an election, which will end           ▲
 *                        ▼                                            │ none answers any more, or etcd
 *                       wait on, and look again all the time ─────────┘ has been silent for 5 s
 * ```
 */
export class EtcdPatience {
  readonly #quorum: EtcdQuorum;
  /** When the first of the calls was asked that came after the last answer. */
  #silentSince: number | undefined;

  constructor(quorum: EtcdQuorum) {
    this.#quorum = quorum;
  }

  /** Somebody calls. */
  asked(): void {
    this.#silentSince ??= performance.now();
  }

  /** One of the calls was answered, by a cluster that has a leader. */
  answered(): void {
    this.#silentSince = undefined;
  }

  begin(): CallTime {
    const over = new AbortController();
    const begun = performance.now();
    let stopLooking = (): void => undefined;
    const end = (): void => {
      clearTimeout(suspecting);
      clearTimeout(deciding);
      clearImmediate(settling);
      stopLooking();
    };
    const decide = (): void => {
      if (this.#isWorthWaiting(begun)) {
        deciding = setTimeout(afterAnswers, lookAgainMs);
        return;
      }
      end();
      over.abort();
    };
    let settling: NodeJS.Immediate | undefined;
    // A process that was held up finds its timers first, and only then the answers that have come long since.
    const afterAnswers = (): void => {
      settling = setImmediate(decide);
    };
    const suspecting = setTimeout(() => {
      stopLooking = this.#quorum.look();
    }, suspectMs);
    let deciding = setTimeout(afterAnswers, callLimitMs);
    return { over: over.signal, attemptMs: () => callLimitMs, end };
  }

  #isWorthWaiting(begun: number): boolean {
    const silentSince = Math.min(begun, this.#silentSince ?? begun);
    return performance.now() < silentSince + electionLimitMs && this.#quorum.answers;
  }
}
