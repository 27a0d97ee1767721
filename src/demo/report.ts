import { styleText } from 'node:util';

/**
 * What a demo shows. On a terminal a step is one line that lives while the step runs, with colours; elsewhere it is a
 * plain line once the step is done.
 */

/** Where a report goes. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** What came of a step: words for the reader, a value for the steps after it. */
export interface Done<T> {
  readonly say: string;
  readonly value: T;
}

export interface Report {
  heading(text: string): void;
  /** Runs one step. `progress` says how far it is. What it throws becomes a `StepError` that names it. */
  step<T>(name: string, work: (progress: (text: string) => void) => Promise<Done<T>>): Promise<T>;
  table(titles: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Text as it is, each line indented. */
  text(lines: readonly string[]): void;
  /** The last words about a failure, and the end of each log. */
  failure(message: string, logs: readonly { readonly name: string; readonly lines: readonly string[] }[]): void;
}

/** A step that did not end well. */
export class StepError extends Error {
  override readonly name = 'StepError';

  constructor(step: string, cause: unknown) {
    super(`"${step}" failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;
const indent = '  ';

/** @param told aborted when somebody ends the demo: a step that is broken off for that has not failed */
export function createReport(out: Terminal, told: AbortSignal): Report {
  const isLive = out.isTTY === true;
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    // NO_COLOR and the like are looked at by styleText itself, for the stream of this process.
    isLive ? styleText(style, text, { stream: process.stdout }) : text;
  const line = (text: string) => out.write(`${text}\n`);
  return {
    heading(text) {
      line(`\n${paint('bold', text)}`);
    },
    async step(name, work) {
      const began = performance.now();
      const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
      let doing = '';
      let drawn = 0;
      const draw = () => {
        const frame = frames[drawn++ % frames.length];
        out.write(`\r\x1b[K${indent}${frame} ${name}${doing === '' ? '' : `: ${doing}`} ${paint('dim', seconds())}`);
      };
      const timer = isLive ? setInterval(draw, frameMs) : undefined;
      const end = (mark: string, say: string) =>
        line(
          `${isLive ? '\r\x1b[K' : ''}${indent}${mark} ${name}${say === '' ? '' : `: ${say}`} ${paint('dim', `(${seconds()})`)}`,
        );
      try {
        const { say, value } = await work((text) => {
          doing = text;
        });
        end(paint('green', '✓'), say);
        return value;
      } catch (error) {
        end(paint('red', '✗'), told.aborted ? 'broken off' : 'failed');
        throw new StepError(name, error);
      } finally {
        clearInterval(timer);
      }
    },
    table(titles, rows) {
      const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
      const aligned = (cells: readonly string[]) =>
        indent +
        cells
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd();
      line('');
      line(paint('dim', aligned(titles)));
      for (const row of rows) line(aligned(row));
    },
    text(lines) {
      for (const text of lines) line(text === '' ? '' : indent + text);
    },
    failure(message, logs) {
      line(`\n${paint('red', 'The demo failed:')} ${message}`);
      for (const { name, lines } of logs) {
        line(`\n${paint('bold', `The last lines of ${name}`)}`);
        for (const text of lines) line(indent + text);
      }
    },
  };
}
