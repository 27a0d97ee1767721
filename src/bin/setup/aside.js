/** Work is done in a folder aside and renamed into place, so that what stands in place is always whole. */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** No step takes this long: an older folder was left by a process that was killed. */
const abandonedMs = 3_600_000;

/**
 * Runs `work` with a new folder below `parent`, which is removed afterwards, also when the process exits before.
 *
 * @template T
 * @param {string} parent made when it is missing; on the same file system as the place to rename to
 * @param {string} name what the folder's name begins with
 * @param {(folder: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withAside(parent, name, work) {
  mkdirSync(parent, { recursive: true });
  removeAbandoned(parent, `${name}-`);
  const folder = mkdtempSync(join(parent, `${name}-`));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    return await work(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/**
 * @param {string} parent
 * @param {string} prefix
 */
function removeAbandoned(parent, prefix) {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(parent, name);
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(folder, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > abandonedMs) rmSync(folder, { recursive: true, force: true });
  }
}
