/** Child processes of the set-up: output kept for the error message, stopped when the set-up is. */

import { spawn } from 'node:child_process';

/**
 * Runs a program to its end and gives what it printed to standard output. Rejects, with the ends of all output in the
 * message, when it cannot be started or ends with anything but 0.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} [options] `env` is added to this process's own
 * @returns {Promise<string>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stop = () => child.kill('SIGTERM');
    process.once('exit', stop);
    let stdout = '';
    let all = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      all += chunk;
    });
    child.stderr.on('data', (chunk) => {
      all += chunk;
    });
    child.on('error', (error) => {
      process.off('exit', stop);
      reject(error);
    });
    child.on('close', (code, signal) => {
      process.off('exit', stop);
      if (code === 0) return resolve(stdout);
      reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? `code ${code}`}:\n${excerpt(all)}`));
    });
  });
}

/** Lines kept of each end: some programs say what is wrong first, some last. */
const endLines = 15;

/**
 * @param {string} output
 * @returns {string}
 */
function excerpt(output) {
  const lines = output.trim().split('\n');
  if (lines.length <= 2 * endLines) return lines.join('\n');
  return [...lines.slice(0, endLines), '…', ...lines.slice(-endLines)].join('\n');
}
