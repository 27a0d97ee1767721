/** A program that a bench measures or measures with: lines of JSON both ways, and what the kernel says of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type ProcessUsage, usageOf } from '../test/support/process-usage.ts';

export type Event = { readonly [field: string]: unknown };

export interface Child extends ProcessUsage {
  readonly pid: number;
  /** The next line of its output for which `pick` gives something; lines before it are passed over. */
  next<T>(what: string, pick: (event: Event) => T | undefined): Promise<T>;
  /** Writes a command. */
  tell(command: object): void;
  close(): Promise<void>;
}

/** Nothing here takes longer than a minute; a program that does has failed. */
const limitMs = 90_000;

export interface ChildOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where its lines of JSON come out; the other one goes to the terminal. */
  readonly lines: 'stdout' | 'stderr';
}

export function startChild({ name, program, args, lines }: ChildOptions): Child {
  const child = spawn(program, args, {
    stdio: lines === 'stdout' ? ['pipe', 'pipe', 'inherit'] : ['pipe', 'inherit', 'pipe'],
  });
  const { stdin, [lines]: output } = child;
  const pid = child.pid;
  if (pid === undefined || stdin === null || output === null)
    throw new Error(`starting ${name}: there is no ${program}`);
  const events: Event[] = [];
  let wake: () => void = () => undefined;
  let over: string | undefined;
  const ended = endOf(child).then((how) => {
    over = how;
    wake();
  });
  createInterface({ input: output }).on('line', (line) => {
    // What is no event is for people: how a program that dies says why.
    if (!line.startsWith('{')) console.error(line);
    else events.push(JSON.parse(line) as Event);
    wake();
  });

  async function next<T>(what: string, pick: (event: Event) => T | undefined): Promise<T> {
    const limit = AbortSignal.timeout(limitMs);
    for (;;) {
      for (let event = events.shift(); event !== undefined; event = events.shift()) {
        const picked = pick(event);
        if (picked !== undefined) return picked;
      }
      if (over !== undefined) throw new Error(`${name} ended (${over}) before ${what}`);
      if (limit.aborted) throw new Error(`${name}: ${what} did not come within ${limitMs / 1000} s`);
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      limit.addEventListener('abort', () => resolve());
      await promise;
    }
  }

  return {
    pid,
    next,
    tell(command) {
      stdin.write(`${JSON.stringify(command)}\n`);
    },
    async close() {
      if (over !== undefined) return;
      stdin.end();
      child.kill('SIGTERM');
      const forced = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(forced);
    },
    ...usageOf(pid),
  };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`exit ${code ?? signal}`));
  });
}
