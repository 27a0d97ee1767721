import type { CommitOutcome, Entry, Revision, Transaction, WatchEvent } from './store.ts';

/** What the evaluation of a transaction reads. `revisions` is asked far more often and need not load the value. */
export interface KeySpace {
  entry(key: string): Entry | undefined;
  revisions(key: string): Pick<Entry, 'createRevision' | 'modRevision'> | undefined;
}

export type Evaluation =
  | { readonly kind: 'holds'; readonly event: WatchEvent }
  | { readonly kind: 'refused'; readonly failed: Extract<CommitOutcome, { committed: false }>['failed'] };

/**
 * What a transaction does to a key space if it becomes commit `revision`; writes nothing itself. The event holds what
 * really changes: the deletion of a key that is not there is no change and is left out. (The commit has its revision
 * nevertheless, as every commit does, so that revisions in a watch are without gaps.)
 */
export function evaluate(transaction: Transaction, revision: Revision, space: KeySpace): Evaluation {
  const failed = transaction.checks
    .filter(({ key, modRevision }) => {
      const present = space.revisions(key)?.modRevision ?? 0;
      return modRevision === 'exists' ? present === 0 : present !== modRevision;
    })
    .map(({ key }) => ({ key, entry: space.entry(key) }));
  if (failed.length > 0) return { kind: 'refused', failed };

  const puts = transaction.puts.map(({ key, value }) => ({
    key,
    value,
    createRevision: space.revisions(key)?.createRevision ?? revision,
    modRevision: revision,
  }));
  const deletes = transaction.deletes.filter((key) => space.revisions(key) !== undefined);
  return { kind: 'holds', event: { revision, puts, deletes } };
}
