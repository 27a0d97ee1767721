import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../src/demo/free-ports.ts';
import { debianProgram } from '../support/debian.ts';
import { type Block, blocksOf, readme } from '../support/readme.ts';
import { until } from '../support/until.ts';

// The tour of the README: its blocks are pasted, one after the other, into one shell, and what each prints is compared
// with what the README says it prints. Ports are exchanged for free ones, everywhere in the same way, because a server
// of whoever runs the tests may have the real ones.

const root = fileURLToPath(new URL('../..', import.meta.url));
/** In ascending order, as those that take their places: backends are numbered by port. */
const ports = [7600, 7601, 9001, 9002, 9003, 9007, 9901, 10007, 10080, 10443];
const blockLimitMs = 60_000;

/** A block to paste, with what the README says it prints. */
interface Stop {
  readonly line: number;
  readonly commands: string;
  readonly prints: string | undefined;
}

const blocks = blocksOf(readme);
const stops = blocks.flatMap(({ info, line, text }, i): Stop[] => {
  const next: Block | undefined = blocks[i + 1];
  return info === 'sh tour' ? [{ line, commands: text, prints: next?.info === 'text' ? next.text : undefined }] : [];
});

let folder: string;
let shell: ChildProcessWithoutNullStreams;
let output = '';
let move: (text: string) => string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-tour-'));
  const free = (await freePorts(ports.length)).sort((a, b) => a - b);
  const moved = new Map(ports.map((port, i) => [String(port), String(free[i])]));
  const any = new RegExp(`\\b(${ports.join('|')})\\b`, 'g');
  move = (text) => text.replaceAll(any, (port) => moved.get(port) ?? port);

  for (const name of ['src', 'node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name));
  cpSync(join(root, 'envoy'), join(folder, 'envoy'), { recursive: true });
  const examples = join(folder, 'envoy', 'examples');
  for (const name of readdirSync(examples)) {
    writeFileSync(join(examples, name), move(readFileSync(join(examples, name), 'utf8')));
  }
  const env = {
    ...process.env,
    NO_COLOR: '1',
    FAIRWAY_SERVER: move('http://127.0.0.1:7600'),
    FAIRWAY_LISTEN: move('127.0.0.1:7600'),
    FAIRWAY_XDS_LISTEN: move('127.0.0.1:7601'),
  };
  shell = spawn('bash', ['--norc', '--noprofile'], { cwd: folder, env, stdio: 'pipe' });
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  shell.stdin.write('exec 2>&1\n');
});

afterAll(async () => {
  // After a failure the tour's own end was not reached.
  if (shell.exitCode === null) {
    shell.stdin.end('kill $(jobs -p) 2> /dev/null; wait\n');
    await once(shell, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Pastes commands and gives what came of them. */
async function paste(commands: string): Promise<{ readonly printed: string; readonly code: number }> {
  const before = output.length;
  const mark = /(?:^|\n)== done, (\d+) ==\n/;
  shell.stdin.write(`${commands}printf '\\n== done, %s ==\\n' $?\n`);
  const end = await until('the commands to end', () => mark.exec(output.slice(before)) ?? undefined, {
    limitMs: blockLimitMs,
    describe: () => output.slice(before),
  });
  return { printed: output.slice(before, before + end.index), code: Number(end[1]) };
}

/** Envoy's own ports are flags with a default, which the tour has no need to name. */
function onFreePorts(commands: string): string {
  const flags = move('--xds 127.0.0.1:7601 --admin 127.0.0.1:9901');
  return move(commands).replace('fairway envoy --fleet edge', (command) => `${command} ${flags}`);
}

/** Lines without what differs from run to run: how long ago, and the width of columns. */
function linesOf(text: string): string[] {
  return text
    .replaceAll(/\b\d+(?:s|m|m\d+s)\b/g, '0s')
    .replaceAll(/ +/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Lines that the README shows, as expressions: `…` is anything. */
function patternsOf(text: string): RegExp[] {
  const literally = (part: string) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return linesOf(text).map((line) => new RegExp(`^${line.split('…').map(literally).join('.+')}$`));
}

test('the tour works when it is pasted, and prints what it says', async (context) => {
  for (const program of ['curl', 'openssl']) {
    const found = await debianProgram(program, program);
    if ('missing' in found) return context.skip(found.missing);
  }
  expect(stops.length).toBeGreaterThan(10);
  for (const { line, commands, prints } of stops) {
    const { printed, code } = await paste(onFreePorts(commands));
    const where = `the block of line ${line} of the README, which printed\n${printed}`;
    if (prints === undefined) expect(code, where).toBe(0);
    else expect(linesOf(printed), where).toEqual(patternsOf(move(prints)).map((line) => expect.stringMatching(line)));
  }
  // The last block has ended all that the first ones started. A job that has ended is listed until the shell has said
  // so, hence only those that run.
  await until('all jobs to have ended', async () => (await paste('jobs -pr\n')).printed.trim() === '');
}, 600_000);
