/** Every golden case is accepted by a real Envoy: one process, our own delta ADS, one case after the other. */
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { RawPatch } from '../../src/translate/index.ts';
import { usesOf } from '../../src/translate/lint.ts';
import { createHub, type Hub, type Resource, typeUrls } from '../../src/xds/index.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/io/index.ts';
import { caseNames, worldOf } from '../golden/cases.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { until } from '../support/until.ts';

let hub: Hub;
let server: XdsServer;
let envoy: RunningEnvoy;
let revision = 0;
let served: readonly Resource[] = [];

beforeAll(async () => {
  hub = createHub({ random: Math.random });
  serve([], []);
  server = await createXdsServer({
    hub,
    log: createLogger({ level: 'silent' }),
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    random: Math.random,
  });
  envoy = await startEnvoy({ node: 'golden', fleet: 'edge', xdsPort: server.port });
});

afterAll(async () => {
  await envoy?.stop();
  await server?.close({ graceMs: 100 });
});

/** Replaces everything that is served. */
function serve(resources: readonly Resource[], audiences: readonly string[]): void {
  revision += 1;
  const kept = new Set(resources.map(({ type, name }) => `${type} ${name}`));
  const removals = served.filter(({ type, name }) => !kept.has(`${type} ${name}`));
  hub.commit({ revision, puts: resources, removals, audiences: [{ subject: 'cluster/edge', audiences }] });
  served = resources;
}

/** Resources that the proxy has not acknowledged, with its words where it refused them. */
function outstanding(resources: readonly Resource[]): string[] {
  const named = new Set(resources.flatMap(usesOf).map(({ type, name }) => `${type} ${name}`));
  return resources.flatMap((resource) => {
    const { type, name } = resource;
    const [delivery] = hub.fleet.delivery(type, name);
    if (delivery?.state === 'acked') return [];
    // A secret that nothing names is never asked for.
    if (delivery?.state === 'unsubscribed' && type === typeUrls.secret && !named.has(`${type} ${name}`)) return [];
    return [`${type.split('.').at(-1)} ${name}: ${delivery?.state ?? 'not sent'} ${delivery?.words ?? ''}`];
  });
}

/** What is left when nothing is under way any more. */
async function settled(resources: readonly Resource[]): Promise<string[]> {
  return until(
    'the proxy to answer',
    () => {
      const left = outstanding(resources);
      return left.every((line) => line.includes(': rejected')) ? left : undefined;
    },
    { limitMs: 30_000, describe: () => outstanding(resources) },
  );
}

// Ports of the cases may be taken on this machine, or not be ours to take.
const withoutPorts: RawPatch = (type, _name, message) => {
  if (type === typeUrls.listener) message['bindToPort'] = false;
};

describe('a real Envoy accepts', () => {
  test.each(caseNames)('%s', async (name) => {
    const world = worldOf(name, { rawPatch: withoutPorts });
    const { translation, kernel } = world;
    for (const fleet of kernel.keys(translation.audiences)) {
      const { audiences = [] } = kernel.get(translation.audiences, fleet) ?? {};
      const resources = world.resources().filter(({ audience }) => audiences.includes(audience));
      expect(resources.length, 'something to accept').toBeGreaterThan(0);
      serve(resources, audiences);
      expect(await settled(resources)).toEqual([]);
    }
  });

  test('nothing that is wrong', async () => {
    const world = worldOf('minimal', {
      rawPatch: (type, name, message) => {
        withoutPorts(type, name, message);
        if (type === typeUrls.cluster) message['connectTimeout'] = durationFromMs(-1);
      },
    });
    const resources = world.resources();
    serve(resources, [...new Set(resources.map(({ audience }) => audience))]);
    const refused = await until('a refusal', () => outstanding(resources).find((line) => line.includes(': rejected')));
    expect(refused).toMatch(/^Cluster .*Expected positive duration/);
  });

  test('without a word about deprecated or missing fields', () => {
    const lines = envoy.log().split('\n');
    expect(lines.filter((line) => /deprecated|unknown field|not configured/i.test(line))).toEqual([]);
  });
});
