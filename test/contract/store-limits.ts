import { describe, expect, onTestFinished, test } from 'vitest';
import { FairwayError } from '../../src/lib/errors.ts';
import { storeLimits, type Transaction } from '../../src/store/index.ts';
import { type OpenStore, put, transaction } from './store-fixture.ts';

const { keyBytes, valueBytes, operations, transactionBytes } = storeLimits;

/** Keys of exactly 10 bytes. */
const keys = (count: number, prefix = 'k') =>
  Array.from({ length: count }, (_, i) => prefix + String(i).padStart(10 - prefix.length, '0'));

/** Puts of `count` keys; keys and values add up to `bytes`. */
function putsOf(count: number, bytes: number): Transaction {
  const valueSize = Math.floor(bytes / count) - 10;
  const rest = bytes - count * (valueSize + 10);
  const puts = keys(count).map((key, i) => ({ key, value: 'v'.repeat(valueSize + (i === 0 ? rest : 0)) }));
  return transaction({ puts });
}

/** What a layer around a store adds to each transaction. */
export interface Reserved {
  readonly checks: number;
  /** In keys. */
  readonly bytes: number;
}

type Row = [name: string, limit: keyof typeof storeLimits, at: Transaction, above: Transaction, actual: number];

/** Name of the limit, a transaction exactly at it, one just above, and what the latter counts. */
const table = (reserved: Reserved): Row[] => [
  ['a key', 'keyBytes', put('k'.repeat(keyBytes)), put('k'.repeat(keyBytes + 1)), keyBytes + 1],
  [
    'a key of characters with two bytes',
    'keyBytes',
    put('ü'.repeat(keyBytes / 2)),
    put(`${'ü'.repeat(keyBytes / 2)}k`),
    keyBytes + 1,
  ],
  [
    'a checked key',
    'keyBytes',
    transaction({ checks: [{ key: 'k'.repeat(keyBytes), modRevision: 0 }] }),
    transaction({ checks: [{ key: 'k'.repeat(keyBytes + 1), modRevision: 0 }] }),
    keyBytes + 1,
  ],
  [
    'a deleted key',
    'keyBytes',
    transaction({ deletes: ['k'.repeat(keyBytes)] }),
    transaction({ deletes: ['k'.repeat(keyBytes + 1)] }),
    keyBytes + 1,
  ],
  [
    'an id',
    'keyBytes',
    { ...put('a'), id: 'i'.repeat(keyBytes) },
    { ...put('a'), id: 'i'.repeat(keyBytes + 1) },
    keyBytes + 1,
  ],
  ['a value', 'valueBytes', put('k', 'v'.repeat(valueBytes)), put('k', 'v'.repeat(valueBytes + 1)), valueBytes + 1],
  [
    'a value of characters with three bytes',
    'valueBytes',
    put('k', '€'.repeat(valueBytes / 3)),
    put('k', `${'€'.repeat(valueBytes / 3)}v`),
    valueBytes + 1,
  ],
  [
    'puts and deletes',
    'operations',
    { ...putsOf(100, 10_000), deletes: keys(operations - 100, 'd') },
    { ...putsOf(100, 10_000), deletes: keys(operations - 99, 'd') },
    operations + 1,
  ],
  [
    'checks',
    'operations',
    transaction({ checks: keys(operations - reserved.checks).map((key) => ({ key, modRevision: 0 as const })) }),
    transaction({ checks: keys(operations - reserved.checks + 1).map((key) => ({ key, modRevision: 0 as const })) }),
    operations + 1,
  ],
  [
    'all keys and values',
    'transactionBytes',
    putsOf(10, transactionBytes - reserved.bytes),
    putsOf(10, transactionBytes - reserved.bytes + 1),
    transactionBytes + 1,
  ],
  [
    'all keys and values, with checks and deletes',
    'transactionBytes',
    {
      ...putsOf(10, transactionBytes - reserved.bytes - 20),
      checks: [{ key: 'check-0001', modRevision: 0 }],
      deletes: ['delete-001'],
    },
    {
      ...putsOf(10, transactionBytes - reserved.bytes - 19),
      checks: [{ key: 'check-0001', modRevision: 0 }],
      deletes: ['delete-001'],
    },
    transactionBytes + 1,
  ],
];

export function limitContract(open: OpenStore, reserved: Reserved = { checks: 0, bytes: 0 }): void {
  describe('limits', () => {
    test.each(table(reserved))(
      '%s: exactly the limit is taken, more is TooLarge',
      async (_, limit, at, above, actual) => {
        const store = await open({});
        onTestFinished(() => store.close());
        expect(await store.commit(at)).toEqual({ committed: true, revision: 1 });
        const before = await store.list('');

        const error = await store.commit({ ...above, id: above.id }).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(FairwayError);
        const { code, message, extra } = error as FairwayError;
        expect(code).toBe('TooLarge');
        expect(extra).toEqual({ limit, actual, maximum: storeLimits[limit] });
        for (const named of [limit, String(actual), String(storeLimits[limit])]) expect(message).toContain(named);
        expect(await store.list('')).toEqual(before);
      },
    );
  });
}
