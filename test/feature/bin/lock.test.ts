import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from '../../../src/bin/setup/lock.js';

const module = fileURLToPath(new URL('../../../src/bin/setup/lock.js', import.meta.url));

let folder: string;
let path: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-lock-'));
  path = join(folder, 'setup.lock');
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(folder, { recursive: true });
});

/** A process that runs `body` with the lock held; its standard input is open until the test ends it. */
function holder(body: string): ChildProcess {
  const script = `import { withLock } from ${JSON.stringify(module)};
    import { readFileSync, writeFileSync } from 'node:fs';
    process.once('SIGTERM', () => process.exit(143));
    await withLock(${JSON.stringify(path)}, () => {}, async () => { ${body} });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

const untilStopped = `console.log('held'); await new Promise((resolve) => process.stdin.once('end', resolve).resume());`;

async function held(child: ChildProcess): Promise<void> {
  if (child.stdout !== null) await once(child.stdout, 'data');
}

const neverWaits = (owner: number) => {
  throw new Error(`waits for ${owner}`);
};

describe('the lock of the set-up', () => {
  it('is there while the work runs, and gone afterwards', async () => {
    const during = await withLock(path, neverWaits, async () => existsSync(path));
    expect([during, existsSync(path)]).toEqual([true, false]);
  });

  it('is given back when the work fails', async () => {
    const work = withLock(path, neverWaits, async () => {
      throw new Error('broken');
    });
    await expect(work).rejects.toThrow('broken');
    expect(existsSync(path)).toBe(false);
  });

  it('is waited for while its owner lives', async () => {
    const other = holder(untilStopped);
    await held(other);
    const seen: number[] = [];
    const work = withLock(
      path,
      (owner) => {
        seen.push(owner);
        other.stdin?.end();
      },
      async () => other.exitCode ?? (await once(other, 'exit'))[0],
    );
    expect([await work, seen]).toEqual([0, [other.pid]]);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)('is taken over when its owner died of %s', async (signal) => {
    const other = holder(untilStopped);
    await held(other);
    other.kill(signal);
    await once(other, 'exit');
    expect(existsSync(path)).toBe(signal === 'SIGKILL');
    expect(await withLock(path, neverWaits, async () => 'done')).toBe('done');
  });

  it.runIf(existsSync('/proc/self/stat'))('is taken over when the number of its dead owner is used again', async () => {
    writeFileSync(path, JSON.stringify({ pid: process.pid, started: '1' }));
    expect(await withLock(path, neverWaits, async () => 'done')).toBe('done');
  });

  it('is held by one of many who find a dead owner', async () => {
    const dead = holder(untilStopped);
    await held(dead);
    dead.kill('SIGKILL');
    await once(dead, 'exit');
    const counter = join(folder, 'counter');
    writeFileSync(counter, '0');
    const increment = `const n = Number(readFileSync(${JSON.stringify(counter)}, 'utf8'));
      await new Promise((resolve) => setImmediate(resolve));
      writeFileSync(${JSON.stringify(counter)}, String(n + 1));`;
    const many = Array.from({ length: 6 }, () => holder(increment));
    const codes = await Promise.all(many.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual(many.map(() => 0));
    expect(readFileSync(counter, 'utf8')).toBe('6');
  });
});
