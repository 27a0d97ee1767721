import { setTimeout as sleep } from 'node:timers/promises';
import { typeUrls } from '../../../src/xds/index.ts';
import { patienceMs, until } from '../until.ts';
import type { Bed } from './bed.ts';
import { fillMs } from './etcd-faults.ts';
import { expectedOfProxies, type Fault, type Pauses } from './fault.ts';
import { atMost, type Figure, none } from './figure.ts';
import { poolManifest, poolPath, routeManifest, routePath, routes } from './objects.ts';
import { startReads, startWrites, wordsOf } from './requests.ts';
import { doubleLeaders, type Seat } from './seat.ts';

/** Its connections end and new ones are refused, and etcd forgets what it has missed: it must list everything anew. */
export const leaderCutOff: Fault = {
  name: 'leader cut off from etcd, history lost',
  run: (bed, pauses) =>
    cutOff(bed, pauses, {
      sever: (seat) => seat.link.cut(),
      // What the others hold in memory is not concerned.
      forget: async () => {
        const { client } = bed.etcd;
        const { header } = await client.kv.range({ key: Buffer.from('any') }, { deadline: inTime() });
        await client.kv.compact({ revision: header.revision }, { deadline: inTime() });
      },
    }),
};

/** Nobody tells it that what it says does not arrive; when it is back all of that arrives late. */
export const leaderUnheard: Fault = {
  name: 'leader cut off from etcd in silence',
  run: (bed, pauses) => cutOff(bed, pauses, { sever: (seat) => seat.link.silence(), forget: async () => undefined }),
};

const inTime = (): Date => new Date(Date.now() + patienceMs);

interface Manner {
  sever(seat: Seat): void;
  /** Just before it comes back. */
  forget(): Promise<void>;
}

async function cutOff(bed: Bed, { cutOffMs }: Pauses, manner: Manner): Promise<readonly Figure[]> {
  await bed.begin();
  const seat = await bed.leader();
  const others = bed.others(seat);
  const [through] = others as [Seat];
  const decision = await bed.prepareDecision(through);
  const atHome = bed.toys.filter((toy) => bed.homeOf(toy) === seat);
  const elsewhere = bed.toys.filter((toy) => bed.homeOf(toy) !== seat);
  const traveller = await bed.newToy(through);
  await bed.turned([traveller]);
  const served = startReads([seat], '/v1/routes?limit=500', hasAllRoutes);
  const writes = startWrites(others, 20);
  const figures: Figure[] = [];
  try {
    manner.sever(seat);
    const severedAt = performance.now();
    const over = sleep(cutOffMs);
    await decision.make(through);
    figures.push({
      metric: 'until the others have a leader that decides',
      unit: 'ms',
      value: performance.now() - severedAt,
      limit: atMost(5_000),
    });
    for (let turns = 0; turns < 3; turns += 1) {
      await bed.turn(through);
      await bed.turned([...elsewhere, traveller]);
    }
    const late = `late-${Math.round(severedAt)}`;
    await through.call('PUT', poolPath(late), poolManifest(late, []));
    await through.call('PUT', routePath(late), routeManifest(late, late));
    await until('the proxies to have it', () =>
      [...elsewhere, traveller].every((toy) => toy.names(typeUrls.cluster).includes(`default/${late}`)),
    );
    // It brings along forms and names that this controller has not heard of.
    await traveller.moveTo(seat.xdsPort);
    figures.push({
      metric: 'until a new proxy is filled by it',
      unit: 'ms',
      value: await fillMs(bed, seat),
      limit: atMost(5_000),
    });
    await over;
    await manner.forget();
  } finally {
    seat.link.mend();
  }
  const mendedAt = performance.now();
  try {
    await bed.turned([...bed.toys, traveller]);
    figures.push({
      metric: 'from its return until its proxies have all',
      unit: 'ms',
      value: performance.now() - mendedAt,
    });
    await bed.settled();
  } finally {
    traveller.close();
    await Promise.all([served.stop(), writes.stop()]);
  }
  return [
    ...figures,
    none('requests that failed at the others', wordsOf(writes.failures)),
    none('reads at which it was not there, or not whole', wordsOf(served.failures)),
    none(
      'its streams that ended',
      atHome.filter(({ tally }) => tally.ended > 0).map(({ tally }) => `${tally.ended}`),
    ),
    none('leaders at the same time', doubleLeaders(bed.seats)),
    none('acknowledged writes that were lost', await writes.lost(bed.seats)),
    ...expectedOfProxies([...bed.toys, traveller]),
  ];
}

function hasAllRoutes(body: unknown): boolean {
  const { items } = body as { readonly items: readonly unknown[] };
  return items.length >= routes;
}
