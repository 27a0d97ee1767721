/** Has Node compile the sources once, see compile.js. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from './process.js';
import { requireNode, root } from './project.js';

const stampFile = join(root, '.cache', 'compiled');
const sources = join(root, 'src');

/**
 * A hash of the names, sizes and times of all sources: cheap, and wrong in the harmless direction only.
 *
 * @returns {string}
 */
function stampOf() {
  const hash = createHash('sha256');
  for (const path of readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort()) {
    const { size, mtimeMs } = statSync(join(sources, path));
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

/**
 * @param {(text: string) => void} progress told before work starts
 * @returns {Promise<void>}
 */
export async function compileCode(progress) {
  const stamp = stampOf();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  progress('compiling');
  await run(requireNode(), [join(root, 'src', 'bin', 'compile.js')]);
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, stamp);
}
