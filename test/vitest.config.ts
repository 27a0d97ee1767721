/**
 * Three projects, one after the other on two cores:
 *
 * - pure: no sockets, no processes. Threads without isolation, since a module graph loaded once serves all files.
 * - feature: the control plane in one process, stores, sockets. Forks, two at a time.
 * - peer: real Envoy and other programs. One file at a time, since they own ports and processors.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = (...folders: string[]) => folders.map((folder) => `test/${folder}/**/*.test.ts`);

// biome-ignore lint/style/noDefaultExport: vitest asks for it
export default defineConfig({
  root,
  test: {
    reporters: ['default', fileURLToPath(new URL('support/reporter.ts', import.meta.url))],
    setupFiles: [fileURLToPath(new URL('support/property-seed.ts', import.meta.url))],
    // Generated code is plain JavaScript: Node loads it faster than Vite transforms it.
    server: { deps: { external: [/\/src\/gen\//] } },
    passWithNoTests: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: files('unit', 'golden', 'property', 'model', 'arch'),
          pool: 'threads',
          isolate: false,
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'feature',
          include: files('contract', 'feature'),
          pool: 'forks',
          maxWorkers: 2,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'peer',
          include: files('peer'),
          pool: 'forks',
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
