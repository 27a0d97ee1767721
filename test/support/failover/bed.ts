/**
 * What a fault happens to: a real etcd of three members, controllers that are processes of their own, each with its own
 * way to etcd, fake proxies, and a real Envoy that serves. One for all faults of a run; each fault leaves it whole.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { ClusterLoadAssignmentSchema } from '../../../src/gen/envoy/config/endpoint/v3/endpoint_pb.js';
import { typeUrls } from '../../../src/xds/index.ts';
import { startTestCluster, type TestCluster, type ToldController } from '../controllers.ts';
import { type RunningEnvoy, startEnvoy } from '../envoy.ts';
import type { EtcdCluster, Missing } from '../etcd.ts';
import { type Members, startMembers } from '../members/index.ts';
import { freePort } from '../ports.ts';
import { startToyProxy, type ToyProxy } from '../toy-proxy.ts';
import { startTraffic, type Traffic, type TrafficReport } from '../traffic/index.ts';
import { until, within } from '../until.ts';
import { fleet, hostOf, manifests, poolManifest, poolPath, turnedPool } from './objects.ts';
import { answerOf, createSeat, type Seat } from './seat.ts';

export interface Bed {
  readonly etcd: EtcdCluster;
  readonly seats: readonly Seat[];
  /** One after another at home with each controller; they know all of them. */
  readonly toys: readonly ToyProxy[];
  readonly envoy: RunningEnvoy;
  readonly members: Members;
  /** Servers behind the service, which stay. */
  readonly steady: readonly number[];
  leader(among?: readonly Seat[]): Promise<Seat>;
  others(...than: readonly Seat[]): readonly Seat[];
  homeOf(toy: ToyProxy): Seat;
  /** A further proxy, which knows one controller alone and must be closed. */
  newToy(home: Seat): Promise<ToyProxy>;
  /** Changes what all proxies have; resolves with the number of the change when it is acknowledged. */
  turn(through: Seat): Promise<number>;
  /** Of the change that a proxy has; undefined: it lacks the pool. */
  turnOf(toy: ToyProxy): number | undefined;
  /** Resolves when all of these have the last change. */
  turned(toys?: readonly ToyProxy[]): Promise<void>;
  prepareDecision(through: Seat): Promise<Decision>;
  /** Requests through Envoy while `work` runs. */
  underTraffic(work: (traffic: Traffic) => Promise<void>): Promise<TrafficReport>;
  /** Resolves when all fake proxies and Envoy are in step with one of these. */
  inStep(seats?: readonly Seat[]): Promise<void>;
  /** Brings the fake proxies home, and begins to count anew what they are sent. */
  begin(): Promise<void>;
  /** Resolves when all controllers agree, one leads and every proxy is in step. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Something that only a leader decides. */
export interface Decision {
  /** Asks for it; resolves when it was made, with what it is. */
  make(through: Seat): Promise<string>;
  read(through: Seat): Promise<string>;
}

/** A decision is asked for by others than those who lead, and told by others. */
const decisionLimitMs = 30_000;

const settleLimitMs = 60_000;

export interface BedOptions {
  readonly controllers: number;
  readonly toys: number;
}

const trafficPerSecond = 150;

