import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findSchemathesis, fuzzApi } from '../support/schemathesis.ts';
import { startServerProcess } from '../support/server-process.ts';

// The REST API of a server process, asked for what its own OpenAPI document says and for much that it does not: whatever
// comes, the answer is one that the document has, and never 5xx. `npm run fuzz` does it with more, and other, cases.

/** Of each operation; those that take nothing have one. */
const perOperation = 10;
const leastCases = 500;
const seed = 1;

test('answers whatever is asked as its document says', async ({ skip }) => {
  const program = await findSchemathesis();
  if ('missing' in program) return skip(program.missing);
  const data = await mkdtemp(join(tmpdir(), 'fairway-fuzz-api-'));
  const server = await startServerProcess({ data, flags: ['--store', 'memory'] });
  try {
    const { cases, passed, report } = await fuzzApi(program.path, {
      url: `http://${server.address}`,
      perOperation,
      seed,
    });
    expect(passed, report + server.output()).toBe(true);
    expect(cases).toBeGreaterThanOrEqual(leastCases);
  } finally {
    await server.stop();
    await rm(data, { recursive: true, force: true });
  }
}, 600_000);
