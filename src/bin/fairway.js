#!/usr/bin/env node
/**
 * The `fairway` command. Plain JavaScript for any Node >= 18: goes on with the project's own Node 26, which keeps its
 * compiled code from one start to the next, and hands over to the CLI.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { become } from './setup/become.js';
import { limitHeap } from './setup/heap.js';
import { nodeMajor, requireNode, root } from './setup/project.js';

/** The CLI: TypeScript in the repository, JavaScript in an installed package (Node refuses TypeScript there). */
const entries = ['main.ts', 'main.js'].map((name) => join(root, 'src', 'cli', name));

async function main() {
  if (Number.parseInt(process.versions.node, 10) < nodeMajor) {
    become(requireNode(), [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
    return;
  }
  if (process.argv[2] === 'server') limitHeap(fileURLToPath(import.meta.url), process.argv.slice(2));
  const entry = entries.find((path) => existsSync(path));
  if (entry === undefined)
    throw new Error(`The command line is missing from this installation: there is no ${entries[0]}.`);
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  await import(entry);
}

main().catch((error) => {
  process.stderr.write(`fairway: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});
