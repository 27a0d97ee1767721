import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { RawPatch } from '../../src/translate/index.ts';
import { createHub, type Resource, typeUrls } from '../../src/xds/index.ts';
import { createXdsServer } from '../../src/xds/io/index.ts';
import { type RunningEnvoy, startEnvoy } from './envoy.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

/** A real Envoy that gets, over delta ADS, what graph and translation make; without store, API and control. */
export interface ProxiedWorld {
  readonly envoy: RunningEnvoy;
  /** Replaces what is served by what the world has for the fleet, and gives what the proxy refused of it. */
  serve(world: World): Promise<string[]>;
  close(): Promise<void>;
}

export async function startProxiedWorld(fleet: string, options: { drainSeconds?: number } = {}): Promise<ProxiedWorld> {
  const hub = createHub({ random: Math.random });
  const subject = `cluster/${fleet}`;
  hub.commit({ revision: 1, puts: [], removals: [], audiences: [] });
  const server = await createXdsServer({
    hub,
    log: createLogger({ level: 'silent' }),
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    random: Math.random,
  });
  const envoy = await startEnvoy({ node: 'n1', fleet, xdsPort: server.port, ...options });
  let revision = 1;
  let served = new Map<string, Resource>();

  /** Resources that the proxy has not acknowledged, with its words where it refused them. */
  function outstanding(resources: readonly Resource[]): string[] {
    return resources.flatMap(({ type, name }) => {
      const [delivery] = hub.fleet.delivery(type, name);
      if (delivery?.state === 'acked') return [];
      return [`${type.split('.').at(-1)} ${name}: ${delivery?.state ?? 'not sent'} ${delivery?.refusal?.words ?? ''}`];
    });
  }

  return {
    envoy,
    async serve({ kernel, translation, resources }) {
      const { audiences = [] } = [...kernel.keys(translation.audiences)]
        .map((key) => kernel.get(translation.audiences, key))
        .find((row) => row?.subject === subject) ?? { audiences: [] };
      const now = new Map(
        resources()
          .filter(({ audience }) => audiences.includes(audience))
          .map((resource) => [`${resource.type} ${resource.name}`, resource]),
      );
      const removals = [...served].filter(([key]) => !now.has(key)).map(([, resource]) => resource);
      const puts = [...now].filter(([key, { hash }]) => served.get(key)?.hash !== hash).map(([, resource]) => resource);
      revision += 1;
      hub.commit({ revision, puts, removals, audiences: [{ subject, audiences }] });
      served = now;
      const all = [...now.values()];
      const done = (): string[] | undefined => {
        const left = outstanding(all);
        // Removals too.
        const [stream] = hub.fleet.streams();
        if (stream === undefined || stream.ackedRevision < revision) return undefined;
        return left.every((line) => line.includes(': rejected')) ? left : undefined;
      };
      return until('the proxy to answer', done, { limitMs: 30_000, describe: () => outstanding(all) });
    },
    async close() {
      await envoy.stop();
      await server.close({ graceMs: 100 });
    },
  };
}

/** Ports of the golden cases may be taken on this machine, or not be ours to take. */
export const withoutPorts: RawPatch = (type, _name, message) => {
  if (type === typeUrls.listener) message['bindToPort'] = false;
};
