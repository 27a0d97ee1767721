/**
 * Schemathesis, a program of PyPI that makes requests of all kinds from an OpenAPI document, right and wrong ones, and
 * looks whether the answers are what the document says. It is kept in a virtual environment in the user's cache.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../../src/bin/setup/lock.js';
import { run } from '../../src/bin/setup/process.js';
import { cacheFolders } from '../../src/lib/envoy-binary.js';
import type { Missing } from './etcd.ts';

const version = '4.32.5';

/** What every answer must be: no 5xx, and in status, media type and form what the document says. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

/**
 * What is not left to chance: a watch does not end by itself, and a revision that is never reached is waited for and
 * then answered with 504, as it should be. Both have tests of their own.
 */
const settings = `
[parameters]
"query.watch" = "false"
"query.minRevision" = "0"
`;

/** Paths that take what it cannot write: lines of JSON. */
const unknownBodies = ['/v1/restore'];

export interface FuzzOutcome {
  /** Requests that were made up and sent. */
  readonly cases: number;
  readonly passed: boolean;
  /** What it found, for people. */
  readonly report: string;
}

/** Path of the program; installed when it is missing, and where it cannot be, the words that say so. */
export async function findSchemathesis(): Promise<{ readonly path: string } | Missing> {
  const folder = join(cacheFolders(process.env)[0] as string, `schemathesis-${version}`);
  const path = join(folder, 'bin', 'schemathesis');
  const stamp = join(folder, '.complete');
  if (existsSync(stamp)) return { path };
  try {
    await withLock(
      `${folder}.lock`,
      () => undefined,
      async () => {
        if (existsSync(stamp)) return;
        // In place and not aside: its scripts name the folder that they were installed to.
        await rm(folder, { recursive: true, force: true });
        await run('python3', ['-m', 'venv', folder]);
        await run(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${version}`]);
        await writeFile(stamp, '');
      },
    );
    return { path };
  } catch (error) {
    const [why] = error instanceof Error ? error.message.split('\n') : [String(error)];
    return { missing: `schemathesis ${version} cannot be had from PyPI (python3 -m venv, pip install): ${why}` };
  }
}

/** Sends up to `perOperation` cases to each operation of the API at `url`. */
export async function fuzzApi(
  path: string,
  options: { readonly url: string; readonly perOperation: number; readonly seed: number; readonly token?: string },
): Promise<FuzzOutcome> {
  const { url, perOperation, seed, token } = options;
  const folder = await mkdtemp(join(tmpdir(), 'fairway-fuzz-'));
  try {
    const config = join(folder, 'schemathesis.toml');
    await writeFile(config, settings);
    const args = ['--config-file', config, 'run', `${url}/openapi.json`, '--phases', 'fuzzing'].concat([
      ...['--checks', checks.join(','), '--max-examples', String(perOperation), '--seed', String(seed)],
      ...['--request-timeout', '60', '--continue-on-failure', '--no-shrink', '--generation-database', 'none'],
      // A machine that is busy makes up cases slowly, which is no fault of anybody.
      ...['--no-color', '--warnings', 'off', '--suppress-health-check', 'all'],
      ...unknownBodies.flatMap((name) => ['--exclude-path', name]),
      ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
    ]);
    const { passed, report } = await new Promise<Omit<FuzzOutcome, 'cases'>>((resolve) => {
      const child = execFile(path, args, { cwd: folder, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
        process.off('exit', stop);
        resolve({ passed: error === null, report: stdout + stderr });
      });
      const stop = () => child.kill('SIGTERM');
      process.once('exit', stop);
    });
    return { cases: Number(/^\s*(\d+) generated/m.exec(report)?.[1] ?? 0), passed, report };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
