/**
 * A real Envoy under constant load while everything that may change under it does: a thousand routes come one after
 * another with pools of their own, timeouts, weights, members, certificates and names change, and the server restarts
 * ten times. None of it is meant to cost a request or a connection. The test `live` is the short form of the same.
 */
import { runLive } from '../../test/support/live.ts';
import type { Row } from '../report.ts';

export const title =
  'Requests and connections that are lost while everything changes, with 1,000 routes and 10 restarts';

const routes = 1000;
const restarts = 10;

/** Of HTTP/1.1, and as many of HTTP/2. */
const requestsPerSecond = 1100;

const none = { of: 'value', kind: 'atMost', limit: 0 } as const;

export async function run(): Promise<Row[]> {
  const { traffic, seconds, changes, draining, requests } = await runLive({
    routes,
    restarts,
    requestsPerSecond,
    say: console.log,
  });
  for (const { at, kind, host, why } of traffic.failures) console.log(`${at} ${kind} ${host}: ${why}`);
  console.log();
  const held = 5;
  return [
    { metric: 'failed requests and connections', unit: '', fairway: traffic.failed, bar: none },
    { metric: 'held connections that were lost', unit: '', fairway: held - traffic.held.open, bar: none },
    { metric: 'listeners drained', unit: '', fairway: draining.listeners, bar: none },
    { metric: 'filter chains drained', unit: '', fairway: draining.filterChains, bar: none },
    {
      metric: 'requests',
      unit: '/s',
      fairway: requests / seconds,
      bar: { of: 'value', kind: 'atLeast', limit: 2000 },
    },
    { metric: 'requests in all', unit: '', fairway: requests },
    { metric: 'certificates seen', unit: '', fairway: traffic.serials.length },
    ...Object.entries(changes).map(([what, count]) => ({ metric: `changes: ${what}`, unit: '', fairway: count })),
  ];
}
