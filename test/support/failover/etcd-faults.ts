import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../until.ts';
import type { Bed } from './bed.ts';
import { expectedOfProxies, type Fault } from './fault.ts';
import { atLeast, atMost, none } from './figure.ts';
import { poolManifest, poolPath, servicePath } from './objects.ts';
import { startIncrements, startReads, startWrites, wordsOf } from './requests.ts';
import { answerOf, doubleLeaders, type Seat } from './seat.ts';

/** Nobody who writes waits longer for a no when there is no quorum. */
const refusalLimitMs = 2_000;

/** Nor for a yes when there is one: as long as the store waits for etcd to elect. */
const writeLimitMs = 5_000;

export const memberLost: Fault = {
  name: 'etcd member lost',
  async run(bed, { writesPerSecond, memberMs }) {
    await bed.begin();
    const writes = startWrites(bed.seats, writesPerSecond);
    const reads = startReads(bed.seats, servicePath);
    try {
      for (const member of bed.etcd.members) {
        await member.kill();
        try {
          await sleep(memberMs);
          const before = writes.acknowledged;
          await until('writes to go on without it', () => writes.acknowledged > before + 20, {
            describe: () => ({ before, now: writes.acknowledged, failures: wordsOf(writes.failures) }),
          });
        } finally {
          // Whatever became of this row, the next one begins with all of them.
          member.restart();
        }
        const health = `${member.url}/health`;
        await until('it to be back', async () => (await fetch(health, { signal: AbortSignal.timeout(500) })).ok);
        // One is lost at a time: the next election begins with all of them in step.
        const whole = writes.acknowledged;
        await until('writes to go on with all of them', () => writes.acknowledged > whole + writesPerSecond);
      }
    } finally {
      await Promise.all([writes.stop(), reads.stop()]);
    }
    await bed.settled();
    return [
      none('acknowledged writes that were lost', await writes.lost(bed.seats)),
      { metric: 'acknowledged writes', unit: '/s', value: writes.perSecond() },
      none('requests that failed', wordsOf([...writes.failures, ...reads.failures])),
      { metric: 'longest write', unit: 'ms', value: writes.longestMs(bed.seats), limit: atMost(writeLimitMs) },
      none('streams of proxies that ended', endedStreams(bed)),
      ...expectedOfProxies(bed.toys),
    ];
  },
};

export const quorumLost: Fault = {
  name: 'etcd quorum lost',
  async run(bed, { quorumMs }) {
    await bed.begin();
    const gone = bed.etcd.members.slice(1);
    const reads = startReads(bed.seats, servicePath);
    const writes = startWrites(bed.seats, 50);
    const newcomers: number[] = [];
    let [pausedAt, resumedAt] = [0, 0];
    try {
      await until('writes to come in', () => writes.acknowledged > 20);
      for (const member of gone) member.pause();
      pausedAt = performance.now();
      const over = sleep(quorumMs);
      await until('writes to be refused', () => writes.failures.length > 0);
      newcomers.push(...(await Promise.all(bed.seats.map((seat) => fillMs(bed, seat)))));
      await until('reads to tell their age', () => reads.agedAt.size === bed.seats.length);
      await over;
    } finally {
      for (const member of gone) member.resume();
      resumedAt = performance.now();
    }
    await writes.stop();
    const recovered = await Promise.all(bed.seats.map((seat) => takesWrites(seat, resumedAt)));
    await bed.settled();
    await reads.stop();
    const refusedWrongly = writes.failures.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null);
    return [
      none('writes that failed otherwise than by 503 with Retry-After', wordsOf(refusedWrongly)),
      { metric: 'refused writes', unit: '', value: writes.failures.length, limit: atLeast(1) },
      {
        metric: 'longest refusal of a write',
        unit: 'ms',
        value: Math.max(...writes.failures.map(({ ms }) => ms)),
        limit: atMost(refusalLimitMs),
      },
      none('reads that failed', wordsOf(reads.failures)),
      { metric: 'until reads tell their age', unit: 'ms', value: Math.max(...reads.agedAt.values()) - pausedAt },
      { metric: 'until a new proxy is filled meanwhile, longest', unit: 'ms', value: Math.max(...newcomers) },
      none('streams of proxies that ended', endedStreams(bed)),
      { metric: 'until all take writes again', unit: 'ms', value: Math.max(...recovered), limit: atMost(10_000) },
      none('acknowledged writes that were lost', await writes.lost(bed.seats)),
      none('leaders at the same time', doubleLeaders(bed.seats)),
      ...expectedOfProxies(bed.toys),
    ];
  },
};

/** Each way half of it. */
const slowCallMs = 500;

export const etcdSlow: Fault = {
  name: `etcd slow by ${slowCallMs} ms a call`,
  async run(bed, { slowMs }) {
    await bed.begin();
    const [through] = bed.seats as [Seat];
    const reads = startReads(bed.seats, servicePath);
    const increments = await startIncrements(bed.seats);
    const turns: number[] = [];
    const newcomers: number[] = [];
    const slowFrom = Date.now();
    try {
      for (const { link } of bed.seats) link.slow(slowCallMs);
      const end = performance.now() + slowMs;
      while (performance.now() < end) {
        const begun = performance.now();
        await bed.turn(through);
        await bed.turned();
        turns.push(performance.now() - begun);
      }
      newcomers.push(...(await Promise.all(bed.seats.map((seat) => fillMs(bed, seat)))));
    } finally {
      for (const { link } of bed.seats) link.mend();
      await Promise.all([increments.stop(), reads.stop()]);
    }
    await bed.settled();
    return [
      none('leaders at the same time', doubleLeaders(bed.seats)),
      { metric: 'terms that began', unit: '', value: termsSince(bed, slowFrom) },
      none('updates that were lost', await increments.lost()),
      { metric: 'updates of the same object', unit: '', value: increments.made, limit: atLeast(3) },
      none('reads that failed', wordsOf(reads.failures)),
      none('streams of proxies that ended', endedStreams(bed)),
      { metric: 'from a write to all proxies, longest', unit: 'ms', value: Math.max(...turns) },
      {
        metric: 'until a new proxy is filled, longest',
        unit: 'ms',
        value: Math.max(...newcomers),
        // As long as a stream waits for the head of the store, and then some.
        limit: atMost(5_000),
      },
      ...expectedOfProxies(bed.toys),
    ];
  },
};

const endedStreams = (bed: Bed): string[] =>
  bed.toys.filter(({ tally }) => tally.ended > 0).map((toy) => `one at home with ${bed.homeOf(toy).name}`);

const termsSince = (bed: Bed, since: number): number =>
  bed.seats.flatMap(({ terms }) => terms).filter(({ from }) => from >= since).length;

/** Milliseconds until a proxy that has nothing has what all have. */
export async function fillMs(bed: Bed, seat: Seat): Promise<number> {
  const begun = performance.now();
  const toy = await bed.newToy(seat);
  try {
    await until('a new proxy to be filled', () => bed.turnOf(toy) !== undefined);
    return performance.now() - begun;
  } finally {
    toy.close();
  }
}

async function takesWrites(seat: Seat, since: number): Promise<number> {
  const name = `recovered-${seat.name}`;
  await until(
    `${seat.name} to take writes`,
    async () => (await answerOf(seat.call('PUT', poolPath(name), poolManifest(name, [])))).status < 300,
  );
  return performance.now() - since;
}
