import type { Logger } from '../telemetry/log.ts';
import type { Chronicle } from './chronicle.ts';
import type { MutualTls } from './mutual-tls.ts';

export interface ExpiryWatchOptions {
  readonly expiry: NonNullable<MutualTls['expiry']>;
  readonly chronicle: Pick<Chronicle, 'tell'>;
  readonly log: Logger;
}

/** Repeats are counted in one event: whoever looks sees that it is still so. */
const everyMs = 3_600_000;

/** Tells, again and again, that what signs for nodes and controllers ends soon. Gives the function that ends it. */
export function watchExpiry({ expiry, chronicle, log }: ExpiryWatchOptions): () => void {
  function look(): void {
    const { at, isNear } = expiry();
    if (!isNear) return;
    const notAfter = new Date(at).toISOString();
    log.warn({ event: 'authority_expiring', notAfter });
    chronicle.tell('AuthorityExpiring', `what signs for nodes ends at ${notAfter}, and no certificate outlives it`);
  }

  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
