/**
 * `node src/bin/run.js PROGRAM …`: runs a script (a path), or a program of node_modules/.bin (a name), with the
 * project's own Node, whichever Node runs this. Signals and the exit code are passed on.
 */

import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { become } from './setup/become.js';
import { requireNode, root } from './setup/project.js';

const [program, ...args] = process.argv.slice(2);
if (program === undefined) {
  process.stderr.write('usage: node src/bin/run.js PROGRAM [ARGUMENT…]\n');
  process.exit(2);
}
const installed = join(root, 'node_modules', '.bin', program);
try {
  become(requireNode(), [existsSync(installed) ? realpathSync(installed) : program, ...args]);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
