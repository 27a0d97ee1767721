import { FairwayError } from '../lib/errors.ts';
import type { Limits } from './limits.ts';
import type { View } from './ports.ts';
import { wholeNumber } from './query.ts';

/** Reading from this controller's View, which may be behind what another one has answered. */

export const minRevisionParameter = {
  minRevision: wholeNumber(
    'Answer only once this controller has reached the store revision; 504 when it does not in time.',
    0,
  ),
} as const;

/** Waits for a revision that the reader has heard of. Throws `RevisionTimeout`. */
export async function reachedForReading(view: View, revision: number | undefined, { waitMs }: Limits): Promise<void> {
  if (revision === undefined || view.revision >= revision) return;
  try {
    await view.reached(revision, { timeoutMs: waitMs });
  } catch (cause) {
    if (!(cause instanceof FairwayError) || cause.code !== 'RevisionTimeout') throw cause;
    throw new FairwayError(
      'RevisionTimeout',
      `reading: revision ${revision} was not reached within ${waitMs} ms; this controller is at ${view.revision}`,
      { cause, extra: { revision: String(view.revision) } },
    );
  }
}
