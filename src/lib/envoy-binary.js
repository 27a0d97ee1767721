/**
 * Where Envoy's binary is. Plain JavaScript, because the set-up runs it before Node 26 is there; everything that starts
 * an Envoy finds it here.
 */

import { execFileSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The version that Fairway is tested with. */
export const envoyVersion = '1.40.0';

const minor = envoyVersion.split('.').slice(0, 2).join('.');
const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/**
 * Folders that may hold what was downloaded, best first: `FAIRWAY_CACHE` alone when it is set, else the user's cache
 * folder, else the project's own (a service account may have no home to write to).
 *
 * @param {Environment} env
 * @returns {string[]}
 */
export function cacheFolders(env) {
  if (env['FAIRWAY_CACHE']) return [env['FAIRWAY_CACHE']];
  const user = env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache');
  return [join(user, 'fairway'), join(project, '.cache')];
}

/**
 * Finds an Envoy that is already on this machine: the one that `FAIRWAY_ENVOY` names (of whatever version: who sets it
 * means it), a copy that the set-up downloaded, or `envoy` on the path when its version is right. Undefined when there
 * is none. Throws when `FAIRWAY_ENVOY` is set and cannot be executed.
 *
 * @param {Environment} [env]
 * @returns {{ path: string, source: 'FAIRWAY_ENVOY' | 'cache' | 'PATH' } | undefined}
 */
export function findEnvoy(env = process.env) {
  const named = env['FAIRWAY_ENVOY'];
  if (named) {
    if (isExecutable(named)) return { path: named, source: 'FAIRWAY_ENVOY' };
    throw new Error(`FAIRWAY_ENVOY names ${named}, which is not an executable file`);
  }
  for (const folder of cacheFolders(env)) {
    const path = join(folder, `envoy-${envoyVersion}`, 'envoy');
    if (isExecutable(path)) return { path, source: 'cache' };
  }
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'envoy');
    if (folder !== '' && isExecutable(path) && hasVersion(path)) return { path, source: 'PATH' };
  }
  return undefined;
}

/**
 * The folder to which a downloaded Envoy belongs, made when it is missing: the first one that can be written.
 *
 * @param {Environment} [env]
 * @returns {string}
 */
export function makeEnvoyCache(env = process.env) {
  const tried = [];
  for (const base of cacheFolders(env)) {
    const folder = join(base, `envoy-${envoyVersion}`);
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      tried.push(folder);
    }
  }
  throw new Error(`No folder for Envoy's binary can be written (tried ${tried.join(', ')}). Set FAIRWAY_CACHE.`);
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function hasVersion(path) {
  try {
    // envoy  version: 0123abcd/1.40.0/Clean/RELEASE/BoringSSL
    return execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 }).includes(`/${minor}.`);
  } catch {
    return false;
  }
}
