import type { Backups } from '../api/index.ts';
import type { Mirror } from '../control/index.ts';
import type { Chronicle } from './chronicle.ts';
import type { OpenedStore } from './opened-store.ts';

/** A restore while the server runs: the store is another one from a revision on, and the View follows. */
export interface Restores {
  readonly backups: Backups;
  /** Whether the View has nothing of what a restore replaces. */
  readonly isWhole: boolean;
  /** To be told of each adoption: whether it is the first one with the content of a backup that was restored. */
  isFirstOf(revision: number): boolean;
}

/** The View of a very large store is built in seconds. */
const restoredLimitMs = 120_000;

export function createRestores({ store, backups }: OpenedStore, mirror: Mirror, chronicle: Chronicle): Restores {
  let known = store.wholeSince;
  return {
    backups: {
      backup: () => backups.backup(),
      // Answered once this controller has taken it in.
      async restore(body, options) {
        const restored = await backups.restore(body, options);
        await mirror.reached(Number(restored.revision), { timeoutMs: restoredLimitMs });
        chronicle.tell('Restored', `everything is as in the backup of ${restored.backup.createdAt}`);
        return restored;
      },
    },
    get isWhole() {
      return store.wholeSince !== undefined && mirror.revision >= store.wholeSince;
    },
    isFirstOf(revision) {
      const { wholeSince } = store;
      if (wholeSince === undefined || wholeSince === known || revision < wholeSince) return false;
      known = wholeSince;
      return true;
    },
  };
}
