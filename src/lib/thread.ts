import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';

export interface ThreadOptions {
  /** What runs on it: a file beside the one that asks, without its ending, such as `./sqlite-worker`. */
  readonly file: string;
  /** `import.meta.url` of the one that asks. */
  readonly from: string;
  /** For debuggers. */
  readonly name: string;
  /** Copied to the thread. */
  readonly data?: unknown;
  readonly limits?: ResourceLimits;
}

/** Starts a thread of this program. What goes wrong on it comes as the worker's `error` and `exit`. */
export function startThread({ file, from, name, data, limits }: ThreadOptions): Worker {
  const ending = from.endsWith('.ts') ? '.ts' : '.js';
  // A thread does not inherit the compile cache: without it the TypeScript loader of this one alone takes 30 MB.
  const cache = getCompileCacheDir();
  const env = cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) };
  return new Worker(new URL(file + ending, from), {
    name,
    workerData: data,
    env,
    // No inherited flags: what a debugger, a test runner or a profiler wants of this process is not for the thread.
    execArgv: [],
    ...(limits === undefined ? {} : { resourceLimits: limits }),
  });
}
