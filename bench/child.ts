/** A process that a bench measures or measures with: lines of JSON both ways, and what the kernel says of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export type Event = { readonly [field: string]: unknown };

export interface Child {
  readonly pid: number;
  /** The next line of its output for which `pick` gives something; lines before it are passed over. */
  next<T>(what: string, pick: (event: Event) => T | undefined): Promise<T>;
  /** Writes a command. */
  tell(command: object): void;
  /** Processor time of all its threads, in milliseconds. */
  cpuMs(): number;
  /** Resident memory in MB: now, and the most since the last call of `resetPeak`. */
  memoryMb(): { readonly now: number; readonly peak: number };
  resetPeak(): void;
  /** Waits until it does nothing more than tick over. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** Nothing here takes longer than a minute; a program that does has failed. */
const limitMs = 90_000;

/** What a process that only ticks over may take in one look. */
const quietCpuMs = 1;
const lookMs = 40;
/** Looks in a row that have to be quiet. */
const quietLooks = 2;
const maxLooks = 250;

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

  const file = (path: string): string => readFileSync(`/proc/${pid}/${path}`, 'utf8');

  /** Its threads' times in nanoseconds; the times in `stat` go in steps of 10 ms. */
  function cpuMs(): number {
    let nanos = 0;
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      try {
        nanos += Number(file(`task/${task}/schedstat`).split(' ', 1)[0]);
      } catch {
        // A thread that ended between the two reads.
      }
    }
    return nanos / 1e6;
  }

  return {
    pid,
    next,
    tell(command) {
      stdin.write(`${JSON.stringify(command)}\n`);
    },
    cpuMs,
    memoryMb() {
      const status = file('status');
      const field = (field: string): number => Number(new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]);
      return { now: field('VmRSS') / 1000, peak: field('VmHWM') / 1000 };
    },
    resetPeak() {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    },
    async quiet() {
      let calm = 0;
      let before = cpuMs();
      for (let look = 0; look < maxLooks && calm < quietLooks; look += 1) {
        await sleep(lookMs);
        const now = cpuMs();
        calm = now - before <= quietCpuMs ? calm + 1 : 0;
        before = now;
      }
    },
    async close() {
      if (over !== undefined) return;
      stdin.end();
      child.kill('SIGTERM');
      const forced = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(forced);
    },
  };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`exit ${code ?? signal}`));
  });
}
