import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../until.ts';
import type { Bed } from './bed.ts';
import { expectedOfProxies, type Fault } from './fault.ts';
import { atLeast, atMost, type Figure, none } from './figure.ts';
import { servicePath } from './objects.ts';
import { startReads, startWrites, type Writes, wordsOf } from './requests.ts';
import type { Seat } from './seat.ts';

const decisionLimitMs = 5_000;

/** What proxies that come back and have everything may be sent each: answers that say so. */
const returnLimitBytes = 1_000;

export const leaderKilled: Fault = {
  name: 'leader killed',
  async run(bed, { writesPerSecond }) {
    return lead(bed, writesPerSecond, async (run) => {
      await run.leader.kill();
      run.writes.leave(run.leader);
      await run.decided();
      await bed.inStep(run.others);
      const returned = bed.toys.filter(({ tally }) => tally.ended > 0);
      const figures: Figure[] = [
        { metric: 'proxies that came back elsewhere', unit: '', value: returned.length, limit: atLeast(1) },
        {
          metric: 'sent to each of them, at most',
          unit: 'B',
          value: Math.max(...returned.map(({ tally }) => tally.bytes)),
          limit: atMost(returnLimitBytes),
        },
      ];
      await run.leader.start();
      return figures;
    });
  },
};

export const leaderFrozen: Fault = {
  name: 'leader frozen',
  async run(bed, { writesPerSecond, frozenMs }) {
    return lead(bed, writesPerSecond, async (run) => {
      run.leader.freeze();
      const over = sleep(frozenMs);
      try {
        await run.decided();
        await bed.turn(run.through);
        await over;
      } finally {
        run.leader.thaw();
      }
      const thawedAt = Date.now();
      const { leader, through } = run;
      await until('the former leader to step down', () => (leader.lostAt ?? 0) >= thawedAt);
      await until('it to see who leads', async () => {
        const { body } = await leader.call('GET', '/v1/controllers');
        return body.items.some((told: { id: string; leader: boolean }) => told.leader && told.id !== leader.name);
      });
      await bed.settled();
      // All that it could have decided anew it would have by now: the View that it decides by has arrived.
      const seen = await Promise.all([through, leader].map((seat) => run.decision.read(seat)));
      const changed = seen.filter((value) => value !== run.decidedValue());
      return [
        { metric: 'from SIGCONT until it stepped down', unit: 'ms', value: (leader.lostAt ?? 0) - thawedAt },
        none('decisions of the next leader that the former one changed', changed),
      ];
    });
  },
};

interface LeaderRun {
  readonly leader: Seat;
  readonly others: readonly Seat[];
  readonly through: Seat;
  readonly writes: Writes;
  readonly decision: { read(through: Seat): Promise<string> };
  /** Resolves when the next leader has decided something. */
  decided(): Promise<void>;
  decidedValue(): string;
}

/** What both faults of a leader share: writes and reads all the time, and what must hold of them. */
async function lead(
  bed: Bed,
  writesPerSecond: number,
  fail: (run: LeaderRun) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  await bed.begin();
  const leader = await bed.leader();
  const others = bed.others(leader);
  const [through] = others as [Seat];
  const decision = await bed.prepareDecision(through);
  const reads = startReads(others, servicePath);
  const writes = startWrites(bed.seats, writesPerSecond);
  let failedAt = 0;
  let decidedAt = 0;
  let value = '';
  let own: readonly Figure[];
  try {
    await until('writes to come in', () => writes.acknowledged > writesPerSecond / 2);
    failedAt = Date.now();
    own = await fail({
      leader,
      others,
      through,
      writes,
      decision,
      decidedValue: () => value,
      async decided() {
        value = await decision.make(through);
        decidedAt = Date.now();
      },
    });
  } finally {
    await Promise.all([writes.stop(), reads.stop()]);
  }
  await bed.settled();
  const electedAt = Math.min(
    ...others.flatMap(({ terms }) => terms.map(({ from }) => from)).filter((at) => at > failedAt),
  );
  const failed = [...writes.failures, ...reads.failures].filter(({ seat }) => seat !== leader.name);
  return [
    none('acknowledged writes that were lost', await writes.lost(bed.seats)),
    { metric: 'acknowledged writes', unit: '/s', value: writes.perSecond() },
    { metric: nextLeader, unit: 'ms', value: electedAt - failedAt },
    {
      metric: 'until the next leader has decided something',
      unit: 'ms',
      value: decidedAt - failedAt,
      limit: atMost(decisionLimitMs),
    },
    none('requests that failed at the others', wordsOf(failed)),
    { metric: 'longest write at the others', unit: 'ms', value: writes.longestMs(others) },
    ...expectedOfProxies(bed.toys),
    ...own,
  ];
}

/** The figure that a lone election can be held against. */
export const nextLeader = 'until another one leads';
