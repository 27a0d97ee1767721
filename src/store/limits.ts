import { FairwayError, InvariantError } from '../lib/errors.ts';
import { storeLimits, type Transaction } from './store.ts';

type Limit = keyof typeof storeLimits;

/**
 * The one check of a transaction, made by every store before it does anything else.
 *
 * Over a limit: `FairwayError` `TooLarge`, which names the limit, what was given and what is allowed (also in
 * `extra`: `limit`, `actual`, `maximum`). `operations` counts puts and deletes together and, by itself, checks;
 * `transactionBytes` counts the UTF-8 bytes of all keys (those of checks too) and values.
 *
 * A key named by two writes of one transaction, an empty key or id, and text that UTF-8 cannot hold are mistakes of
 * the calling code, not of an operator: `InvariantError`.
 */
export function checkTransaction(transaction: Transaction): void {
  const { id, checks, puts, deletes } = transaction;
  checkText('transaction id', id);
  checkLimit('keyBytes', Buffer.byteLength(id), 'its id', 'bytes');
  checkLimit('operations', puts.length + deletes.length, 'it', 'puts and deletes');
  checkLimit('operations', checks.length, 'it', 'checks');

  let bytes = 0;
  const written = new Set<string>();
  for (const { key } of checks) bytes += checkKey(key);
  for (const { key, value } of puts) {
    bytes += checkKey(key) + checkValue(key, value);
    claim(written, key);
  }
  for (const key of deletes) {
    bytes += checkKey(key);
    claim(written, key);
  }
  checkLimit('transactionBytes', bytes, 'it', 'bytes in all');
}

/** Refuses a prefix that no well-formed key can be compared with. */
export function checkPrefix(prefix: string): void {
  if (!prefix.isWellFormed()) throw new InvariantError('listing: the prefix is not well-formed Unicode');
}

function checkKey(key: string): number {
  checkText('key', key);
  const bytes = Buffer.byteLength(key);
  checkLimit('keyBytes', bytes, `the key ${shorten(key)}`, 'bytes');
  return bytes;
}

function checkValue(key: string, value: string): number {
  if (!value.isWellFormed()) throw new InvariantError(`committing: the value of ${key} is not well-formed Unicode`);
  const bytes = Buffer.byteLength(value);
  checkLimit('valueBytes', bytes, `the value of ${key}`, 'bytes');
  return bytes;
}

/** SQLite and etcd keep UTF-8: a lone surrogate would come back as another key, and two keys could become one. */
function checkText(what: string, text: string): void {
  if (text === '') throw new InvariantError(`committing: an empty ${what}`);
  if (!text.isWellFormed()) throw new InvariantError(`committing: a ${what} is not well-formed Unicode`);
}

/** Two writes of one key in one commit would have one revision: which of them stands would be an accident. */
function claim(written: Set<string>, key: string): void {
  if (written.has(key)) throw new InvariantError(`committing: one transaction writes ${key} twice`);
  written.add(key);
}

function checkLimit(limit: Limit, actual: number, subject: string, unit: string): void {
  const maximum = storeLimits[limit];
  if (actual <= maximum) return;
  throw new FairwayError(
    'TooLarge',
    `committing a transaction: ${subject} has ${actual} ${unit}, over the store's limit ${limit} of ${maximum}`,
    { extra: { limit, actual, maximum } },
  );
}

function shorten(key: string): string {
  return key.length <= 80 ? key : `${key.slice(0, 80).toWellFormed()}…`;
}
