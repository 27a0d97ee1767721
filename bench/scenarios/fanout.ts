/**
 * What it costs to tell a thousand proxies that one member of one pool moved. Each server is changed through its own
 * way in, for Fairway a PUT to the REST API of a real server with its database, and everything that the server does
 * until it is quiet again is in the figure: the commit, the translation, the frames, the answers, the conditions.
 */
import { type Layout, shared, single } from '../layouts.ts';
import { type LoadClient, startLoad } from '../load-client.ts';
import { withPeerProgram } from '../peer-program.ts';
import { oneService } from '../pools.ts';
import { median } from '../quantile.ts';
import { atMost, type Row } from '../report.ts';
import { createWorld, monotonicNanos, type Server, startFairway, startPeer, type World } from '../servers.ts';

export const title = 'One member changes: what 1,000 streams cost the server, and when the last one has it';

const streams = 1000;
const rounds = 30;
/** Before the measured rounds, so that no server is measured cold: V8 takes its time to compile what is hot. */
const warmups = 50;
const sizes = [100, 1000] as const;

interface Case {
  readonly layout: Layout;
  readonly cpuBar: number;
  readonly timeBar: number;
}

const cases: readonly Case[] = [
  { layout: shared, cpuBar: 0.3, timeBar: 0.5 },
  { layout: single, cpuBar: 0.45, timeBar: 0.75 },
];

interface Figures {
  readonly cpuMs: number;
  readonly lastAckMs: number;
  readonly memoryMb: number;
  readonly loadCpuMs: number;
}

/** Counts all changes of the bench: no two are alike. */
let changes = 0;

export function run(): Promise<Row[]> {
  return withPeerProgram(compareAll);
}

async function compareAll(program: string): Promise<Row[]> {
  const rows: Row[] = [];
  const ofSmallest = new Map<Case, number>();
  for (const pools of sizes) {
    const world = await createWorld(oneService(pools), { pools, listeners: 1 });
    try {
      for (const each of cases) rows.push(...(await compare(program, world, each, ofSmallest)));
    } finally {
      world.remove();
    }
  }
  return rows;
}

async function compare(program: string, world: World, each: Case, ofSmallest: Map<Case, number>): Promise<Row[]> {
  const { layout, cpuBar, timeBar } = each;
  const fairway = await measure(program, world, layout, await startFairway(world));
  const peer = await measure(program, world, layout, await startPeer(program, 'gcp', world));
  const floor = await measure(program, world, layout, await startPeer(program, 'floor', world));
  const at = `${world.pools} pools, ${layout.name}`;
  const against = (metric: string, unit: string, figure: (of: Figures) => number, limit: number): Row => ({
    metric: `${metric}, ${at}`,
    unit,
    fairway: figure(fairway),
    peer: { name: 'go-control-plane', value: figure(peer) },
    bar: atMost(limit),
  });
  const rows: Row[] = [
    against('server CPU a round', 'ms', ({ cpuMs }) => cpuMs, cpuBar),
    {
      metric: `  of the floor, ${at}`,
      unit: 'ms',
      fairway: fairway.cpuMs,
      peer: { name: 'floor', value: floor.cpuMs },
    },
    against('time to the last ACK', 'ms', ({ lastAckMs }) => lastAckMs, timeBar),
    {
      metric: `  of the floor, ${at}`,
      unit: 'ms',
      fairway: fairway.lastAckMs,
      peer: { name: 'floor', value: floor.lastAckMs },
    },
    against('memory', 'MB', ({ memoryMb }) => memoryMb, 1),
    {
      metric: `load client's CPU a round, ${at}`,
      unit: 'ms',
      fairway: fairway.loadCpuMs,
      peer: { name: "Fairway's", value: fairway.cpuMs },
    },
  ];
  const smaller = ofSmallest.get(each);
  if (smaller === undefined) ofSmallest.set(each, fairway.cpuMs);
  else {
    rows.push({
      metric: `server CPU a round, ${sizes.join(' to ')} pools, ${layout.name}`,
      unit: 'ms',
      fairway: fairway.cpuMs,
      peer: { name: `of ${sizes[0]}`, value: smaller },
      bar: atMost(1.3),
    });
  }
  return rows;
}

async function measure(program: string, world: World, layout: Layout, server: Server): Promise<Figures> {
  const { streamsPerConnection } = layout;
  const load = startLoad({ program, server, world, streams, streamsPerConnection });
  try {
    await load.connect();
    await server.usage.quiet();
    for (let round = 0; round < warmups; round += 1) await oneRound(world, server, load);
    const measured: Omit<Figures, 'memoryMb'>[] = [];
    for (let round = 0; round < rounds; round += 1) measured.push(await oneRound(world, server, load));
    const figures: Figures = {
      cpuMs: median(measured.map(({ cpuMs }) => cpuMs)),
      lastAckMs: median(measured.map(({ lastAckMs }) => lastAckMs)),
      loadCpuMs: median(measured.map(({ loadCpuMs }) => loadCpuMs)),
      memoryMb: server.usage.residentBytes() / 1e6,
    };
    console.log(`  ${server.name}, ${world.pools} pools, ${layout.name}: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await load.close();
    await server.close();
  }
}

async function oneRound(world: World, server: Server, load: LoadClient): Promise<Omit<Figures, 'memoryMb'>> {
  changes += 1;
  const cpu = server.usage.cpuMs();
  const loadCpu = load.child.cpuMs();
  const started = monotonicNanos();
  await server.change(changes % world.pools, changes);
  const arrived = await load.arrived(changes);
  await server.usage.quiet();
  return {
    cpuMs: server.usage.cpuMs() - cpu,
    lastAckMs: (arrived - started) / 1e6,
    loadCpuMs: load.child.cpuMs() - loadCpu,
  };
}
