/**
 * A thousand proxies come back with what they have, of which nothing has changed: what they are sent, type by type. An
 * acknowledgement that nothing is new may cost a few bytes; a thousand copies of everything would be an outage.
 */
import { shared } from '../layouts.ts';
import { startLoad } from '../load-client.ts';
import { withPeerProgram } from '../peer-program.ts';
import { oneService } from '../pools.ts';
import { atMost, type Row } from '../report.ts';
import { createWorld, type Server, startFairway, startPeer, type World } from '../servers.ts';

export const title = '1,000 streams return with initial_resource_versions: bytes to each, by type';

const streams = 1000;
const pools = 1000;
const maxBytes = 1000;

interface Figures {
  readonly bytes: Readonly<Record<string, number>>;
  readonly cpuMs: number;
}

export function run(): Promise<Row[]> {
  return withPeerProgram(async (program) => {
    const world = await createWorld(oneService(pools), { pools, listeners: 1 });
    try {
      const fairway = await measure(program, world, await startFairway(world));
      const peer = await measure(program, world, await startPeer(program, 'gcp', world));
      const rows = Object.keys(fairway.bytes).map(
        (type): Row => ({
          metric: `bytes to a stream, ${type.slice(type.lastIndexOf('.') + 1)}`,
          unit: 'B',
          fairway: fairway.bytes[type] as number,
          peer: { name: 'go-control-plane', value: peer.bytes[type] as number },
          bar: atMost(maxBytes, 'value'),
        }),
      );
      const cpu: Row = {
        metric: 'server CPU for all that come back',
        unit: 'ms',
        fairway: fairway.cpuMs,
        peer: { name: 'go-control-plane', value: peer.cpuMs },
      };
      return [...rows, cpu];
    } finally {
      world.remove();
    }
  });
}

async function measure(program: string, world: World, server: Server): Promise<Figures> {
  const { usage } = server;
  const load = startLoad({ program, server, world, streams, streamsPerConnection: shared.streamsPerConnection });
  try {
    await load.connect();
    await load.disconnect();
    await usage.quiet();
    const cpuMs = usage.cpuMs();
    const { bytes } = await load.reconnect();
    await usage.quiet();
    return { bytes, cpuMs: usage.cpuMs() - cpuMs };
  } finally {
    await load.close();
    await server.close();
  }
}
