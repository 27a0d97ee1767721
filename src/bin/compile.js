/**
 * Starts a server once on a folder of its own and stops it, so that Node keeps the compiled code: the first start that
 * somebody waits for is then as quick, and as small, as every later one. Run by the set-up with the project's Node.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

enableCompileCache();
const folder = await mkdtemp(join(tmpdir(), 'fairway-compile-'));
try {
  const here = (/** @type {string} */ path) => import(new URL(path, import.meta.url).href);
  const [{ startServer }, { serverDefaults }, { createLogger }] = await Promise.all(
    ['../server/index.ts', '../config/index.ts', '../telemetry/log.ts', '../cli/program.ts'].map(here),
  );
  const free = '127.0.0.1:0';
  const config = { ...serverDefaults, listen: free, xdsListen: free, data: folder };
  const server = await startServer({ config, log: createLogger({ level: 'silent' }) });
  await server.close();
  flushCompileCache();
} finally {
  await rm(folder, { recursive: true, force: true });
}
