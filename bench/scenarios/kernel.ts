/**
 * What a change costs in the kernel, with all that the product declares on it: graph, translation, conditions. The
 * promise is that it does not grow with the world. Everything from the put of one object to the adopted world and the
 * list of changed resources is in the figure; the store and the network are not.
 */

import { objectKey } from '../../src/model/index.ts';
import { applied, type BuildFigures, type BuiltWorld, budget, build } from '../built-world.ts';
import { median } from '../quantile.ts';
import type { Row } from '../report.ts';
import { edits, fleet, world } from '../world.ts';

export const title = 'What one change costs in worlds of 100, 1,000 and 10,000 services';

const sizes = [100, 1000, 10_000] as const;
const [smallest, , largest] = sizes;

/** Of each kind of change, after half as many that warm the code up. */
const changes = 1000;
const warmups = 500;

/** Below this a change is a rounding error beside the write to the store, whatever its ratio. */
const fastEnoughMicros = 50;

interface Sized extends BuiltWorld {
  readonly services: number;
  readonly built: BuildFigures;
}

export async function run(): Promise<Row[]> {
  // The first build of a process runs cold code. A small one: what it leaves to collect is in no figure of heap then.
  await build(world(10));
  const worlds: Sized[] = [];
  for (const services of sizes) {
    const { world: made, figures } = await build(world(services));
    worlds.push({ ...made, services, built: figures });
  }
  const rows: Row[] = [];
  for (const edit of edits) rows.push(...(await measureEdit(worlds, edit)));
  for (const world of worlds) {
    const { services, built, kernel } = world;
    const size = `${services} services`;
    rows.push({ metric: `first build, ${size}`, unit: 'ms', fairway: built.settleMs + built.adoptMs });
    rows.push({ metric: `  longest turn of it, ${size}`, unit: 'ms', fairway: built.turnMs });
    rows.push({ metric: `  adoption of it, ${size}`, unit: 'ms', fairway: built.adoptMs });
    rows.push({ metric: `dry run that touches every service, ${size}`, unit: 'ms', fairway: await dryRun(world) });
    rows.push({ metric: `cells per service, ${size}`, unit: 'cells', fairway: kernel.cells / services });
    rows.push({
      metric: `heap per service, inputs too, ${size}`,
      unit: 'kB',
      fairway: built.heapBytes / 1e3 / services,
    });
    rows.push({ metric: `heap with inputs, ${size}`, unit: 'MB', fairway: built.heapBytes / 1e6 });
  }
  return rows;
}

/** Shares no divisor with any size: comes by all services, in no order that a cache would like. */
const stride = 7919;

/** Counts all changes of the run: a generation is never used twice. */
let step = 0;

/** The worlds take turns, so that whatever the machine does beside the bench meets all of them. */
async function measureEdit(worlds: readonly Sized[], { name, edited }: (typeof edits)[number]): Promise<Row[]> {
  const micros = worlds.map((): number[] => []);
  for (let change = -warmups; change < changes; change += 1) {
    step += 1;
    for (const [index, world] of worlds.entries()) {
      const object = edited((step * stride) % world.services, 1 + step);
      const took = await applied(world, object);
      if (change >= 0) micros[index]?.push(took);
    }
  }
  const medians = micros.map(median);
  const reference = medians[0] as number;
  return worlds.map(({ services }, index): Row => {
    const row = { metric: `${name}, ${services} services`, unit: 'µs', fairway: medians[index] as number };
    if (services !== largest) return row;
    return {
      ...row,
      peer: { name: `of ${smallest}`, value: reference },
      bar: [
        { of: 'ratio', kind: 'atMost', limit: 2 },
        { of: 'value', kind: 'atMost', limit: fastEnoughMicros },
      ],
    };
  });
}

/** Everything that one object can touch: the fleet of all services goes, and with it every listener. */
async function dryRun({ kernel, graph, outputs }: BuiltWorld): Promise<number> {
  const started = performance.now();
  const fork = kernel.fork();
  fork.remove(graph.objects.Fleet, objectKey('Fleet', undefined, fleet));
  await fork.settle(budget);
  const changed = outputs.reduce((sum, output) => sum + fork.changes(output).length, 0);
  if (changed === 0) throw new Error('the removal of the fleet changes nothing: this measures something else');
  return performance.now() - started;
}