export async function startBed({ controllers, toys: toyCount }: BedOptions): Promise<Bed | Missing> {
  const cluster = await startTestCluster(3);
  if ('missing' in cluster) return cluster;
  const closers: (() => Promise<unknown> | unknown)[] = [() => cluster.close()];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await within(`the end of ${closer}`, closer(), settleLimitMs);
  };
  try {
    return { ...(await fill(cluster, { controllers, toys: toyCount }, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function fill(
  cluster: TestCluster,
  options: BedOptions,
  closers: (() => Promise<unknown> | unknown)[],
): Promise<Omit<Bed, 'close'>> {
  const seats: Seat[] = [];
  for (let n = 0; n < options.controllers; n += 1) {
    const seat = await createSeat(cluster, `c${n}`);
    // After the controllers, which want to say goodbye.
    closers.unshift(() => seat.close());
    seats.push(seat);
  }
  for (const seat of seats) await seat.start();
  const [first] = seats as [Seat];
  const members = await startMembers();
  closers.push(() => members.close());
  const [port, steady] = [await freePort(), await members.start('http1', 2)];
  const applied = await first.call('POST', '/v1/apply?atomic=false', { objects: manifests(port, steady).map(inScope) });
  if (applied.status !== 200) throw new Error(`filling the store: ${JSON.stringify(applied.body)}`);
  const xdsPorts = seats.map(({ xdsPort }) => xdsPort);
  const envoy = await startEnvoy({ node: 'envoy', fleet, xdsPort: xdsPorts, drainSeconds: 600 });
  closers.push(() => envoy.stop());

  const homes = new Map<ToyProxy, Seat>();
  let named = 0;
  /** Of all controllers, this one first. */
  const portsFrom = (home: Seat): number[] =>
    [home, ...seats.filter((seat) => seat !== home)].map(({ xdsPort }) => xdsPort);
  const startToy = async (home: Seat, xdsPort: number | readonly number[]): Promise<ToyProxy> => {
    named += 1;
    const toy = await startToyProxy({ xdsPort, node: `toy-${named}`, fleet });
    homes.set(toy, home);
    return toy;
  };
  const toys: ToyProxy[] = [];
  for (let n = 0; n < options.toys; n += 1) {
    const home = seats[n % seats.length] as Seat;
    const toy = await startToy(home, portsFrom(home));
    closers.push(() => toy.close());
    toys.push(toy);
  }
  const toyNodes = toys.map((_, n) => `toy-${n + 1}`);
  const nodes = ['envoy', ...toyNodes];

  let turns = 0;
  let decisions = 0;

  function turnOf(toy: ToyProxy): number | undefined {
    const value = toy.value(typeUrls.endpoint, 'default/turned');
    if (value === undefined) return undefined;
    const [group] = fromBinary(ClusterLoadAssignmentSchema, value).endpoints;
    const host = group?.lbEndpoints[0]?.hostIdentifier;
    const address = host?.case === 'endpoint' ? host.value.address?.address : undefined;
    const specifier = address?.case === 'socketAddress' ? address.value.portSpecifier : undefined;
    return specifier?.case === 'portValue' ? specifier.value - 10_000 : undefined;
  }

  /** Names of the proxies that are in step with a controller; it tells of those of the others, too. */
  async function syncedAt(seat: Seat): Promise<string[]> {
    const { body } = await seat.call('GET', '/v1/proxies');
    const items = body.items as readonly { readonly node: string; readonly state: string; readonly replica: string }[];
    return items.filter(({ state, replica }) => state === 'Synced' && replica === seat.name).map(({ node }) => node);
  }

  /** Moves those that are elsewhere; gives how many. They may find their home closed to them for a moment more. */
  async function bringHome(): Promise<number> {
    const synced = new Map(await Promise.all(seats.map(async (seat) => [seat, await syncedAt(seat)] as const)));
    const abroad = toys.filter((toy, n) => !synced.get(homes.get(toy) as Seat)?.includes(toyNodes[n] as string));
    await Promise.all(abroad.map((toy) => toy.moveTo(portsFrom(homes.get(toy) as Seat))));
    return abroad.length;
  }

  async function inStep(living: readonly Seat[] = seats): Promise<void> {
    let missing: string[] = [];
    const look = async (): Promise<boolean> => {
      const synced = (await Promise.all(living.map(syncedAt))).flat();
      missing = nodes.filter((node) => !synced.includes(node));
      return missing.length === 0;
    };
    await until('all proxies to be in step', look, {
      limitMs: settleLimitMs,
      everyMs: 50,
      describe: () => missing,
    });
  }

  const toldBy = async (seat: Seat): Promise<readonly ToldController[]> =>
    (await answerOf(seat.call('GET', '/v1/controllers'))).body.items;

  const bed: Omit<Bed, 'close'> = {
    etcd: cluster.etcd,
    seats,
    toys,
    envoy,
    members,
    steady,
    async leader(among = seats) {
      const [asked] = among as [Seat];
      return until('a leader', async () => {
        const told = (await toldBy(asked)).find(({ leader, state }) => leader && state === 'Ready');
        return among.find(({ name }) => name === told?.id);
      });
    },
    others: (...than) => seats.filter((seat) => !than.includes(seat)),
    homeOf: (toy) => homes.get(toy) as Seat,
    newToy: (home) => startToy(home, home.xdsPort),
    async turn(through) {
      turns += 1;
      const answer = await through.call('PUT', poolPath('turned'), turnedPool(turns));
      if (answer.status !== 200) throw new Error(`changing through ${through.name}: ${JSON.stringify(answer.body)}`);
      return turns;
    },
    turnOf,
    async turned(all = toys) {
      await until('all proxies to have the last change', () => all.every((toy) => turnOf(toy) === turns), {
        limitMs: settleLimitMs,
        describe: () => ({ wanted: turns, seen: all.map(turnOf) }),
      });
    },
    async prepareDecision(through) {
      decisions += 1;
      const path = poolPath(`decided-${decisions}`);
      const pool = (ports: readonly number[]) => poolManifest(`decided-${decisions}`, ports, { drainTimeout: '10m' });
      const both = await through.call('PUT', path, pool([9001, 9002]));
      if (both.status !== 201) throw new Error(`preparing a decision: ${JSON.stringify(both.body)}`);
      // Until when a member drains that has left.
      const read = async (seat: Seat): Promise<string> => {
        const { body } = await seat.call('GET', path);
        return /"until":"([^"]+)"/.exec(JSON.stringify(body.status))?.[1] ?? '';
      };
      return {
        async make(seat) {
          await until('the question to be asked', async () => {
            const { status } = await answerOf(seat.call('PUT', path, pool([9001])));
            return status === 200;
          });
          return until('a leader to decide', async () => (await read(seat)) || undefined, { limitMs: decisionLimitMs });
        },
        read,
      };
    },
    async underTraffic(work) {
      const http = { port, http1PerSecond: trafficPerSecond, http2PerSecond: trafficPerSecond };
      const traffic = await startTraffic({ http });
      try {
        for (const name of ['web', 'team-1', 'team-2']) {
          await traffic.ask(hostOf(name));
          await traffic.answered(hostOf(name));
        }
        await work(traffic);
      } finally {
        await traffic.stop();
      }
      return traffic.stop();
    },
    inStep,
    async begin() {
      await until('all fake proxies to be at home', async () => (await bringHome()) === 0, {
        limitMs: settleLimitMs,
        everyMs: 200,
      });
      await bed.settled();
      for (const toy of toys) toy.tally.reset();
    },
    async settled() {
      await until(
        'the controllers to agree',
        async () => {
          const lists = await Promise.all(seats.map(toldBy));
          const views = lists.map((list) => list.map(({ id, leader }) => `${id} ${leader}`).join());
          const isWhole = lists.every(
            (list) =>
              list.length === seats.length &&
              list.every(({ state }) => state === 'Ready') &&
              list.filter(({ leader }) => leader).length === 1,
          );
          return isWhole && new Set(views).size === 1;
        },
        { limitMs: settleLimitMs, everyMs: 50 },
      );
      await bed.turned();
      await inStep();
    },
  };
  await bed.settled();
  return bed;
}

const inScope = <T extends { kind: string; metadata: object }>(manifest: T): T =>
  manifest.kind === 'Fleet' ? manifest : { ...manifest, metadata: { ...manifest.metadata, scope: 'default' } };
