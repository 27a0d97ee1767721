/**
 * Property tests draw the same cases in every run, so that a red run means a change and not a dice roll. `npm run fuzz`
 * sets another seed, and more runs, from outside; failing seeds found there are committed with their test.
 */
import { configureGlobal, readConfigureGlobal } from 'fast-check';

const seed = process.env['FAIRWAY_FUZZ_SEED'];
const runs = process.env['FAIRWAY_FUZZ_RUNS'];

/** While fuzzing, a slow property draws fewer cases than asked for: a round is to end before one forgets it. */
const fuzzLimitMs = 30_000;

configureGlobal({
  ...readConfigureGlobal(),
  seed: seed === undefined ? 20_260_101 : Number(seed),
  ...(runs === undefined ? {} : { numRuns: Number(runs), interruptAfterTimeLimit: fuzzLimitMs }),
});
