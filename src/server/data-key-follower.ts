import type { Logger } from '../telemetry/log.ts';
import type { OpenedStore } from './schema.ts';

/** Follows the file of the data keys while a server runs. One per server. */
export interface DataKeyFollower {
  /** Ends it, when what is under way has ended. */
  close(): Promise<void>;
}

export interface DataKeyFollowerOptions extends Pick<OpenedStore, 'renewDataKeys' | 'retireDataKeys'> {
  /** The keys are not from a file: what former ones have sealed is sealed anew, and that is all. */
  readonly isFixed: boolean;
  readonly log: Logger;
  readonly everyMs?: number;
}

/**
 * What former keys have sealed is sealed anew at once, and again each time that the file has others. It is read again and
 * again: it is small, and watching it misses what is mounted or linked anew.
 */
export function followDataKeys(options: DataKeyFollowerOptions): DataKeyFollower {
  const { renewDataKeys, retireDataKeys, isFixed, log, everyMs = 1_000 } = options;
  /** What was told as a fault last, so that it is not told each second. */
  let fault = '';
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let running = retire().then(later);

  function retire(): Promise<void> {
    return retireDataKeys().catch((error: unknown) => log.warn({ event: 'data_keys_not_retired', err: error }));
  }

  async function look(): Promise<void> {
    try {
      const isOther = await renewDataKeys();
      fault = '';
      if (isOther) await retire();
    } catch (error) {
      const { message } = error as Error;
      if (message !== fault) log.error({ event: 'data_keys_unusable', err: error });
      fault = message;
    }
  }

  function later(): void {
    if (closed || isFixed) return;
    timer = setTimeout(() => {
      running = look().then(later);
    }, everyMs);
    timer.unref();
  }

  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
