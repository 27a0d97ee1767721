/**
 * A transaction of the store as one of etcd's, and what etcd's answer means.
 *
 * ```
 * if    id is not there (or is that of a commit too old to count), all checks hold
 * then  put id, put head, the puts, the deletes, and the removal of a few old ids
 * else  read id and the revisions of what was checked
 * ```
 *
 * So the same transaction can be sent again whenever it is not known what became of it: it is written once at most,
 * and the key of its id says at which revision. One that is given up unknown is made void, which is the same contest
 * for the same key: either it was committed, or it never will be.
 */
import type { ICompare, IRequestOp, ITxnRequest, ITxnResponse } from 'etcd3';
import { InvariantError } from '../lib/errors.ts';
import { idMarks, type Keyspace, revisionOf } from './etcd-keys.ts';
import type { Revision, Transaction } from './store.ts';

export interface TransactionContext {
  readonly keyspace: Keyspace;
  /** Mod revision of what stands at the id and does not count; 0: nothing. */
  readonly staleId: Revision;
}

export function requestOf(
  { id, checks, puts, deletes }: Transaction,
  { keyspace, staleId }: TransactionContext,
  oldIds: readonly string[],
): ITxnRequest {
  const compare: ICompare[] = checks.map(({ key, modRevision }) =>
    modRevision === 'exists'
      ? { key: keyspace.data(key), target: 'Version', result: 'Greater', version: 0 }
      : { key: keyspace.data(key), target: 'Mod', result: 'Equal', mod_revision: modRevision },
  );
  const success: IRequestOp[] = [
    { request_put: { key: keyspace.id(id), value: Buffer.from(idMarks.committed) } },
    { request_put: { key: keyspace.head, value: Buffer.from(id) } },
    ...puts.map(({ key, value }) => ({ request_put: { key: keyspace.data(key), value: Buffer.from(value) } })),
    ...deletes.map((key) => ({ request_delete_range: { key: keyspace.data(key) } })),
    ...oldIds.map((old) => ({ request_delete_range: { key: keyspace.id(old) } })),
  ];
  const failure: IRequestOp[] = [
    { request_range: { key: keyspace.id(id) } },
    ...checks.map(({ key }) => ({ request_range: { key: keyspace.data(key), keys_only: true } })),
  ];
  return { compare: [idCompare(id, keyspace, staleId), ...compare], success, failure };
}

export type Answer =
  | { readonly kind: 'committed'; readonly revision: Revision }
  /** Something else stands at the id: a commit of this id, or what does not count. */
  | { readonly kind: 'idTaken'; readonly revision: Revision; readonly committed: boolean }
  /** Keys whose check did not hold, as of `revision`. */
  | { readonly kind: 'refused'; readonly failed: readonly string[]; readonly revision: Revision };

export function answerOf({ checks }: Transaction, staleId: Revision, response: ITxnResponse): Answer {
  const revision = revisionOf(response.header.revision);
  if (response.succeeded) return { kind: 'committed', revision };
  const id = idAnswer(response, staleId);
  if (id !== undefined) return id;
  const failed = checks.filter(({ modRevision }, i) => {
    const kv = response.responses[i + 1]?.response_range.kvs[0];
    const present = kv === undefined ? 0 : revisionOf(kv.mod_revision);
    return modRevision === 'exists' ? present === 0 : present !== modRevision;
  });
  return { kind: 'refused', failed: failed.map(({ key }) => key), revision };
}

/** Settles an id of which it is not known whether it was committed. */
export function voidRequestOf(id: string, { keyspace, staleId }: TransactionContext): ITxnRequest {
  return {
    compare: [idCompare(id, keyspace, staleId)],
    success: [{ request_put: { key: keyspace.id(id), value: Buffer.from(idMarks.void) } }],
    failure: [{ request_range: { key: keyspace.id(id) } }],
  };
}

/** What the answer to {@link voidRequestOf} says. */
export function voidAnswerOf(staleId: Revision, response: ITxnResponse): 'void' | Answer {
  if (response.succeeded) return 'void';
  const id = idAnswer(response, staleId);
  if (id === undefined) throw new InvariantError('making a transaction void: its id is there and not there');
  // An earlier attempt to make it void has come through.
  return id.kind === 'idTaken' && !id.committed ? 'void' : id;
}

function idCompare(id: string, keyspace: Keyspace, staleId: Revision): ICompare {
  return { key: keyspace.id(id), target: 'Mod', result: 'Equal', mod_revision: staleId };
}

/** What stands in the way at the id; undefined: nothing, so that a check has failed. */
function idAnswer(response: ITxnResponse, staleId: Revision): Extract<Answer, { kind: 'idTaken' }> | undefined {
  const kv = response.responses[0]?.response_range.kvs[0];
  const revision = kv === undefined ? 0 : revisionOf(kv.mod_revision);
  if (revision === staleId) return undefined;
  return { kind: 'idTaken', revision, committed: kv?.value.toString() === idMarks.committed };
}
