import { type Clock, systemClock } from '../lib/clock.ts';

/** Where a command writes to. */
export interface Output {
  write(text: string): void;
  /** A person reads along: colours, progress and a line length make sense. */
  readonly isTerminal: boolean;
  /** Of a line, when it is a terminal. */
  readonly columns: number | undefined;
}

/** The world as a command sees it; tests give their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Output;
  readonly err: Output;
  /** All of standard input. */
  readStdin(): Promise<Uint8Array>;
  readonly stdinIsTerminal: boolean;
  readonly now: Clock;
  /** Ends what would go on for ever (`-w`). */
  readonly signal: AbortSignal;
}

/** The process's own. */
export function processIo(): Io {
  return {
    env: process.env,
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    async readStdin() {
      const chunks: Uint8Array[] = [];
      for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
      return Buffer.concat(chunks);
    },
    stdinIsTerminal: process.stdin.isTTY === true,
    now: systemClock,
    signal: new AbortController().signal,
  };
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    write(text) {
      stream.write(text);
    },
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.isTTY === true ? stream.columns : undefined;
    },
  };
}
