import { startBackend } from '../backends.ts';
import { freePorts } from '../free-ports.ts';
import { type Stage, shop, target, type Walk } from '../stage.ts';
import { countWords, furtherRequests, underLoad } from '../under-load.ts';
import { createWait } from '../until.ts';

/** A new server joins the pool of the shop and gets its share at once. */

const newcomer = 'backend-4';
/** For its first health check, and then for its turn. */
const limitMs = 15_000;
const calmRequests = 200;

export async function addMember(walk: Walk, stage: Stage): Promise<void> {
  const pool = target('BackendPool', shop.pool);
  await walk.report.step(`A member is added to pool ${shop.pool}`, async (progress) => {
    const [port = 0] = await freePorts(1);
    const backend = await startBackend(newcomer, { port, protocol: 'HTTP' });
    walk.atEnd(() => backend.close());
    const wait = createWait({ limitMs, signal: walk.signal });
    const { result, count } = await underLoad({ port: stage.web }, progress, async (load) => {
      await furtherRequests(load, calmRequests, wait);
      const { spec } = await stage.rest.get(pool);
      const members = [...(spec['members'] as readonly unknown[]), { address: '127.0.0.1', port }];
      const began = performance.now();
      await stage.rest.patch(pool, { members });
      await wait(() => load.count.answers.get(newcomer), `an answer of ${newcomer}`);
      const afterMs = Math.round(performance.now() - began);
      await furtherRequests(load, calmRequests, wait);
      return afterMs;
    });
    return {
      say: `${countWords(count)}; ${newcomer} answered after ${result} ms, ${count.answers.get(newcomer)} times in all`,
      value: undefined,
    };
  });
}
