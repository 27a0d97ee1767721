import { backoffMs } from '../../lib/backoff.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Identity } from './identity.ts';
import { MembershipRefused } from './registrar.ts';

export interface Renewal {
  close(): Promise<void>;
}

export interface RenewalOptions {
  readonly identity: Identity;
  /** Gets the next one and stores it. */
  readonly renew: (present: Identity) => Promise<Identity>;
  /** For people. */
  readonly note: (text: string) => void;
  readonly now: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Nodes that were started together do not come together: they are early by up to so much of their certificate's life. */
const spread = 0.05;
const retry = { baseMs: 1_000, maxMs: 5 * 60_000 } as const;
/** setTimeout fires at once for longer delays. */
const maxTimerMs = 2 ** 31 - 1;

/** Near the end of what signs, the next certificate ends with the present one: nobody asks for it in a loop. */
const minAgeMs = 1_000;

/** How long after it was made a certificate is renewed: two thirds of its life, or a little less. */
export function renewalAgeMs(present: Pick<Identity, 'issuedAt' | 'notAfter'>, random: number): number {
  return Math.max(minAgeMs, lifeMs(present) * (2 / 3 - spread * random));
}

function lifeMs({ issuedAt, notAfter }: Pick<Identity, 'issuedAt' | 'notAfter'>): number {
  return Date.parse(notAfter) - Date.parse(issuedAt);
}

/** A third of the life is left to try again in; attempts never get so rare that fewer than ten fit into it. */
export function retryPauseMs(
  present: Pick<Identity, 'issuedAt' | 'notAfter'>,
  attempt: number,
  random: number,
): number {
  const life = lifeMs(present);
  return backoffMs(attempt, {
    ...retry,
    baseMs: Math.min(retry.baseMs, life / 60),
    maxMs: Math.min(retry.maxMs, life / 30),
    random,
  });
}

/**
 * Keeps an identity fresh for as long as the process runs. What it cannot reach it tries again; a refusal is final, and
 * is told: the proxy goes on with what it has, and is shut out by its controllers.
 */
export function startRenewal({ identity, renew, note, now, random }: RenewalOptions): Renewal {
  let present = identity;
  let attempt = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  function at(time: number): void {
    if (closed) return;
    const delayMs = Math.max(0, time - now());
    timer = setTimeout(() => (delayMs > maxTimerMs ? at(time) : start()), Math.min(delayMs, maxTimerMs));
  }

  function start(): void {
    running = turn();
  }

  async function turn(): Promise<void> {
    try {
      present = await renew(present);
      attempt = 0;
      // From now on and not from what the server's clock said: with another one we would ask again at once, for ever.
      at(now() + renewalAgeMs(present, random()));
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      if (error instanceof MembershipRefused) {
        note(`the certificate is not renewed any more: ${words}`);
        return;
      }
      if (attempt === 0) note(`the certificate cannot be renewed yet: ${words}`);
      const pauseMs = retryPauseMs(present, attempt, random());
      attempt += 1;
      at(now() + pauseMs);
    }
  }

  at(Date.parse(present.issuedAt) + renewalAgeMs(present, random()));
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
