/**
 * Programs that tests and benches measure against come from Debian's packages. Where they can be installed (root, apt)
 * the set-up of the test does it; elsewhere the test is skipped, and says which package was missing.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/** An installation of a few megabytes; a dead mirror must not eat the time of the whole run. */
const installLimitMs = 180_000;

/** Where Debian puts daemons: not on everybody's path. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

function find(program: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...systemFolders];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

/**
 * Path of a program, installed from `packageName` when it is missing and we are root. Otherwise the words for
 * `context.skip(…)`.
 */
export async function debianProgram(
  program: string,
  packageName: string,
): Promise<{ readonly path: string } | { readonly missing: string }> {
  const present = find(program);
  if (present !== undefined) return { path: present };
  const missing = `${program} is missing (apt-get install ${packageName})`;
  if (process.getuid?.() !== 0 || find('apt-get') === undefined) return { missing };
  try {
    await install(packageName);
  } catch (error) {
    return { missing: `${missing}: ${error instanceof Error ? error.message.split('\n')[0] : error}` };
  }
  const installed = find(program);
  return installed === undefined ? { missing } : { path: installed };
}

async function install(packageName: string): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // With RUNLEVEL=1 invoke-rc.d starts no daemon: the tests start their own, on ports of their own.
  const apt = (...args: string[]) =>
    exec('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', '-o', 'Acquire::Retries=2', ...args], {
      env: { ...env, RUNLEVEL: '1' },
      timeout: installLimitMs,
      maxBuffer: 2 ** 24,
    });
  try {
    await apt('install', '-y', '--no-install-recommends', packageName);
  } catch {
    // A fresh machine has no package lists yet, an old one stale ones.
    await apt('update');
    await apt('install', '-y', '--no-install-recommends', packageName);
  }
}
