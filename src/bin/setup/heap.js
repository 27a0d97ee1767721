/** The heap of a server, which runs for months beside what it configures. */

/**
 * Half of what V8 sets aside for objects that have just been made, in MiB. Left alone it takes up to 32 and keeps them,
 * a quarter of a server's memory. With 8 no work takes longer, for what is on its way to many streams at once is in memory
 * of the thread that writes it.
 */
const youngMiB = 8;

/**
 * How far the old heap grows beyond what is alive in it before it is collected, in percent. Left alone it grows by the
 * memory that the machine has, to twice and more; collecting it earlier costs a pause of some 40 ms every 20 s at
 * twenty changes a second for a thousand proxies.
 */
const growingPercent = 40;

const flag = '--max-semi-space-size';

/** What Node is given for it. */
export const heapFlags = [`${flag}=${youngMiB}`, `--heap-growing-percent=${growingPercent}`];

/**
 * Begins this program anew with the heap that a server is to have, in the same process: V8 takes the size of its heap
 * only at the start. Returns when that is not needed, or somebody gave the flag, or the platform cannot do it.
 *
 * @param {string} script
 * @param {readonly string[]} args of the script
 */
export function limitHeap(script, args) {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''];
  if (given.some((arg) => arg.includes(flag)) || process.execve === undefined || process.platform === 'win32') return;
  const { execPath, execArgv } = process;
  process.execve(execPath, [execPath, ...heapFlags, ...execArgv, script, ...args], process.env);
}
