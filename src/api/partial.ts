import { FairwayError } from '../lib/errors.ts';
import type { MissingController } from './ports.ts';

/** Added to an answer that controllers did not contribute to; a whole answer has no word of it. */
export function withMissing(missing: readonly MissingController[]): { missing?: readonly MissingController[] } {
  return missing.length === 0 ? {} : { missing };
}

/**
 * What nobody has found. While some controller does not answer it may be there all the same: whoever asks is told to try
 * again, and not that there is none. `message` begins with what was being done.
 */
export function notFound(message: string, missing: readonly MissingController[]): FairwayError {
  if (missing.length === 0) return new FairwayError('NotFound', message);
  const silent = missing.map(
    ({ controller, since, reason }) => `${controller} has not answered since ${since}: ${reason}`,
  );
  return new FairwayError('NotReady', `${message} (${silent.join('; ')})`, {
    extra: { missing },
  });
}
