import { storeKey } from '../model/index.ts';
import type { ControllerRecord } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** Says of this controller that it is there. One per controller that others share its store with. */
export interface Presence {
  /** Says it now: something of it has changed that others should not wait for. */
  tell(): void;
  /** Takes all that was recorded of it away: it leaves in order. */
  close(): Promise<void>;
}

export interface PresenceOptions {
  readonly store: Store;
  readonly id: string;
  readonly read: () => ControllerRecord;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Pause between two records: what five controllers write in all is not much more than one a second. */
const everyMs = 3_000;

export function createPresence({ store, id, read, newId, log }: PresenceOptions): Presence {
  let timer: NodeJS.Timeout | undefined;
  let telling: Promise<void> | undefined;
  let again = false;
  let closed = false;

  async function tellOnce(): Promise<void> {
    const put = { key: storeKey('controller', id), value: JSON.stringify(read()) };
    try {
      await store.commit({ id: newId(), checks: [], puts: [put], deletes: [] });
    } catch (error) {
      // Nobody can be told; that it is not heard of is what others see.
      log.warn({ event: 'presence_not_stored', err: error });
    }
  }

  function tell(): void {
    again = true;
    if (telling !== undefined || closed) return;
    clearTimeout(timer);
    again = false;
    telling = tellOnce().then(() => {
      telling = undefined;
      if (again) tell();
      else if (!closed) timer = setTimeout(tell, everyMs);
    });
  }

  tell();
  return {
    tell,
    async close() {
      if (closed) return;
      closed = true;
      clearTimeout(timer);
      await telling;
      const deletes = [storeKey('controller', id), storeKey('delivery', id)];
      await store.commit({ id: newId(), checks: [], puts: [], deletes }).catch((error: unknown) => {
        log.warn({ event: 'presence_not_stored', err: error });
      });
    },
  };
}
