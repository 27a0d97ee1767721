import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { startOrphanGuard } from '../lib/orphan-guard.ts';

/** The processes that a demo starts: all of them are `fairway` itself. They write to log files and never outlive it. */

const fairway = fileURLToPath(new URL('../bin/fairway.js', import.meta.url));

/** A server closes its streams and its store, an Envoy its listeners, well within this time. */
const graceMs = 10_000;

type Process = ChildProcessByStdio<null, Readable, Readable>;

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Where all that it writes goes. */
  readonly logFile: string;
  /** False once it has ended. */
  readonly isRunning: boolean;
  /** Calls back for each line that it writes from now on; gives the function that ends it. */
  onLine(listener: (line: string) => void): () => void;
  /** The last lines that it wrote. */
  tail(count: number): string[];
  /** Tells it to end, and makes it when it takes too long. */
  stop(): Promise<void>;
}

export interface Children {
  /** Runs `fairway ARGS…`. `onEnd` is called when it ends without having been stopped. */
  start(name: string, args: readonly string[], onEnd: (words: string) => void): Child;
  /** As they were started. */
  readonly all: readonly Child[];
  /** Stops the last one first: a proxy goes before its server. */
  stop(): Promise<void>;
  /** For the very end of this process, which cannot wait: tells all to end. */
  abandon(): void;
}

/** @param folder of the log files */
export function createChildren(folder: string): Children {
  const all: Child[] = [];
  return {
    all,
    start(name, args, onEnd) {
      const child = startChild(name, args, join(folder, `${name}.log`), onEnd);
      all.push(child);
      return child;
    },
    async stop() {
      for (const child of all.toReversed()) await child.stop();
    },
    abandon() {
      for (const child of all) if (child.isRunning) tryKill(child.pid, 'SIGTERM');
    },
  };
}

function startChild(name: string, args: readonly string[], logFile: string, onEnd: (words: string) => void): Child {
  // In a process group of its own: Ctrl-C reaches the demo alone, which then stops everything in order.
  const child: Process = spawn(process.execPath, [fairway, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started: ${process.execPath} cannot be run`);
  const guard = startOrphanGuard(pid);
  const log = createWriteStream(logFile);
  // The folder may go before the last line comes.
  log.on('error', () => undefined);
  const listeners = new Set<(line: string) => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (line) => {
      log.write(`${line}\n`);
      for (const listener of listeners) listener(line);
    });
  }
  let isStopping = false;
  let isRunning = true;
  const ended = new Promise<void>((resolve) => {
    // Not `close`: what it started may still hold its outputs.
    child.once('exit', (code, signal) => {
      isRunning = false;
      guard.kill('SIGKILL');
      resolve();
      if (!isStopping) onEnd(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`);
    });
  });
  return {
    name,
    pid,
    logFile,
    get isRunning() {
      return isRunning;
    },
    onLine(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tail: (count) => tailOf(logFile, count),
    async stop() {
      isStopping = true;
      if (!isRunning) return;
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(force);
    },
  };
}

function tailOf(file: string, count: number): string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count);
  } catch {
    return [];
  }
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended.
  }
}

export interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** Runs `fairway ARGS…` to its end, as somebody would at a prompt. */
export async function runFairway(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Outcome> {
  const { cwd, env, signal } = options;
  const child: Process = spawn(process.execPath, [fairway, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, output }));
  });
}
