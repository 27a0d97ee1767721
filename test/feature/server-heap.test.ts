import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';

const data = mkdtempSync(join(tmpdir(), 'fairway-heap-'));
let server: ServerProcess | undefined;

afterEach(async () => {
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

/** What Node was told of the heap. */
function heapFlags({ pid }: ServerProcess): string[] {
  const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return args.filter((arg) => arg.startsWith('--max-semi-space-size') || arg.startsWith('--heap-growing-percent'));
}

it('a server begins anew with a heap of its own, as the same process', async () => {
  server = await startServerProcess({ data });
  expect(heapFlags(server)).toEqual(['--max-semi-space-size=8', '--heap-growing-percent=40']);
});

it('who says how large it is to be is obeyed', async () => {
  server = await startServerProcess({ data, node: ['--max-semi-space-size=4'] });
  expect(heapFlags(server)).toEqual(['--max-semi-space-size=4']);
});
