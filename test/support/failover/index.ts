/**
 * The table of what may fail in a cluster and what must hold then. The test runs it with short pauses, the bench in
 * full; both judge the same figures.
 */
import { leaderCutOff, leaderUnheard } from './cut-off.ts';
import { etcdSlow, memberLost, quorumLost } from './etcd-faults.ts';
import type { Fault, Pauses } from './fault.ts';
import { leaderFrozen, leaderKilled } from './leader-faults.ts';
import { allRestarted, rollingRestart } from './restarts.ts';

export { type Bed, startBed } from './bed.ts';
export type { Fault, Pauses } from './fault.ts';
export { brokenOf, type Figure } from './figure.ts';
export { nextLeader } from './leader-faults.ts';

export const faults: readonly Fault[] = [
  leaderKilled,
  leaderFrozen,
  memberLost,
  quorumLost,
  etcdSlow,
  leaderCutOff,
  leaderUnheard,
  allRestarted,
  rollingRestart,
];

export const fullPauses: Pauses = {
  writesPerSecond: 200,
  frozenMs: 20_000,
  memberMs: 2_000,
  quorumMs: 10_000,
  slowMs: 10_000,
  cutOffMs: 10_000,
  etcdAwayMs: 10_000,
  rounds: 2,
};

export const shortPauses: Pauses = {
  writesPerSecond: 60,
  // Past the lease of a leader, and until the next one has decided something.
  frozenMs: 4_000,
  memberMs: 0,
  quorumMs: 4_000,
  slowMs: 3_000,
  cutOffMs: 3_000,
  etcdAwayMs: 2_000,
  rounds: 1,
};
