import { FairwayError } from '../lib/errors.ts';
import type { PreviewResult } from './ports.ts';

/**
 * The stop before a write that takes much of a fleet away: more than this share and more than this number of its
 * listeners, or of its clusters. The number lets small fleets be taken down; the share lets large ones be tidied.
 */
const removedShare = 0.3;
const removedCount = 10;

export interface MassRemoval {
  /** What `confirmRemovals` must repeat: listeners and clusters that would be removed beyond the measure. */
  readonly removals: number;
  readonly fleets: PreviewResult['removals'];
}

/** Undefined when the write stays within the measure. */
export function massRemovalOf(preview: Pick<PreviewResult, 'removals'>): MassRemoval | undefined {
  const fleets = preview.removals.filter(({ listeners, clusters }) => isMuch(listeners) || isMuch(clusters));
  if (fleets.length === 0) return undefined;
  const counts = fleets.flatMap(({ listeners, clusters }) => [listeners, clusters].filter(isMuch));
  return { removals: counts.reduce((sum, { removed }) => sum + removed, 0), fleets };
}

/** Throws `MassRemoval` unless the writer has repeated the number. */
export function assertConfirmed(found: MassRemoval | undefined, confirmed: number | undefined): void {
  if (found === undefined || confirmed === found.removals) return;
  const { removals, fleets } = found;
  const words = fleets.map(
    ({ fleet, listeners, clusters }) =>
      `${listeners.removed} of ${listeners.of} listeners and ${clusters.removed} of ${clusters.of} clusters of fleet ${fleet}`,
  );
  throw new FairwayError(
    'MassRemoval',
    `writing: it would remove ${words.join(', and ')}; repeat it with confirmRemovals=${removals} if that is meant`,
    { extra: { removals, fleets } },
  );
}

function isMuch({ removed, of }: { readonly removed: number; readonly of: number }): boolean {
  return removed > removedCount && removed > of * removedShare;
}
