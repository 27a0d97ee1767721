import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createHub } from '../../src/xds/index.ts';
import { createXdsServer } from '../../src/xds/io/index.ts';
import { createNamespace } from '../support/namespace.ts';
import { until } from '../support/until.ts';
import { cluster, resource } from '../support/xds-rig.ts';

const cleanUp: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close();
});

/** A quarter of an hour is what TCP would take by itself. */
const limitMs = 30_000;

it('a connection whose packets vanish is noticed by both ends within 30 s, and made anew', async (context) => {
  const namespace = await createNamespace();
  if ('missing' in namespace) return context.skip(namespace.missing);
  cleanUp.push(() => namespace.close());
  const hub = createHub({ random: Math.random });
  hub.commit({
    revision: 1,
    puts: [resource(cluster, 'c1')],
    removals: [],
    audiences: [{ subject: 'cluster/edge', audiences: ['all'] }],
  });
  const server = await createXdsServer({
    hub,
    log: createLogger({ level: 'silent' }),
    listen: { host: namespace.hostAddress, port: 0 },
    clock: systemClock,
    random: Math.random,
  });
  cleanUp.push(() => server.close({ graceMs: 200 }));

  const script = fileURLToPath(new URL('../support/xds-client-process.ts', import.meta.url));
  const address = `${namespace.hostAddress}:${server.port}`;
  const client = namespace.spawn(process.execPath, [script, address], { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanUp.push(() => void client.kill('SIGKILL'));
  let told = '';
  client.stdout?.on('data', (chunk: Buffer) => (told += chunk));
  const describe = () => told;
  await until('the client to have the cluster', () => told.includes('"c1"'), { describe });
  await until('the answer', () => hub.fleet.streams()[0]?.types[0]?.acked === 1);

  await namespace.cut();
  const start = performance.now();
  const patience = { limitMs: 2 * limitMs, describe };
  const both = await Promise.all([
    until('the server to notice', () => hub.fleet.streams().length === 0 && performance.now() - start, patience),
    until('the client to notice', () => told.includes('"ended"') && performance.now() - start, patience),
  ]);
  for (const afterMs of both) expect(afterMs).toBeLessThan(limitMs);

  await namespace.mend();
  hub.commit({ revision: 2, puts: [resource(cluster, 'c2')], removals: [], audiences: [] });
  await until('the client to be back', () => told.includes('"c2"'), patience);
});
