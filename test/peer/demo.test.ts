import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/until.ts';

// The demo as a newcomer sees it, with a real Envoy; and that nothing is left of it in whatever way it ends.

const exec = promisify(execFile);
const fairway = fileURLToPath(new URL('../../src/bin/fairway.js', import.meta.url));
/** The walk takes a quarter of a minute; the rest is for a machine with much else to do. */
const walkLimitMs = 110_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-demo-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function startDemo(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [fairway, 'demo', ...args], {
    env: { ...process.env, ...env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const demo = { child, output: '', family: new Set<number>(), code: undefined as number | null | undefined };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      demo.output += text;
    });
  }
  child.once('close', (code) => {
    demo.code = code;
  });
  return demo;
}

type Demo = ReturnType<typeof startDemo>;

/** Waits until the demo has written something, and learns who its children are by then. */
async function written(demo: Demo, text: string): Promise<void> {
  await until(`the demo to write "${text}"`, () => demo.output.includes(text), {
    limitMs: walkLimitMs,
    describe: () => demo.output,
  });
  for (const pid of await descendants(demo.child.pid ?? 0)) demo.family.add(pid);
}

async function ended(demo: Demo): Promise<number | null> {
  if (demo.code === undefined) await once(demo.child, 'close');
  return demo.code ?? null;
}

async function descendants(root: number): Promise<number[]> {
  const { stdout } = await exec('ps', ['-A', '-o', 'pid=,ppid=']);
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [pid: number, parent: number]);
  const below = (pid: number): number[] =>
    pairs.filter(([, parent]) => parent === pid).flatMap(([child]) => [child, ...below(child)]);
  return below(root);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function nothingLeft({ family }: Demo): Promise<void> {
  await until('all children to be gone', () => ![...family].some(isAlive));
  // Node keeps its compiled code there too.
  expect(readdirSync(folder).filter((name) => name.startsWith('fairway-'))).toEqual([]);
}

test('the walk shows real traffic and changes without a failed request, and leaves nothing behind', async () => {
  const demo = startDemo(['--once']);
  await written(demo, 'all conditions are True');
  // Server, `fairway envoy`, Envoy, and a guard for each of the two.
  expect(demo.family.size).toBeGreaterThanOrEqual(3);
  expect(await ended(demo), demo.output).toBe(0);
  await nothingLeft(demo);

  const { output } = demo;
  expect(output).toMatch(/✓ Envoy: version 1\.40\.\d+, joined fleet edge as demo-1/);
  const rows = output.split('\n').filter((line) => /^ {2}(shop|echo) .* \d+ ms$/.test(line));
  expect(rows.map((row) => row.split(/ {2,}/).slice(1, 3))).toEqual([
    ['shop', 'home'],
    ['shop', 'api'],
    ['shop', 'ping'],
    ['shop', 'old'],
    ['shop', 'docs/guide'],
    ['shop', '(default)'],
    ['echo', '(TCP)'],
  ]);
  expect(rows.map((row) => /(backend-\d|Envoy itself|echo) +\d+ ms$/.exec(row)?.[1])).toEqual([
    expect.stringMatching(/^backend-[12]$/),
    expect.stringMatching(/^backend-[12]$/),
    'Envoy itself',
    'Envoy itself',
    'backend-3',
    expect.stringMatching(/^backend-[12]$/),
    'echo',
  ]);

  const changes = [...output.matchAll(/✓ (A member|Traffic|A certificate).*: ([\d,]+) requests, (\d+) failed/g)];
  expect(changes.map(([, change, , failed]) => [change, failed])).toEqual([
    ['A member', '0'],
    ['Traffic', '0'],
    ['A certificate', '0'],
  ]);
  for (const [, , requests] of changes) expect(Number(requests?.replaceAll(',', ''))).toBeGreaterThan(400);
  expect(output).toMatch(/backend-4 answered after \d+ ms, [1-9]\d* times/);
  const share = Number(/measured [\d.]+ % to web, ([\d.]+) % to next/.exec(output)?.[1]);
  expect(share).toBeGreaterThan(5);
  expect(share).toBeLessThan(15);
  expect(output).toMatch(/serial 0A before, 0B after \d+ ms/);

  expect(output).toContain('✓ A bad manifest is refused: exit code 2, nothing changed');
  expect(output).toMatch(/bad\.yaml:6: BackendPool web: \/spec\/members\/0\/port must be from 1 to 65535/);
  expect(output).toContain('did you mean `algorithm`?');
  // Not a terminal: plain lines.
  expect(output).not.toContain('\x1b');
});

test('it goes on running until it is told to end, with all that it says it has', async () => {
  const demo = startDemo([]);
  await written(demo, 'leaves nothing behind');
  const { output } = demo;
  const [, server = ''] = /export FAIRWAY_SERVER=(\S+)/.exec(output) ?? [];
  const [, admin = ''] = /Envoy admin +(\S+)/.exec(output) ?? [];
  expect((await fetch(`${server}/docs`)).status).toBe(200);
  expect(await (await fetch(`${admin}/ready`)).text()).toContain('LIVE');
  const { stdout } = await exec(process.execPath, [fairway, 'status'], {
    env: { ...process.env, FAIRWAY_SERVER: server },
  });
  expect(stdout).toContain('all well');
  demo.child.kill('SIGTERM');
  expect(await ended(demo), demo.output).toBe(0);
  await nothingLeft(demo);
});

test('told to end in the middle, it breaks off and leaves nothing behind', async () => {
  const demo = startDemo([]);
  await written(demo, '✓ Envoy');
  demo.child.kill('SIGINT');
  expect(await ended(demo), demo.output).toBe(130);
  expect(demo.output).not.toContain('The demo failed');
  await nothingLeft(demo);
});

test('killed, it takes its children with it', async () => {
  const demo = startDemo([]);
  await written(demo, '✓ Envoy');
  demo.child.kill('SIGKILL');
  await until('all children to be gone', () => ![...demo.family].some(isAlive));
});

test('a step that fails is named, with the end of the logs, and nothing is left behind', async () => {
  const demo = startDemo(['--once'], { FAIRWAY_ENVOY: '/bin/false' });
  await written(demo, '✓ Server');
  expect(await ended(demo), demo.output).toBe(1);
  expect(demo.output).toContain('The demo failed: "Envoy" failed: Envoy is gone: it ended with exit code 1');
  expect(demo.output).toContain('The last lines of server');
  expect(demo.output).toContain('"event":"server_ready"');
  expect(demo.output).toContain('The last lines of envoy');
  await nothingLeft(demo);
});

test('an unknown option is refused with the usage', async () => {
  const demo = startDemo(['--twice']);
  expect(await ended(demo)).toBe(2);
  expect(demo.output).toContain("Unknown option '--twice'");
  expect(demo.output).toContain('Usage: fairway demo');
});
