import { setTimeout as sleep } from 'node:timers/promises';
import { typeUrls } from '../../../src/xds/index.ts';
import type { TrafficReport } from '../traffic/index.ts';
import { until } from '../until.ts';
import type { Bed } from './bed.ts';
import { expectedOfProxies, type Fault } from './fault.ts';
import { atLeast, type Figure, none } from './figure.ts';
import { hostOf, poolManifest, poolPath, routeManifest, routePath } from './objects.ts';
import { answerOf, type Seat } from './seat.ts';

export const allRestarted: Fault = {
  name: 'all controllers restarted while etcd is away',
  async run(bed, { etcdAwayMs }) {
    await bed.begin();
    const { members } = bed.etcd;
    const [home] = bed.seats as [Seat];
    const whole = bed.toys[0]?.names(typeUrls.cluster) ?? [];
    const early: string[] = [];
    let firstAnswers: readonly string[] = [];
    let backMs = 0;
    const traffic = await bed.underTraffic(async () => {
      let isAway = true;
      for (const member of members) member.pause();
      await Promise.all(bed.seats.map((seat) => seat.kill()));
      for (const toy of bed.toys) toy.takeFrames();
      const starting = bed.seats.map(async (seat) => {
        await seat.start();
        if (isAway) early.push(`${seat.name} was ready`);
      });
      const started = Promise.all(starting);
      // Told where it is waited for, which is later.
      started.catch(() => undefined);
      const stranger = await bed.newToy(home);
      try {
        await sleep(etcdAwayMs);
        early.push(...[...bed.toys, stranger].flatMap((toy) => toy.takeFrames()));
        isAway = false;
        for (const member of members) member.resume();
        const resumedAt = performance.now();
        await started;
        await bed.settled();
        backMs = performance.now() - resumedAt;
        await until('a proxy without anything to be filled', () => bed.turnOf(stranger) !== undefined);
        firstAnswers = stranger.takeFrames();
      } finally {
        for (const member of members) member.resume();
        stranger.close();
        await Promise.allSettled(starting);
      }
    });
    const first = firstAnswers.find((frame) => frame.startsWith('cluster')) ?? '';
    const lacking = whole.filter((name) => !first.split(' ').includes(`+${name}`));
    return [
      none('controllers that were ready, or answered a proxy, before etcd was back', early),
      none('clusters that were not in the first answer to a new proxy', lacking),
      { metric: 'from the return of etcd until all proxies are in step', unit: 'ms', value: backMs },
      ...requestsThroughEnvoy(traffic),
      ...expectedOfProxies(bed.toys),
    ];
  },
};

export const rollingRestart: Fault = {
  name: 'rolling restart under traffic and churn',
  async run(bed, { rounds }) {
    await bed.begin();
    const drained = await draining(bed);
    const churn = { changes: 0, members: 0 };
    const restartMs: number[] = [];
    const traffic = await bed.underTraffic(async (requests) => {
      const ended = new AbortController();
      const churning = churnOn(bed, ended.signal, churn, (host) => requests.ask(host));
      churning.catch(() => undefined);
      try {
        for (let round = 0; round < rounds; round += 1) {
          for (const seat of bed.seats) {
            const begun = performance.now();
            await seat.stop();
            await until('the others to know that it has left', () => hasLeft(bed, seat), {
              describe: () => seat.controller.output().slice(-3_000),
            });
            await seat.start();
            await Promise.race([bed.inStep(), churning]);
            restartMs.push(performance.now() - begun);
          }
        }
      } finally {
        ended.abort();
        await churning;
      }
    });
    await bed.settled();
    const after = await draining(bed);
    return [
      ...requestsThroughEnvoy(traffic),
      { metric: 'changes meanwhile', unit: '', value: churn.changes, limit: atLeast(10 * rounds) },
      { metric: 'members replaced meanwhile', unit: '', value: churn.members },
      { metric: 'restarts', unit: '', value: restartMs.length },
      { metric: 'longest restart until all proxies are in step', unit: 'ms', value: Math.max(...restartMs) },
      { metric: 'listeners drained', unit: '', value: after - drained, limit: { kind: 'atMost', value: 0 } },
      ...expectedOfProxies(bed.toys),
    ];
  },
};

async function hasLeft(bed: Bed, seat: Seat): Promise<boolean> {
  const lists = await Promise.all(bed.others(seat).map((other) => other.call('GET', '/v1/controllers')));
  return lists.every(({ body }) => body.items.every(({ id }: { id: string }) => id !== seat.name));
}

const draining = (bed: Bed): Promise<number> => bed.envoy.stat('listener_manager.total_listeners_draining');

/** So that none of it is true for want of trying. */
const leastRequests = 200;

function requestsThroughEnvoy({ sent, failed, failures }: TrafficReport): Figure[] {
  const told = failures.map(({ at, kind, host, why }) => `${at} ${kind} ${host}: ${why}`);
  return [
    { ...none('requests through Envoy that failed', told), value: failed },
    { metric: 'requests through Envoy', unit: '', value: sent.http1 + sent.http2, limit: atLeast(leastRequests) },
  ];
}

const churnEveryMs = 100;
const churnDrainMs = 1_000;

/** Members of the pool that most requests go to. */
const servingMembers = 4;

/**
 * Members of a pool in use are replaced all the time by servers that did not exist before, and Routes come, with pools
 * of their own; all by whichever controller takes it.
 */
async function churnOn(
  bed: Bed,
  signal: AbortSignal,
  counts: { changes: number; members: number },
  ask: (host: string) => Promise<void>,
): Promise<void> {
  const begun = performance.now();
  let present = [...(await bed.members.start('http1', servingMembers))];
  const leaving: Promise<void>[] = [];
  const put = async (path: string, object: object): Promise<void> => {
    await until(`somebody to take ${path}`, () => taken(bed, path, object));
    counts.changes += 1;
  };
  const web = (ports: readonly number[]) =>
    put(poolPath('web'), poolManifest('web', ports, { drainTimeout: `${churnDrainMs}ms` }));
  await web(present);
  for (let n = 0; !signal.aborted; n += 1) {
    const [gone, ...kept] = present as [number, ...number[]];
    present = [...kept, ...(await bed.members.start('http1', 1))];
    await web(present);
    counts.members += 1;
    // It ends a while after it was to be drained, as an operator would do it who watches.
    leaving.push(sleep(3 * churnDrainMs).then(() => bed.members.stop(gone)));
    const name = `added-${Math.round(begun)}-${n}`;
    await put(poolPath(name), poolManifest(name, bed.steady));
    await put(routePath(name), routeManifest(name, name));
    await ask(hostOf(name));
    await sleep(churnEveryMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all(leaving);
}

async function taken(bed: Bed, path: string, object: object): Promise<boolean> {
  for (const seat of bed.seats) {
    const { status, body } = await answerOf(seat.call('PUT', path, object));
    if (status >= 200 && status < 300) return true;
    // One that goes away says so; anything else is a fault of this test.
    if (status !== 0 && status !== 503) throw new Error(`PUT ${path}: ${status} ${JSON.stringify(body)}`);
  }
  return false;
}
