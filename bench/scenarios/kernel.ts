/**
 * What a change costs in the kernel, with all that the product declares on it: graph, translation, conditions. The
 * promise is that it does not grow with the world. Everything from the put of one object to the adopted world and the
 * list of changed resources is in the figure; the store and the network are not.
 */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { declareGraph, type Graph } from '../../src/graph/index.ts';
import { type FairwayObject, objectKey } from '../../src/model/index.ts';
import { declareTranslation } from '../../src/translate/index.ts';
import { type Budget, type Derived, type Fork, Kernel } from '../../src/view/index.ts';
import type { Row } from '../report.ts';
import { certificate, fleet, keyOf, pool, route, world } from '../world.ts';

export const title = 'What one change costs in worlds of 100, 1,000 and 10,000 services';

const sizes = [100, 1000, 10_000] as const;
const [smallest, , largest] = sizes;

/** Of each kind of change, after as many again that warm the code up. */
const changes = 1000;
const warmups = 500;

/** Below this a change is a rounding error beside the write to the store, whatever its ratio. */
const fastEnoughMicros = 50;

/** The turn that one slice of work may hold, as in the server. */
const sliceMs = 4;

const edits: readonly { readonly name: string; readonly edited: (at: number, generation: number) => FairwayObject }[] =
  [
    { name: 'one member', edited: (at, generation) => pool(at, generation, 'member') },
    { name: 'one route', edited: route },
    { name: 'one certificate', edited: certificate },
    { name: 'one pool setting', edited: (at, generation) => pool(at, generation, 'setting') },
  ];

interface World {
  readonly services: number;
  readonly kernel: Kernel;
  readonly graph: Graph;
  readonly outputs: readonly Derived<unknown>[];
  readonly built: Built;
}

interface Built {
  readonly settleMs: number;
  readonly adoptMs: number;
  /** The longest that settling held the event loop. */
  readonly turnMs: number;
  readonly heapMb: number;
}

const collectGarbage = exposedGc();

function exposedGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

export async function run(): Promise<Row[]> {
  // The first build of a process runs cold code. A small one: what it leaves to collect is in no figure of heap then.
  await build(10);
  const worlds: World[] = [];
  for (const services of sizes) worlds.push(await build(services));
  const rows: Row[] = [];
  for (const edit of edits) rows.push(...(await measureEdit(worlds, edit)));
  for (const world of worlds) {
    const { services, built, kernel } = world;
    const size = `${services} services`;
    rows.push({ metric: `first build, ${size}`, unit: 'ms', fairway: built.settleMs + built.adoptMs });
    rows.push({ metric: `  longest turn of it, ${size}`, unit: 'ms', fairway: built.turnMs });
    rows.push({ metric: `  adoption of it, ${size}`, unit: 'ms', fairway: built.adoptMs });
    rows.push({ metric: `dry run that touches every service, ${size}`, unit: 'ms', fairway: await dryRun(world) });
    rows.push({ metric: `cells, ${size}`, unit: 'cells', fairway: kernel.cells });
    rows.push({ metric: `heap with inputs, ${size}`, unit: 'MB', fairway: built.heapMb });
  }
  return rows;
}

async function build(services: number): Promise<World> {
  const before = heapBytes();
  const kernel = new Kernel();
  const graph = declareGraph(kernel);
  const { outputs } = declareTranslation(kernel, graph);
  const fork = kernel.fork();
  for (const object of world(services)) put(fork, graph, object);
  let turnMs = 0;
  let turnStart = performance.now();
  const started = turnStart;
  await fork.settle({
    sliceMs,
    now: () => performance.now(),
    pause: async () => {
      turnMs = Math.max(turnMs, performance.now() - turnStart);
      await setImmediate();
      turnStart = performance.now();
    },
  });
  const settled = performance.now();
  kernel.adopt(fork);
  const adopted = performance.now();
  const [failure] = kernel.failures();
  if (failure !== undefined) throw failure.error;
  const heapMb = (heapBytes() - before) / 1e6;
  return {
    services,
    kernel,
    graph,
    outputs,
    built: { settleMs: settled - started, adoptMs: adopted - settled, turnMs, heapMb },
  };
}

function put(fork: Fork, { objects }: Graph, object: FairwayObject): void {
  fork.put(objects[object.kind], keyOf(object), object);
}

/** Shares no divisor with any size: comes by all services, in no order that a cache would like. */
const stride = 7919;

/** Counts all changes of the run: a generation is never used twice. */
let step = 0;

/** The worlds take turns, so that whatever the machine does beside the bench meets all of them. */
async function measureEdit(worlds: readonly World[], { name, edited }: (typeof edits)[number]): Promise<Row[]> {
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

const budget: Budget = { sliceMs, now: () => performance.now(), pause: () => setImmediate() };

/** Microseconds from the put to the adopted world with its list of changes. */
async function applied({ kernel, graph, outputs }: World, object: FairwayObject): Promise<number> {
  const started = performance.now();
  const fork = kernel.fork();
  put(fork, graph, object);
  await fork.settle(budget);
  for (const output of outputs) fork.changes(output);
  kernel.adopt(fork);
  return (performance.now() - started) * 1000;
}

/** Everything that one object can touch: the fleet of all services goes, and with it every listener. */
async function dryRun({ kernel, graph, outputs }: World): Promise<number> {
  const started = performance.now();
  const fork = kernel.fork();
  fork.remove(graph.objects.Fleet, objectKey('Fleet', undefined, fleet));
  await fork.settle(budget);
  const changed = outputs.reduce((sum, output) => sum + fork.changes(output).length, 0);
  if (changed === 0) throw new Error('the removal of the fleet changes nothing: this measures something else');
  return performance.now() - started;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
