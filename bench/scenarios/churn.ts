/**
 * Members change twenty times a second, for half a minute, at a thousand proxies: whether all of them keep up, how far
 * they are behind, and whether the server's memory stays where it is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createInTurn } from '../in-turn.ts';
import { type Layout, shared, single } from '../layouts.ts';
import { type Lags, startLoad } from '../load-client.ts';
import { withPeerProgram } from '../peer-program.ts';
import { oneService } from '../pools.ts';
import { atMost, type Row } from '../report.ts';
import { createWorld, monotonicNanos, type Server, startFairway, startPeer, type World } from '../servers.ts';

export const title = '20 changes a second for 30 s at 1,000 streams: how far they are behind';

const streams = 1000;
const pools = 100;
const changesPerSecond = 20;
const seconds = 30;
/** Until then the server's code is warm and its heap has found its size. */
const warmupSeconds = 10;

interface Figures extends Lags {
  readonly beforeMb: number;
  readonly afterMb: number;
  /** Of one processor. */
  readonly cpuShare: number;
}

/** Counts all changes of the bench: no two are alike. */
let changes = 0;

export function run(): Promise<Row[]> {
  return withPeerProgram(async (program) => {
    const world = await createWorld(oneService(pools), { pools, listeners: 1 });
    try {
      return [...(await compare(program, world, shared)), ...(await compare(program, world, single))];
    } finally {
      world.remove();
    }
  });
}

async function compare(program: string, world: World, layout: Layout): Promise<Row[]> {
  const fairway = await measure(program, world, layout, await startFairway(world));
  const peer = await measure(program, world, layout, await startPeer(program, 'gcp', world));
  const row = (metric: string, unit: string, figure: (of: Figures) => number): Row => ({
    metric: `${metric}, ${layout.name}`,
    unit,
    fairway: figure(fairway),
    peer: { name: 'go-control-plane', value: figure(peer) },
  });
  return [
    { ...row('changes that did not come, nor a newer one', '', ({ missing }) => missing), bar: atMost(0, 'value') },
    { ...row('lag, p99', 'ms', ({ p99 }) => p99), bar: atMost(100, 'value') },
    row('lag, p50', 'ms', ({ p50 }) => p50),
    row('server CPU', '%', ({ cpuShare }) => cpuShare),
    row('memory after', 'MB', ({ afterMb }) => afterMb),
    {
      metric: `memory, before to after, ${layout.name}`,
      unit: 'MB',
      fairway: fairway.afterMb,
      peer: { name: 'before', value: fairway.beforeMb },
      bar: atMost(1.1),
    },
  ];
}

async function measure(program: string, world: World, layout: Layout, server: Server): Promise<Figures> {
  const { streamsPerConnection } = layout;
  const { usage } = server;
  const load = startLoad({ program, server, world, streams, streamsPerConnection });
  try {
    await load.connect();
    await usage.quiet();
    await load.arrived((await churn(world, server, warmupSeconds)).last);
    const beforeMb = usage.residentBytes() / 1e6;
    const cpuMs = usage.cpuMs();
    const began = performance.now();
    const { first, last, starts } = await churn(world, server, seconds);
    const cpuShare = (100 * (usage.cpuMs() - cpuMs)) / (performance.now() - began);
    await load.arrived(last);
    const lags = await load.lags(first, starts);
    const figures: Figures = { ...lags, beforeMb, afterMb: usage.residentBytes() / 1e6, cpuShare };
    console.log(`  ${server.name}, ${layout.name}: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await load.close();
    await server.close();
  }
}

interface Churned {
  readonly first: number;
  readonly last: number;
  /** When each was made. */
  readonly starts: readonly number[];
}

/**
 * Changes one pool after another at a steady pace. A server that is slow to take a change gets that of the next pool
 * anyway; but of one pool no change overtakes another, for then the newer one would never come.
 */
async function churn(world: World, server: Server, forSeconds: number): Promise<Churned> {
  const first = changes + 1;
  const starts: number[] = [];
  const turns = createInTurn<number>();
  const began = performance.now();
  for (let at = 0; at < forSeconds * changesPerSecond; at += 1) {
    await sleep(Math.max(0, began + (at * 1000) / changesPerSecond - performance.now()));
    changes += 1;
    starts.push(monotonicNanos());
    const change = changes;
    const pool = change % world.pools;
    void turns.run(pool, () => server.change(pool, change));
  }
  await turns.ended();
  return { first, last: changes, starts };
}
