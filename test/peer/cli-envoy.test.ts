import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findEnvoy } from '../../src/lib/envoy-binary.js';
import { executable, runExecutable, runHere } from '../support/command-line.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

// `fairway envoy` with a real Envoy.

const binary = findEnvoy()?.path;
const skip = binary === undefined;

let fairway: TestFairway;
let folder: string;
const running: ChildProcess[] = [];

beforeAll(async () => {
  fairway = await startFairway();
  folder = mkdtempSync(join(tmpdir(), 'fairway-cli-'));
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: { drainTimeout: '7s' } });
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill('SIGTERM');
    await ended(child);
  }
});
afterAll(async () => {
  await fairway?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  /** What it wrote, Envoy's log included. */
  output(): string;
  /** Files that it keeps while it runs. */
  files(): readonly string[];
}

/** Starts `fairway envoy` with a folder of its own for temporary files. */
function start(node: string, args: readonly string[] = []): Started {
  const temporary = mkdtempSync(join(folder, 'tmp-'));
  const child = spawn(
    process.execPath,
    [
      ...[executable, 'envoy', '--fleet', 'edge', '--node', node, '--admin', '127.0.0.1:0'],
      ...['--xds', `127.0.0.1:${fairway.xdsPort}`, ...args, '--', '--concurrency', '1'],
    ],
    {
      env: { ...process.env, FAIRWAY_SERVER: fairway.url, XDG_CONFIG_HOME: '/nonexistent', TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  return {
    child,
    output: () => output,
    files: () => readdirSync(temporary).filter((name) => name.startsWith('fairway-')),
  };
}

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once('exit', resolve));

const connected = (node: string) =>
  until(`${node} to be connected`, async () => (await fairway.call('GET', `/v1/proxies/${node}`)).status === 200);

/** Process ids of the Envoys below a process. */
async function envoysOf(pid: number | undefined): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,comm=', '--ppid', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout
    .split('\n')
    .filter((line) => line.includes('envoy'))
    .map((line) => Number.parseInt(line, 10));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(skip)('fairway envoy', () => {
  it.each([
    ['as it is', []],
    [
      'with names and several controllers',
      ['--xds', 'c1.example', '--xds', '[::1]:7601,10.0.0.3:7601', '--admin', '[::1]:9901'],
    ],
    ['for odd names', ['--node', 'no', '--fleet', 'null']],
  ])('prints a bootstrap that Envoy takes, %s', async (_name, args) => {
    const { code, out } = await runHere(['envoy', '--fleet', 'edge', '--print-bootstrap', ...args]);
    expect(code).toBe(0);
    const file = join(folder, 'bootstrap.yaml');
    writeFileSync(file, out);
    const validated = await promisify(execFile)(binary ?? '', ['--mode', 'validate', '-c', file]);
    expect(validated.stderr + validated.stdout).toContain('OK');
    expect(validated.stderr).not.toMatch(/deprecated/i);
  });

  it('joins the fleet, is listed, and ends when it is told', async () => {
    const { child, output, files } = start('cli-1');
    await connected('cli-1');
    await until('the answer to be acknowledged', async () => (await runProxies()).includes('Synced'));
    const line = (await runProxies()).split('\n').find((one) => one.startsWith('cli-1'));
    expect(line).toMatch(/^cli-1 +edge +Synced +\d+ +0 +0 +1\.40\.0 /);
    const detail = await runExecutable(['proxies', 'cli-1'], { env: { FAIRWAY_SERVER: fairway.url } });
    expect(detail.out).toMatch(/^Node: +cli-1$/m);
    expect(detail.out).toMatch(/^Cluster +\d+/m);
    expect(files()).toHaveLength(1);
    child.kill('SIGTERM');
    expect({ code: await ended(child), output: output() }).toMatchObject({ code: 0 });
    // Nothing is left behind.
    expect(files()).toEqual([]);
    await until('the proxy to be gone', async () => (await fairway.call('GET', '/v1/proxies/cli-1')).status === 404);
  });

  it('takes the drain time of the fleet', async () => {
    const { child } = start('cli-2');
    await connected('cli-2');
    const [envoy] = await envoysOf(child.pid);
    const { stdout } = await promisify(execFile)('ps', ['-o', 'args=', '-p', String(envoy)]);
    expect(stdout).toContain('--drain-time-s 7');
  });

  it('leaves no Envoy behind, even when it is killed', async () => {
    const { child } = start('cli-3');
    await connected('cli-3');
    const [envoy] = await envoysOf(child.pid);
    expect(envoy).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await ended(child);
    await until('Envoy to end', () => !isAlive(envoy ?? 0));
  });

  it('ends with the code with which Envoy ended', async () => {
    const { child, output } = start('cli-4', ['--admin', '203.0.113.1:1']);
    expect(await ended(child)).toBe(1);
    expect(output()).toMatch(/cannot bind|Cannot assign/);
  });

  it('says what is missing, and goes on', async () => {
    const { output } = start('cli-5', ['--fleet', 'nowhere']);
    await until('the note', () => output().includes('there is no fleet nowhere yet'));
    await connected('cli-5');
  });

  const runProxies = async () => (await runExecutable(['proxies'], { env: { FAIRWAY_SERVER: fairway.url } })).out;
});
