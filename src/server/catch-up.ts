/**
 * Keeps a controller that lags behind the store from rolling proxies back. Versions are hashes and have no order, so a
 * new stream is sent nothing before this controller has what the store had when the stream opened:
 *
 *   opened ─▶ head read ─────────▶ reached ─▶ complete
 *                │ 2 s without          │ 30 s
 *                ▼                      ▼
 *             additions until then    sent to another controller
 */
import { backoffMs } from '../lib/backoff.ts';
import type { Logger } from '../telemetry/log.ts';
import type { HubStream } from '../xds/index.ts';

export interface CatchUpOptions {
  /** The newest revision, as the store itself knows it. */
  readonly head: () => Promise<number>;
  /** Resolves once this controller has the revision; rejects when it takes longer than `timeoutMs`. */
  readonly reached: (revision: number, limits: { timeoutMs: number; signal: AbortSignal }) => Promise<void>;
  /** Ends a stream so that the proxy tries another controller. */
  readonly sendElsewhere: (stream: HubStream) => void;
  readonly log: Logger;
  readonly random: () => number;
}

export interface CatchUp {
  /** A stream has opened. */
  add(stream: HubStream): void;
  /** A stream has closed. */
  remove(stream: HubStream): void;
  close(): void;
}

/** Streams that share one read of the store, begun after the last of them opened. */
interface Batch {
  readonly streams: Set<HubStream>;
  /** The store was silent for too long. */
  unread: boolean;
  timer: NodeJS.Timeout | undefined;
}

const readLimitMs = 2_000;
const lagLimitMs = 30_000;
const retry = { baseMs: 100, maxMs: 5_000 } as const;

export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { log } = options;
  const closing = new AbortController();
  const batches = new Set<Batch>();
  /** Takes those that open while a read is under way. */
  let gathering: Batch | undefined;
  let reading = false;

  function gather(): Batch {
    const batch: Batch = { streams: new Set(), unread: false, timer: undefined };
    batch.timer = setTimeout(() => {
      batch.unread = true;
      log.warn({ event: 'store_unread', streams: batch.streams.size });
      for (const stream of batch.streams) stream.setTrust('additions');
    }, readLimitMs);
    batches.add(batch);
    return batch;
  }

  async function readAll(): Promise<void> {
    if (reading) return;
    reading = true;
    while (gathering !== undefined && !closing.signal.aborted) {
      const batch = gathering;
      gathering = undefined;
      const revision = await read();
      clearTimeout(batch.timer);
      if (revision !== undefined) void release(batch, revision);
    }
    reading = false;
  }

  /** The store's head, however long it takes; undefined when we are closed first. */
  async function read(): Promise<number | undefined> {
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      try {
        return await options.head();
      } catch (error) {
        log.warn({ event: 'head_failed', err: error });
        await pause(backoffMs(attempt, { ...retry, random: options.random() }), closing.signal);
      }
    }
    return undefined;
  }

  async function release(batch: Batch, revision: number): Promise<void> {
    try {
      await options.reached(revision, { timeoutMs: lagLimitMs, signal: closing.signal });
      for (const stream of batch.streams) stream.setTrust('complete');
    } catch (error) {
      if (!closing.signal.aborted) {
        log.error({ event: 'controller_lags', revision, streams: batch.streams.size, err: error });
        for (const stream of [...batch.streams]) options.sendElsewhere(stream);
      }
    }
    batches.delete(batch);
  }

  return {
    add(stream) {
      gathering ??= gather();
      gathering.streams.add(stream);
      // It need not wait for what the others have waited for in vain.
      if (gathering.unread) stream.setTrust('additions');
      void readAll();
    },
    remove(stream) {
      for (const batch of batches) batch.streams.delete(stream);
    },
    close() {
      closing.abort();
      for (const { timer } of batches) clearTimeout(timer);
      batches.clear();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
    signal.addEventListener('abort', end);
  });
}
