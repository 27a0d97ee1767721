import type { Worker } from 'node:worker_threads';
import { FairwayError, type FieldError } from '../lib/errors.ts';
import type { Result } from '../lib/result.ts';
import { startThread } from '../lib/thread.ts';

/** A large body to be read, and what it holds. */
export interface ParseRequest {
  readonly id: number;
  readonly text: string;
  readonly format: 'json' | 'yaml';
}

export interface ParseAnswer {
  readonly id: number;
  readonly values: Result<readonly unknown[], readonly FieldError[]>;
}

type Waiting = {
  readonly resolve: (values: ParseAnswer['values']) => void;
  readonly reject: (error: Error) => void;
};

/** Longer than the pause between two large requests of one operator's script; then the memory is given back. */
const idleMs = 10_000;

/**
 * Reads large manifests on a thread of its own: half a megabyte of YAML takes half a second, in which no proxy would
 * be answered. The thread is started by the first such body and ends when it has been idle. One per process.
 */
export function createParseThread(): {
  parse(text: string, format: ParseRequest['format']): Promise<ParseAnswer['values']>;
  close(): Promise<void>;
} {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let requests = 0;

  function start(): Worker {
    const started = startThread({ file: './parse-worker', from: import.meta.url, name: 'manifests' });
    started.on('message', ({ id, values }: ParseAnswer) => {
      waiting.get(id)?.resolve(values);
      waiting.delete(id);
      if (waiting.size > 0) return;
      started.unref();
      idle = setTimeout(stop, idleMs);
      idle.unref();
    });
    const failed = (cause?: unknown): void => {
      if (worker === started) worker = undefined;
      for (const { reject } of waiting.values())
        reject(new FairwayError('Internal', 'reading the body failed', { cause }));
      waiting.clear();
    };
    started.on('error', failed);
    started.on('exit', () => failed());
    return started;
  }

  async function stop(): Promise<void> {
    clearTimeout(idle);
    const stopped = worker;
    worker = undefined;
    await stopped?.terminate();
  }

  return {
    parse(text, format) {
      clearTimeout(idle);
      worker ??= start();
      worker.ref();
      requests += 1;
      const request: ParseRequest = { id: requests, text, format };
      const { promise, resolve, reject } = Promise.withResolvers<ParseAnswer['values']>();
      waiting.set(request.id, { resolve, reject });
      worker.postMessage(request);
      return promise;
    },
    close: stop,
  };
}

export type ParseThread = ReturnType<typeof createParseThread>;
