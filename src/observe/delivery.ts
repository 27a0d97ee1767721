import { createLatest } from '../lib/latest.ts';
import { storeKey } from '../model/index.ts';
import type { DeliveryRecord } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** Tells the other controllers how far the proxies of this one are. One per controller that has others. */
export interface DeliveryObserver {
  /** Something may be another: the View, or what proxies made of it. */
  changed(): void;
  close(): Promise<void>;
}

/** How far they are now. */
export interface DeliveryReading {
  readonly record: DeliveryRecord;
  /** Newest revision of the View that changed what proxies may get. */
  readonly needed: number;
}

export interface DeliveryObserverOptions {
  readonly store: Store;
  readonly id: string;
  readonly read: () => DeliveryReading;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Two records a second at most, however many proxies acknowledge however many changes. */
const holdOffMs = 500;

/**
 * The record is itself a commit, which moves every View on: it is written again only for what matters to others, or a
 * cluster at rest would write for ever.
 */
export function createDeliveryObserver(options: DeliveryObserverOptions): DeliveryObserver {
  const { store, id, newId } = options;
  let written = '';
  let writtenNeed = -1;

  async function write(): Promise<void> {
    const { record, needed } = options.read();
    const text = essenceOf(record);
    if (text === written && needed <= writtenNeed) return;
    const put = { key: storeKey('delivery', id), value: JSON.stringify(record) };
    await store.commit({ id: newId(), checks: [], puts: [put], deletes: [] });
    written = text;
    writtenNeed = needed;
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => options.log.warn({ event: 'deliveries_not_stored', err: error }),
  });
  latest.nudge();
  return { changed: () => latest.nudge(), close: () => latest.close() };
}

/** What it says apart from how far the View is: who has all of it has all of a later one too, if nothing changed. */
function essenceOf({ revision, fleets, rejected }: DeliveryRecord): string {
  const relative = Object.entries(fleets)
    .map(([fleet, delivery]) => [fleet, { ...delivery, acked: delivery.acked === revision ? 'all' : delivery.acked }])
    .sort();
  return JSON.stringify([relative, rejected]);
}
