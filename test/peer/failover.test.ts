/** Controllers and etcd that fail, one after another on the same cluster, with short pauses: the bench has the long ones. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Missing } from '../support/etcd.ts';
import { type Bed, brokenOf, faults, shortPauses, startBed } from '../support/failover/index.ts';

let started: Bed | Missing | undefined;

beforeAll(async () => {
  started = await startBed({ controllers: 3, toys: 6 });
});

afterAll(async () => {
  if (started !== undefined && 'close' in started) await started.close();
});

beforeEach((context) => {
  if (started !== undefined && 'missing' in started) context.skip(started.missing);
});

/** Times are measured by the bench; here they only must not be those of something that hangs. */
const slack = 2;

test.each(faults)('$name: what must hold holds', async (fault) => {
  expect(brokenOf(await fault.run(started as Bed, shortPauses), slack)).toEqual([]);
});
