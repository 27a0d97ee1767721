import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { LogBounds, Store, Transaction, WatchEvent } from '../../src/store/index.ts';

/** Opens an empty store; the suite closes it. */
export type OpenStore = (options: { readonly retain?: Partial<LogBounds> }) => Promise<Store>;

/** A transaction with a fresh id. */
export function transaction(parts: Partial<Transaction>): Transaction {
  return { id: randomUUID(), checks: [], puts: [], deletes: [], ...parts };
}

export function put(key: string, value = `value of ${key}`): Transaction {
  return transaction({ puts: [{ key, value }] });
}

export function remove(...keys: string[]): Transaction {
  return transaction({ deletes: keys });
}

/** A signal that is aborted when the test is over, so that no watch is left open. */
export function untilTestEnds(): AbortSignal {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return controller.signal;
}

/** The next `count` events of a watch from `after`; waits for them as long as the test may last. */
export async function nextEvents(store: Store, after: number, count: number): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of store.watch(after, untilTestEnds())) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}
