import { FairwayError } from '../lib/errors.ts';
import { type Kind, type ObjectKey, parseObjectKey } from '../model/index.ts';
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

/** What one write of an object may remove at most, where that follows from its kind; of what is not here, anything. */
const mostRemoved: Partial<Record<Kind, { readonly created: number; readonly otherwise: number }>> = {
  // Its cluster, and that for HTTP/1.1.
  BackendPool: { created: 0, otherwise: 2 },
  // What is new is the younger side of every conflict: it takes nothing from anybody.
  Route: { created: 0, otherwise: Number.POSITIVE_INFINITY },
  Certificate: { created: 0, otherwise: Number.POSITIVE_INFINITY },
  Scope: { created: 0, otherwise: Number.POSITIVE_INFINITY },
  // No proxy is told of who may what.
  RoleBinding: { created: 0, otherwise: 0 },
};

/** Whether the writes have to be tried out to know; most have not, and trying out costs as much as the write itself. */
export function mayRemoveMuch(writes: readonly { readonly key: ObjectKey; readonly isNew: boolean }[]): boolean {
  let removed = 0;
  for (const { key, isNew } of writes) {
    const most = mostRemoved[parseObjectKey(key).kind];
    removed += most === undefined ? Number.POSITIVE_INFINITY : isNew ? most.created : most.otherwise;
  }
  return removed > removedCount;
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
