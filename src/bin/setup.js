/**
 * Makes a fresh clone ready to run: npm packages (with the project's own Node), generated protobuf code, Envoy's
 * binary. Plain JavaScript for any Node >= 18, without dependencies. Every command that needs any of these begins with
 * it; what is already there is skipped, so it then costs some 50 ms.
 */

import { join } from 'node:path';
import { compileCode } from './setup/code.js';
import { fetchEnvoy } from './setup/envoy.js';
import { withLock } from './setup/lock.js';
import { installPackages } from './setup/packages.js';
import { createProgress } from './setup/progress.js';
import { root } from './setup/project.js';
import { generateProtobuf } from './setup/protobuf.js';

/** Steps by name. `node src/bin/setup.js NAME …` runs the named ones only. */
const steps = {
  packages: async (/** @type {(text: string) => void} */ update) => {
    await installPackages(update);
    return 'npm packages';
  },
  protobuf: async (/** @type {(text: string) => void} */ update) => {
    await generateProtobuf(update);
    return 'protobuf code';
  },
  code: async (/** @type {(text: string) => void} */ update) => {
    await compileCode(update);
    return 'compiled code';
  },
  envoy: fetchEnvoy,
};

/** @typedef {keyof typeof steps} StepName */

/** @param {readonly string[]} names */
async function main(names) {
  const unknown = names.find((name) => !Object.hasOwn(steps, name));
  if (unknown !== undefined)
    throw new Error(`There is no step ${unknown}; the steps are ${Object.keys(steps).join(', ')}`);
  const chosen = /** @type {StepName[]} */ (names.length > 0 ? names : Object.keys(steps));
  const progress = createProgress();
  const waiting = (/** @type {number} */ owner) => progress.note(`waiting for another set-up (process ${owner}) …`);
  await withLock(join(root, '.cache', 'setup.lock'), waiting, async () => {
    for (const name of chosen) await progress.step(name, steps[name]);
  });
  progress.close();
}

// A signal ends the process by `exit`, so that the lock is given back and children are stopped.
for (const [signal, code] of /** @type {const} */ ([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])) {
  process.once(signal, () => process.exit(code));
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`setup: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});
