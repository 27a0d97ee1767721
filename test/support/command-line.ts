import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Io } from '../../src/cli/io.ts';
import { runCommandLine } from '../../src/cli/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Width of the terminal that standard output is; absent: it is none. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** Told of what was written so far, at each write. */
  readonly onOutput?: (out: string) => void;
}

/** Runs a command line in this process, against a world of its own. */
export async function runHere(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, stdin = '', columns, signal = new AbortController().signal, onOutput } = options;
  const written = { out: '', err: '' };
  const output = (name: 'out' | 'err') => ({
    write(text: string) {
      written[name] += text;
      if (name === 'out') onOutput?.(written.out);
    },
    isTerminal: columns !== undefined,
    columns,
  });
  const io: Io = {
    // No context file, and no server, of whoever runs the tests.
    env: { XDG_CONFIG_HOME: '/nonexistent', XDG_STATE_HOME: '/nonexistent', ...env },
    out: output('out'),
    err: output('err'),
    readStdin: async () => new TextEncoder().encode(stdin),
    stdinIsTerminal: false,
    now: Date.now,
    signal,
  };
  return { code: await runCommandLine(argv, io), ...written };
}

export const executable = fileURLToPath(new URL('../../src/bin/fairway.js', import.meta.url));

/** Runs the real executable to its end. */
export function runExecutable(
  argv: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly node?: readonly string[] } = {},
): Promise<Ran> {
  const { env = {}, node = [] } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...node, executable, ...argv], {
      env: { PATH: process.env['PATH'], XDG_CONFIG_HOME: '/nonexistent', XDG_STATE_HOME: '/nonexistent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, out, err }));
  });
}
