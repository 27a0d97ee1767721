/**
 * What a change costs from the object to the encoded resources, in worlds of many services and in one of a single
 * listener with thousands of Routes, whose table is one resource. It must not grow with the number of services.
 */
import { applied, type BuiltWorld, build } from '../built-world.ts';
import { median } from '../quantile.ts';
import type { Row } from '../report.ts';
import { crowd, crowdedRoute, edits, pool, world } from '../world.ts';

export const title = 'What one change costs from object to resources, and the first build of 10,000 services';

const sizes = [100, 1000, 10_000] as const;
const routes = 3000;
const rounds = 300;

const maxChangeMs = 5;
const maxBuildMs = 10_000;
const maxGrowth = 2;

export async function run(): Promise<Row[]> {
  await build(world(10));
  const rows: Row[] = [];
  const worlds: BuiltWorld[] = [];
  for (const services of sizes) {
    const { world: made, figures } = await build(world(services));
    worlds.push(made);
    const row = {
      metric: `first build, ${services} services`,
      unit: 'ms',
      fairway: figures.settleMs + figures.adoptMs,
    };
    rows.push(services === sizes[2] ? { ...row, bar: { of: 'value', kind: 'atMost', limit: maxBuildMs } } : row);
  }
  for (const edit of edits) {
    const medians = await measure(worlds, (at, generation, size) =>
      edit.edited(at % (sizes[size] as number), generation),
    );
    for (const [index, services] of sizes.entries()) {
      const row = { metric: `${edit.name}, ${services} services`, unit: 'ms', fairway: medians[index] as number };
      rows.push({ ...row, bar: { of: 'value', kind: 'atMost', limit: maxChangeMs } });
    }
    rows.push({
      metric: `${edit.name}, growth from ${sizes[0]} to ${sizes[2]} services`,
      unit: '×',
      fairway: (medians[2] as number) / (medians[0] as number),
      bar: { of: 'value', kind: 'atMost', limit: maxGrowth },
    });
  }
  rows.push(...(await crowded()));
  return rows;
}

/** One listener with 3,000 Routes, each with a host and a pool of its own. */
async function crowded(): Promise<Row[]> {
  const { world: made, figures } = await build(crowd(routes));
  const place = `${routes} Routes on one listener`;
  const kinds: [string, (at: number, generation: number) => ReturnType<typeof pool>][] = [
    ['one member', (at, generation) => pool(at % routes, generation, 'member')],
    ['one pool setting', (at, generation) => pool(at % routes, generation, 'setting')],
    ['one route', (at, generation) => crowdedRoute(at % routes, generation)],
    ['one more route', (_at, generation) => crowdedRoute(routes + generation, 1)],
  ];
  const rows: Row[] = [{ metric: `first build, ${place}`, unit: 'ms', fairway: figures.settleMs + figures.adoptMs }];
  for (const [name, edited] of kinds) {
    const [fairway = Number.NaN] = await measure([made], edited);
    rows.push({
      metric: `${name}, ${place}`,
      unit: 'ms',
      fairway,
      bar: { of: 'value', kind: 'atMost', limit: maxChangeMs },
    });
  }
  return rows;
}

/** Counts all changes of the run: a generation is never used twice. */
let generation = 1;

/** Medians in milliseconds, after as many changes again that warm the code up. */
async function measure(
  worlds: readonly BuiltWorld[],
  edited: (at: number, generation: number, world: number) => ReturnType<typeof pool>,
): Promise<number[]> {
  const figures = worlds.map((): number[] => []);
  for (let round = -rounds; round < rounds; round += 1) {
    generation += 1;
    for (const [index, made] of worlds.entries()) {
      const micros = await applied(made, edited(generation * 7919, generation, index));
      if (round >= 0) figures[index]?.push(micros / 1000);
    }
  }
  return figures.map(median);
}
