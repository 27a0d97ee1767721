import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { npm } from '../../src/bin/setup/packages.js';

const exec = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

let folder: string;
let installed: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-pack-'));
  const { stdout } = await exec(process.execPath, [join(root, 'src/bin/pack.js'), folder]);
  expect(stdout.trim()).toBe(join(folder, `fairway-${version}.tgz`));
  await npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder, stdout.trim()], folder);
  installed = join(folder, 'node_modules', 'fairway');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Runs the installed command outside of any repository, with the host's own Node where there is one (an older one is
 * the interesting case: the launcher then goes on with the Node of the package).
 */
function fairway(...args: string[]) {
  const host = (process.env['PATH'] ?? '').split(delimiter).filter((path) => !path.startsWith(root));
  const PATH = [...host, dirname(process.execPath)].join(delimiter);
  const env = { ...process.env, HOME: folder, PATH };
  return exec(join(folder, 'node_modules/.bin/fairway'), args, { cwd: folder, env });
}

describe('the package', () => {
  it('holds no TypeScript, no tests, and nothing that is for development only', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    const own = files.filter((path) => !path.startsWith('node_modules'));
    expect(own.filter((path) => path.endsWith('.ts'))).toEqual([]);
    expect(readdirSync(installed).filter((name) => ['test', 'bench', 'protos'].includes(name))).toEqual([]);
    const packages = [join(folder, 'node_modules'), join(installed, 'node_modules')];
    for (const name of ['vitest', '@biomejs', 'typescript', 'testcontainers']) {
      expect(packages.filter((path) => existsSync(join(path, name)))).toEqual([]);
    }
  });

  it('runs', async () => {
    const { stdout } = await fairway('version');
    expect(stdout).toContain(version);
  });
});
