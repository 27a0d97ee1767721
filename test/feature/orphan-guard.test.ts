import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { until } from '../support/until.ts';

const guardModule = fileURLToPath(new URL('../../src/lib/orphan-guard.ts', import.meta.url));

/** A process that starts a child with a guard, says the child's id, and goes on. */
function startParent(childCommand: string): ChildProcess {
  const script = `
    import { spawn } from 'node:child_process';
    import { startOrphanGuard } from ${JSON.stringify(guardModule)};
    const child = spawn('/bin/sh', ['-c', ${JSON.stringify(childCommand)}], { stdio: 'ignore', detached: true });
    startOrphanGuard(child.pid);
    console.log(child.pid);
    setInterval(() => undefined, 1000);
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('a child ends when the process that guards it was killed', async () => {
  const parent = startParent('while :; do sleep 1; done');
  const [line] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const child = Number(line.toString());
  expect(isAlive(child)).toBe(true);
  parent.kill('SIGKILL');
  await until('the child to end', () => !isAlive(child));
});
