/** What a server of a middling site takes: 1,000 services, each with a Route and a pool, at 100 proxies. */
import { single } from '../layouts.ts';
import { startLoad } from '../load-client.ts';
import { withPeerProgram } from '../peer-program.ts';
import { manyServices } from '../pools.ts';
import { atMost, type Row } from '../report.ts';
import { createWorld, type Server, startFairway, startPeer, type World } from '../servers.ts';

export const title = 'Memory of a server with 1,000 services, routes and pools and 100 streams';

const services = 1000;
const streams = 100;
const maxMb = 240;

interface Figures {
  readonly idleMb: number;
  readonly filledMb: number;
}

export function run(): Promise<Row[]> {
  return withPeerProgram(async (program) => {
    const world = await createWorld(manyServices(services), { pools: services, listeners: services });
    try {
      const fairway = await measure(program, world, await startFairway(world));
      const peer = await measure(program, world, await startPeer(program, 'gcp', world));
      const row = (metric: string, figure: (of: Figures) => number): Row => ({
        metric,
        unit: 'MB',
        fairway: figure(fairway),
        peer: { name: 'go-control-plane', value: figure(peer) },
      });
      return [
        row('without streams', ({ idleMb }) => idleMb),
        { ...row('with 100 streams', ({ filledMb }) => filledMb), bar: atMost(maxMb, 'value') },
      ];
    } finally {
      world.remove();
    }
  });
}

async function measure(program: string, world: World, server: Server): Promise<Figures> {
  const load = startLoad({ program, server, world, streams, streamsPerConnection: single.streamsPerConnection });
  try {
    await server.usage.quiet();
    const idleMb = server.usage.residentBytes() / 1e6;
    await load.connect();
    await server.usage.quiet();
    return { idleMb, filledMb: server.usage.residentBytes() / 1e6 };
  } finally {
    await load.close();
    await server.close();
  }
}
