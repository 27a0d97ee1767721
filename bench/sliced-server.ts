/**
 * A server of many services in a process of its own that says how long its work holds the event loop: by kind of work,
 * and as the delay of the loop. Driven by bench/scenarios/slices.ts, by lines of JSON.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { serverDefaults } from '../src/config/index.ts';
import { encodeStored, specKey } from '../src/model/index.ts';
import { startServer } from '../src/server/index.ts';
import { createMemoryStore } from '../src/store/index.ts';
import { createLogger } from '../src/telemetry/log.ts';
import { watchTurns } from './turns.ts';
import { keyOf, worldOfFleets } from './world.ts';

const [services = Number.NaN, fleets = Number.NaN] = process.argv.slice(2).map(Number);

/** Objects in one commit. */
const perCommit = 100;

const store = createMemoryStore();
const objects = [...worldOfFleets(services, fleets)];
for (let at = 0; at < objects.length; at += perCommit) {
  const puts = objects
    .slice(at, at + perCommit)
    .map((object) => ({ key: specKey(keyOf(object)), value: encodeStored(object) }));
  await store.commit({ id: `fill-${at}`, checks: [], puts, deletes: [] });
}
objects.length = 0;

let turns = watchTurns();
const delay = monitorEventLoopDelay({ resolution: 1 });
const server = await startServer({
  config: {
    ...serverDefaults,
    listen: '127.0.0.1:0',
    xdsListen: '127.0.0.1:0',
    store: 'memory',
    data: '',
    authentication: 'none',
  },
  log: createLogger({ level: 'silent' }),
  store,
  slices: { begin: () => turns.begin(), end: (work) => turns.end(work) },
});
const say = (event: object): void => console.log(JSON.stringify(event));

createInterface({ input: process.stdin }).on('line', async (line) => {
  if (JSON.parse(line).do !== 'report') return;
  delay.disable();
  const longestMs = Object.fromEntries(await turns.longestMs());
  say({ event: 'slices', longestMs, delayP99Ms: delay.percentile(99) / 1e6, delayMaxMs: delay.max / 1e6 });
  delay.reset();
  turns = watchTurns();
  delay.enable();
});
say({ event: 'ready', address: server.address, xdsAddress: server.xdsAddress });
