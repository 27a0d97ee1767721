/** The nearest thing to `exec` that Node has. */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, dirname } from 'node:path';

/**
 * Runs `node` with the same terminal, and ends as it ends. Signals sent to this process alone (a service manager does
 * that) go on to the child; those of a terminal reach both by themselves, and the child decides.
 *
 * @param {string} node
 * @param {readonly string[]} args
 */
export function become(node, args) {
  const env = { ...process.env, PATH: [dirname(node), process.env['PATH']].join(delimiter) };
  const child = spawn(node, args, { stdio: 'inherit', env });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP', 'SIGUSR2'])) {
    process.on(signal, () => child.kill(signal));
  }
  // Ctrl-C on a terminal goes to the whole process group, so the child has it already.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  child.on('error', (error) => {
    process.stderr.write(`${node} could not be started: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    // So the dynamic linker ends what it cannot load, after a word on which library it is.
    if (code === 127)
      process.stderr.write('Is a library missing? Node needs libatomic (Debian: apt-get install libatomic1).\n');
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
  });
}
