/**
 * Brings node_modules in line with the lockfile.
 *
 * npm leaves its own stamp, node_modules/.package-lock.json, once an installation is complete: what it holds is
 * compared with the lockfile. So an `npm ci` or `npm install` that somebody ran by hand counts as well.
 */

import { copyFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { withAside } from './aside.js';
import { run } from './process.js';
import { findNode, requireNode, root } from './project.js';

const installed = join(root, 'node_modules');

/** @typedef {Record<string, { version?: string, integrity?: string, optional?: boolean }>} LockedPackages */

/**
 * Call it with the set-up lock held.
 *
 * @param {(text: string) => void} progress told before work starts
 * @returns {Promise<boolean>} false when there was nothing to do
 */
export async function installPackages(progress) {
  if (isInstalled() && findNode() !== undefined) return false;
  progress('npm ci');
  await withAside(join(root, '.cache'), 'packages', async (aside) => {
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      copyFileSync(join(root, name), join(aside, name));
    await npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], aside);
    if (existsSync(installed)) renameSync(installed, join(aside, 'old'));
    renameSync(join(aside, 'node_modules'), installed);
  });
  requireNode();
  return true;
}

/** @returns {boolean} */
function isInstalled() {
  const wanted = lockedPackages(join(root, 'package-lock.json'));
  const present = lockedPackages(join(installed, '.package-lock.json'));
  if (wanted === undefined || present === undefined) return false;
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true; // the project itself
    const found = present[path];
    // Optional packages of other platforms are not there, rightly; whether ours is, findNode tells.
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity;
  });
}

/**
 * @param {string} file
 * @returns {LockedPackages | undefined}
 */
function lockedPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined;
}

/**
 * Runs npm: the one that runs us, if one does, else the one on the path.
 *
 * @param {readonly string[]} args
 * @param {string} cwd
 * @returns {Promise<string>}
 */
export async function npm(args, cwd) {
  const running = process.env['npm_execpath'];
  if (running !== undefined && basename(running) === 'npm-cli.js' && existsSync(running)) {
    return run(process.execPath, [running, ...args], { cwd });
  }
  try {
    return await run('npm', args, { cwd });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    throw new Error('npm is missing. Install it (Debian: apt-get install npm), then run this again.');
  }
}
