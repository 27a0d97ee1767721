/**
 * A thousand proxies that have nothing connect at once, as after an outage of everything: when the last one has all,
 * and what that costs the server in memory.
 */
import { type Layout, shared, single } from '../layouts.ts';
import { startLoad } from '../load-client.ts';
import { withPeerProgram } from '../peer-program.ts';
import { oneService } from '../pools.ts';
import { median } from '../quantile.ts';
import { atMost, type Row } from '../report.ts';
import { createWorld, type Server, startFairway, startPeer, type World } from '../servers.ts';

export const title = '1,000 streams connect at once to 1,000 pools: when the last one has everything';

const streams = 1000;
const pools = 1000;
/** Each with a fresh server: the code of a server that has just started is cold, too. */
const runs = 3;

interface Figures {
  readonly filledMs: number;
  readonly cpuMs: number;
  /** Above what the idle server has: in the end, and at most. */
  readonly addedMb: number;
  readonly peakMb: number;
}

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
  const fairway: Figures[] = [];
  const peer: Figures[] = [];
  for (let at = 0; at < runs; at += 1) {
    fairway.push(await measure(program, world, layout, await startFairway(world)));
    peer.push(await measure(program, world, layout, await startPeer(program, 'gcp', world)));
  }
  const row = (metric: string, unit: string, figure: (of: Figures) => number): Row => ({
    metric: `${metric}, ${layout.name}`,
    unit,
    fairway: median(fairway.map(figure)),
    peer: { name: 'go-control-plane', value: median(peer.map(figure)) },
  });
  return [
    { ...row('time to the last complete stream', 'ms', ({ filledMs }) => filledMs), bar: atMost(1) },
    { ...row('memory added over idle', 'MB', ({ addedMb }) => addedMb), bar: atMost(1) },
    row('  at most meanwhile', 'MB', ({ peakMb }) => peakMb),
    row('server CPU', 'ms', ({ cpuMs }) => cpuMs),
  ];
}

async function measure(program: string, world: World, layout: Layout, server: Server): Promise<Figures> {
  const { streamsPerConnection } = layout;
  const { usage } = server;
  const load = startLoad({ program, server, world, streams, streamsPerConnection });
  try {
    await usage.quiet();
    const idleMb = usage.residentBytes() / 1e6;
    const idleCpuMs = usage.cpuMs();
    usage.resetPeak();
    const { ms } = await load.connect();
    await usage.quiet();
    const figures: Figures = {
      filledMs: ms,
      cpuMs: usage.cpuMs() - idleCpuMs,
      addedMb: usage.residentBytes() / 1e6 - idleMb,
      peakMb: usage.peakBytes() / 1e6 - idleMb,
    };
    console.log(`  ${server.name}, ${layout.name}: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await load.close();
    await server.close();
  }
}
