/** Servers behind pools, in a thread of their own. They can be started and stopped one by one, as members come and go. */
import { Worker } from 'node:worker_threads';
import { within } from '../until.ts';

export interface Members {
  /**
   * Starts servers, gives their ports. `http1`: answers 200, also to checks, and echoes what comes after an upgrade;
   * `http2`: the same with prior knowledge, without upgrades; `tcp`: echoes.
   */
  start(kind: MemberKind, count: number): Promise<readonly number[]>;
  /** Ends servers as a careful operator does: no new connection, what runs ends, what is idle is closed. */
  stop(...ports: readonly number[]): Promise<void>;
  close(): Promise<void>;
}

export type MemberKind = 'http1' | 'http2' | 'tcp';

export type MemberOrder = { readonly start: MemberKind; readonly count: number } | { readonly stop: readonly number[] };

export async function startMembers(): Promise<Members> {
  const worker = new Worker(new URL('worker.ts', import.meta.url));
  const waiting: { resolve(ports: readonly number[]): void; reject(cause: unknown): void }[] = [];
  worker.on('message', (ports: readonly number[]) => waiting.shift()?.resolve(ports));
  worker.on('error', (cause) => {
    for (const { reject } of waiting.splice(0)) reject(cause);
  });
  const give = (order: MemberOrder): Promise<readonly number[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
    waiting.push({ resolve, reject });
    worker.postMessage(order);
    return within(`servers to carry out ${JSON.stringify(order)}`, promise);
  };
  return {
    start: (kind, count) => give({ start: kind, count }),
    stop: async (...ports) => void (await give({ stop: ports })),
    close: async () => void (await worker.terminate()),
  };
}
