import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executable, runExecutable } from '../support/command-line.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';

// The real executable: what only a process has.

let fairway: TestFairway;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  fairway = await startFairway();
  folder = mkdtempSync(join(tmpdir(), 'fairway-cli-'));
  env = { FAIRWAY_SERVER: fairway.url };
  await fairway.put({ kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [] } });
});
afterAll(async () => {
  await fairway?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('exit codes', () => {
  const nobody = { FAIRWAY_SERVER: 'http://127.0.0.1:1' };
  it.each([
    ['0: well', ['get', 'pools'], {}, 0],
    ['0: help', ['get', '--help'], {}, 0],
    ['0: nothing at all is asked for help', [], {}, 0],
    ['1: the server says no', ['get', 'pool', 'nope'], {}, 1],
    ['2: an unknown command', ['gte'], {}, 2],
    ['2: an unknown flag', ['get', 'pools', '--ouput', 'json'], {}, 2],
    ['2: an unknown kind', ['get', 'elephants'], {}, 2],
    ['2: a value that is none', ['get', 'pools', '-o', 'xml'], {}, 2],
    ['3: no server', ['get', 'pools'], nobody, 3],
    ['4: too late', ['wait', 'pool', 'web', '--for=condition=Elsewhere', '--timeout', '50ms'], {}, 4],
  ])('%s', async (_name, argv, more, want) => {
    const { code, out, err } = await runExecutable(argv, { env: { ...env, ...more } });
    expect({ code, err: want === 0 ? '' : err }).toEqual({ code: want, err });
    // A failure is told, and where it does not mix with what was asked for.
    expect(want === 0 ? out : err).not.toBe('');
  });

  it.each([
    [['gte'], 'Did you mean get?'],
    [['get', 'pools', '--ouput', 'json'], 'Did you mean --output?'],
    [['get', 'pol'], 'Did you mean "pool"?'],
    [['--contxt', 'a', 'get', 'pools'], 'Did you mean --context?'],
    [['completion', 'bsh'], 'Did you mean "bash"?'],
  ])('of %j come with what was meant', async (argv, hint) => {
    expect((await runExecutable(argv, { env })).err).toContain(hint);
  });
});

describe('output', () => {
  it('has no colours in a pipe', async () => {
    const { out } = await runExecutable(['describe', 'pool', 'web'], { env: { ...env, TERM: 'xterm-256color' } });
    expect(out).toContain('Name:');
    expect(out).not.toContain('\u001b');
  });

  it('may be cut short by who reads it', async () => {
    const child = spawn(process.execPath, [executable, 'get', 'pools', '-w'], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdout.destroy();
    // Writes until the command finds its reader gone.
    let members = 0;
    const writer = setInterval(() => {
      const spec = { members: [{ address: '10.0.0.1', port: 1 + members++ }] };
      fairway.put({ kind: 'BackendPool', metadata: { name: 'web' }, spec }).catch(() => undefined);
    }, 20);
    const code = await ended;
    clearInterval(writer);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('never holds the token', async () => {
    const token = 'very-s3cret-token';
    for (const server of [fairway.url, 'http://127.0.0.1:1']) {
      const ran = await runExecutable(['get', 'pool', 'nope'], {
        env: { FAIRWAY_SERVER: server, FAIRWAY_TOKEN: token },
      });
      expect(ran.out + ran.err).not.toContain(token);
    }
  });
});

describe('what is loaded', () => {
  const trace = fileURLToPath(new URL('../support/module-trace.js', import.meta.url));

  async function packagesOf(argv: readonly string[]): Promise<readonly string[]> {
    const file = join(folder, 'trace');
    const ran = await runExecutable(argv, { env: { ...env, FAIRWAY_MODULE_TRACE: file }, node: ['--import', trace] });
    expect(ran).toMatchObject({ code: 0 });
    const urls = readFileSync(file, 'utf8').split('\n');
    // The trace itself works.
    expect(urls.some((url) => url.endsWith('/src/cli/main.ts'))).toBe(true);
    const packages = urls.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]);
    return [...new Set(packages.filter((name) => name !== undefined))].sort();
  }

  it.each([
    [['version'], ['commander']],
    [['get', 'pools'], ['commander']],
    [
      ['get', 'pools', '-o', 'yaml'],
      ['commander', 'yaml'],
    ],
    [
      ['describe', 'pool', 'web'],
      ['commander', 'yaml'],
    ],
    [['completion', 'bash'], ['commander']],
    [
      ['envoy', '--fleet', 'edge', '--print-bootstrap'],
      ['commander', 'yaml'],
    ],
  ])('by %j is %j and nothing else', async (argv, want) => {
    expect(await packagesOf(argv)).toEqual(want);
  });

  it('by apply is the model too, but no server', async () => {
    const file = join(folder, 'fleet.yaml');
    writeFileSync(file, 'apiVersion: fairway/v1\nkind: Fleet\nmetadata: { name: edge }\n');
    expect(await packagesOf(['apply', '-f', file])).toEqual(['commander', 'typebox', 'yaml']);
  });
});

describe('completion scripts', () => {
  it('of bash offers names from the server', async () => {
    const { out } = await runExecutable(['completion', 'bash'], { env });
    const script = `fairway() { "${process.execPath}" "${executable}" "$@"; }
${out}
COMP_WORDS=(fairway get pools "")
COMP_CWORD=3
_fairway
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = spawn('bash', ['--norc', '-c', script], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: 'pipe',
    });
    let offered = '';
    child.stdout.on('data', (chunk) => {
      offered += chunk;
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(offered).toBe('web\n');
  });

  it.each(['bash', 'zsh', 'fish'])('of %s asks the executable', async (shell) => {
    const { code, out } = await runExecutable(['completion', shell], { env });
    expect(code).toBe(0);
    expect(out).toContain('fairway __complete --');
  });
});
