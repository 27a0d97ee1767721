/**
 * Where things stand in etcd, below one prefix, so that a cluster can be shared and one watch sees all of it:
 *
 * ```
 * <prefix>/data/<key>  an entry of the store; its create and mod revision are etcd's own
 * <prefix>/id/<id>     the transaction `id`: committed, at the mod revision of this key, or void
 * <prefix>/head        written by every commit: its mod revision is the newest revision of the store
 * ```
 */
import type { IKeyValue } from 'etcd3';
import { InvariantError } from '../lib/errors.ts';
import type { Entry, Revision } from './store.ts';

/** All keys from `key` up to `range_end`, without that one, as etcd wants it. */
export interface KeyRange {
  readonly key: Buffer;
  readonly range_end: Buffer;
}

/** What the key of a transaction id says. A void one is never committed later (etcd-transaction.ts). */
export const idMarks = { committed: 'committed', void: 'void' } as const;

/** A key below the prefix, as who watches it wants to have it. */
export type Place =
  | { readonly kind: 'data'; readonly key: string }
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'head' }
  | { readonly kind: 'other' };

export interface Keyspace {
  readonly root: KeyRange;
  readonly ids: KeyRange;
  readonly head: Buffer;
  data(key: string): Buffer;
  /** All entries whose key begins with `prefix`. */
  dataRange(prefix: string): KeyRange;
  id(id: string): Buffer;
  place(key: Buffer): Place;
  entry(kv: IKeyValue): Entry;
}

/** `prefix` without a slash at its end. */
export function createKeyspace(prefix: string): Keyspace {
  const dataPrefix = Buffer.from(`${prefix}/data/`);
  const idPrefix = Buffer.from(`${prefix}/id/`);
  const head = Buffer.from(`${prefix}/head`);
  const startsWith = (key: Buffer, start: Buffer) => key.subarray(0, start.length).equals(start);
  const keyOf = (key: Buffer): string => key.toString('utf8', dataPrefix.length);
  return {
    root: rangeOf(Buffer.from(`${prefix}/`)),
    ids: rangeOf(idPrefix),
    head,
    data: (key) => Buffer.concat([dataPrefix, Buffer.from(key)]),
    dataRange: (start) => rangeOf(Buffer.concat([dataPrefix, Buffer.from(start)])),
    id: (id) => Buffer.concat([idPrefix, Buffer.from(id)]),
    place(key) {
      if (startsWith(key, dataPrefix)) return { kind: 'data', key: keyOf(key) };
      if (startsWith(key, idPrefix)) return { kind: 'id', id: key.toString('utf8', idPrefix.length) };
      return { kind: key.equals(head) ? 'head' : 'other' };
    },
    entry: (kv) => ({
      key: keyOf(kv.key),
      value: kv.value.toString('utf8'),
      createRevision: revisionOf(kv.create_revision),
      modRevision: revisionOf(kv.mod_revision),
    }),
  };
}

/** etcd counts in 64 bits and its client gives text; at 10,000 commits a second a double is exact for 28,000 years. */
export function revisionOf(text: string): Revision {
  const revision = Number(text);
  if (!Number.isSafeInteger(revision))
    throw new InvariantError(`etcd's revision ${text} is no number that can be kept`);
  return revision;
}

/** The first key after all that begin with `start`. UTF-8 has no byte 0xff, so that the last byte can always grow. */
function rangeOf(start: Buffer): KeyRange {
  const end = Buffer.from(start);
  end[end.length - 1] = (end.at(-1) as number) + 1;
  return { key: start, range_end: end };
}
