/**
 * `npm run fuzz [-- --minutes N] [--seed N]`: the REST API asked at random by its own OpenAPI document, then the property
 * and model tests, again and again, each round with a new random seed and more cases than in CI, until one fails or the
 * time is over. Prints the seed of each round; `--seed` begins with that one. Property tests alone are repeated with
 * FAIRWAY_FUZZ_SEED=… FAIRWAY_FUZZ_RUNS=… node src/bin/run.js vitest run --config test/vitest.config.ts test/property test/model
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findSchemathesis, fuzzApi } from './support/schemathesis.ts';
import { startServerProcess } from './support/server-process.ts';

/** Cases of each property in one round; fast-check's own default, used in CI, is 100. */
const runsPerRound = 1000;

/** Requests to each operation of the API in one round. */
const casesPerOperation = 100;

/** Requests in one round at least: fewer mean that the document has lost operations. */
const leastCases = 5000;

const root = fileURLToPath(new URL('..', import.meta.url));

/** Gives an exit code: 0 too where the program that makes the requests cannot be had, which is said. */
async function apiRound(seed: number): Promise<number> {
  const program = await findSchemathesis();
  if ('missing' in program) {
    console.log(`fuzz: the REST API is left out: ${program.missing}`);
    return 0;
  }
  const data = mkdtempSync(join(tmpdir(), 'fairway-fuzz-'));
  const server = await startServerProcess({ data, flags: ['--store', 'memory'] });
  try {
    const url = `http://${server.address}`;
    const { cases, passed, report } = await fuzzApi(program.path, { url, perOperation: casesPerOperation, seed });
    if (passed && cases >= leastCases) console.log(`fuzz: ${cases} requests, all answered as the document says`);
    else console.log(`${report}\n${server.output()}\nfuzz: ${cases} requests (at least ${leastCases} are to be made)`);
    return passed && cases >= leastCases ? 0 : 1;
  } finally {
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

function propertyRound(seed: number): Promise<number> {
  const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
  // No time limit on a single test: with ten times the cases each takes ten times as long.
  const args = [vitest, 'run', '--config', 'test/vitest.config.ts', '--testTimeout=0', 'test/property', 'test/model'];
  const env = { ...process.env, FAIRWAY_FUZZ_SEED: String(seed), FAIRWAY_FUZZ_RUNS: String(runsPerRound) };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
    const stop = () => child.kill('SIGTERM');
    process.once('exit', stop);
    child.on('error', reject);
    child.on('exit', (code) => {
      process.off('exit', stop);
      resolve(code ?? 1);
    });
  });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
if (Number.isNaN(minutes)) throw new Error(`--minutes takes a number, not ${values.minutes}`);
const end = Date.now() + minutes * 60_000;

let code = 0;
let first = values.seed === undefined ? undefined : Number(values.seed);
do {
  const seed = first ?? randomInt(2 ** 31);
  first = undefined;
  console.log(
    `fuzz: seed ${seed}, ${casesPerOperation} requests to each operation, ${runsPerRound} cases of each property`,
  );
  code = (await apiRound(seed)) || (await propertyRound(seed));
  if (code !== 0) console.log(`fuzz: seed ${seed} failed`);
} while (code === 0 && Date.now() < end);
process.exitCode = code;
