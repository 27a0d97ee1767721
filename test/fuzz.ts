/**
 * `npm run fuzz [-- --minutes N]`: the property and model tests again and again, each round with a new random seed and
 * more cases than in CI, until one fails or the time is over. Prints the seed of each round; a failed one is repeated
 * with FAIRWAY_FUZZ_SEED=… FAIRWAY_FUZZ_RUNS=… node src/bin/run.js vitest run --config test/vitest.config.ts test/property test/model
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** Cases of each property in one round; fast-check's own default, used in CI, is 100. */
const runsPerRound = 1000;

const root = fileURLToPath(new URL('..', import.meta.url));

function round(seed: number): Promise<number> {
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

const { values } = parseArgs({ options: { minutes: { type: 'string' } } });
const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
if (Number.isNaN(minutes)) throw new Error(`--minutes takes a number, not ${values.minutes}`);
const end = Date.now() + minutes * 60_000;

let code = 0;
do {
  const seed = randomInt(2 ** 31);
  console.log(`fuzz: seed ${seed}, ${runsPerRound} cases each`);
  code = await round(seed);
  if (code !== 0) console.log(`fuzz: seed ${seed} failed`);
} while (code === 0 && Date.now() < end);
process.exitCode = code;
