/**
 * One set-up at a time: `npm test` and `npm run demo` may start together on a fresh clone.
 *
 * The lock is a file that holds its owner's process id, made by `link`, so that nobody sees it half written. The lock
 * of a dead process is removed, by one process at a time (the folder `….takeover`) which first looks again: without
 * that, two who saw the same dead owner could remove each other's fresh lock.
 */

import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 200;

/** A take-over is a few system calls: one this old was cut short. */
const takeoverLimitMs = 10_000;

/**
 * Waits for the lock, runs `work`, gives the lock back. The lock also goes when the process exits.
 *
 * @template T
 * @param {string} path
 * @param {(owner: number) => void} waiting called once when another live process holds it
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, waiting, work) {
  mkdirSync(dirname(path), { recursive: true });
  for (let told = false; !tryLock(path); ) {
    const owner = readOwner(path);
    if (owner !== undefined && !isAlive(owner)) removeDead(path);
    else {
      if (!told && owner !== undefined) {
        waiting(owner.pid);
        told = true;
      }
      await delay(pollMs);
    }
  }
  const release = () => rmSync(path, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** @typedef {{ pid: number, started: string | undefined }} Owner */

/**
 * @param {string} path
 * @returns {boolean}
 */
function tryLock(path) {
  const own = `${path}.${process.pid}`;
  /** @type {Owner} */
  const owner = { pid: process.pid, started: startTime(process.pid) };
  writeFileSync(own, JSON.stringify(owner));
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(own);
  }
}

/**
 * @param {string} path
 * @returns {Owner | undefined} undefined when the lock is gone meanwhile
 */
function readOwner(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * @param {Owner} owner
 * @returns {boolean}
 */
function isAlive(owner) {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
  // Process ids are used again: after a crash the number may belong to another.
  return owner.started === undefined || owner.started === startTime(owner.pid);
}

/**
 * When a process started, in the kernel's words; undefined where there is no /proc.
 *
 * @param {number} pid
 * @returns {string | undefined}
 */
function startTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, field 2, stands in brackets and may hold anything: count from behind it. proc(5): starttime is field 22.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** @param {string} path */
function removeDead(path) {
  const claim = `${path}.takeover`;
  try {
    mkdirSync(claim);
  } catch {
    try {
      if (Date.now() - statSync(claim).mtimeMs > takeoverLimitMs) rmdirSync(claim);
    } catch {
      // Whoever held it is done.
    }
    return;
  }
  try {
    const owner = readOwner(path);
    if (owner !== undefined && !isAlive(owner)) unlinkSync(path);
  } finally {
    rmdirSync(claim);
  }
}
