import { createLatest } from '../lib/latest.ts';
import { storeKey } from '../model/index.ts';
import { type EventRecord, eventReasons, type Happening, likenessOf, maxEventMessage } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** Records what happens, as few writes as possible. One per controller, about what it sees itself. */
export interface EventObserver {
  happened(happening: Happening, at: number): void;
  /** At start: what earlier runs recorded, so that counts go on. */
  reset(records: Iterable<readonly [name: string, record: EventRecord]>, at: number): void;
  close(): Promise<void>;
}

export interface EventObserverOptions {
  readonly store: Store;
  readonly newId: () => string;
  /** Name of this controller. */
  readonly replica: string;
  readonly log: Logger;
}

/** Long enough for a proxy that flaps to be one write. */
const holdOffMs = 500;

/** Events in one commit, one after each hold-off: so many writes a controller makes at most. */
const perCommit = 100;

/** What comes again after a longer rest is another event. */
const windowMs = 600_000;

/** Events that may wait: a fleet that connects at once. What comes beyond is counted, and not told. */
const maxWaiting = 2_000;

/** Events that are remembered so that repeats are counted. */
const maxRemembered = 10_000;

interface Known {
  readonly name: string;
  record: EventRecord;
}

export function createEventObserver({ store, newId, replica, log }: EventObserverOptions): EventObserver {
  /** By likeness; in the order of their last repeat. */
  const known = new Map<string, Known>();
  const dirty = new Set<Known>();
  let closed = false;

  async function write(): Promise<void> {
    const some = [...dirty].slice(0, perCommit);
    if (some.length === 0) return;
    const records = some.map(({ record }) => record);
    const puts = some.map(({ name, record }) => ({ key: storeKey('event', name), value: JSON.stringify(record) }));
    await store.commit({ id: newId(), checks: [], puts, deletes: [] });
    for (const [i, one] of some.entries()) if (one.record === records[i]) dirty.delete(one);
    if (dirty.size > 0) latest.nudge();
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => log.warn({ event: 'events_not_stored', waiting: dirty.size, err: error }),
  });

  function remember(likeness: string, one: Known): void {
    known.delete(likeness);
    known.set(likeness, one);
    if (known.size <= maxRemembered) return;
    for (const oldest of known.keys()) {
      known.delete(oldest);
      return;
    }
  }

  function record(happening: Happening, at: number): void {
    const likeness = likenessOf(happening);
    const last = new Date(at).toISOString();
    const before = known.get(likeness);
    const isRepeat = before !== undefined && at - Date.parse(before.record.last) < windowMs;
    const one: Known = isRepeat
      ? before
      : {
          // Their order is that in which they began.
          name: `${last}-${newId()}`,
          record: {
            ...happening,
            type: eventReasons[happening.reason],
            count: 0,
            first: last,
            last,
            controller: replica,
          },
        };
    one.record = { ...one.record, count: one.record.count + 1, last };
    remember(likeness, one);
    dirty.add(one);
    latest.nudge();
  }

  return {
    happened({ object, reason, message }, at) {
      if (closed) return;
      const happening = { object, reason, message: message.slice(0, maxEventMessage).toWellFormed() };
      const isKnown = known.has(likenessOf(happening));
      if (isKnown || dirty.size < maxWaiting) record(happening, at);
      else
        record({ object: `Controller/${replica}`, reason: 'EventsDropped', message: 'more happened than is told' }, at);
    },
    reset(records, at) {
      for (const [name, stored] of records) {
        if (stored.controller !== replica || at - Date.parse(stored.last) >= windowMs) continue;
        remember(likenessOf(stored), { name, record: stored });
      }
    },
    async close() {
      closed = true;
      await latest.close();
      await write().catch((error: unknown) =>
        log.warn({ event: 'events_not_stored', waiting: dirty.size, err: error }),
      );
    },
  };
}
