/** The kernel with all that the product declares on it, filled and measured: no store, no network. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { declareGraph, type Graph } from '../src/graph/index.ts';
import type { FairwayObject } from '../src/model/index.ts';
import { declareTranslation } from '../src/translate/index.ts';
import { type Budget, type Derived, type Fork, Kernel } from '../src/view/index.ts';
import { watchTurns } from './turns.ts';
import { keyOf } from './world.ts';

export interface BuiltWorld {
  readonly kernel: Kernel;
  readonly graph: Graph;
  readonly outputs: readonly Derived<unknown>[];
}

export interface BuildFigures {
  readonly settleMs: number;
  readonly adoptMs: number;
  /** The longest that settling held the event loop by itself: processor time, without garbage collection. */
  readonly turnMs: number;
  /** What the world takes, its inputs too, after the fork that brought it is gone. */
  readonly heapBytes: number;
}

/** The turn that one slice of work may hold, as in the server. */
const sliceMs = 4;

export const budget: Budget = { sliceMs, now: () => performance.now(), pause: () => setImmediate() };

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

/** A world with these objects, from nothing, as on the start of a controller. */
export async function build(objects: Iterable<FairwayObject>): Promise<{ world: BuiltWorld; figures: BuildFigures }> {
  const before = heapBytes();
  const { world, ...times } = await filled(objects);
  const [failure] = world.kernel.failures();
  if (failure !== undefined) throw failure.error;
  return { world, figures: { ...times, heapBytes: heapBytes() - before } };
}

/** Apart from the measuring of the heap, so that the fork is garbage by then. */
async function filled(objects: Iterable<FairwayObject>): Promise<{
  world: BuiltWorld;
  settleMs: number;
  adoptMs: number;
  turnMs: number;
}> {
  const kernel = new Kernel();
  const graph = declareGraph(kernel);
  const { outputs } = declareTranslation(kernel, graph);
  const fork = kernel.fork();
  for (const object of objects) put(fork, graph, object);
  const turns = watchTurns();
  turns.begin();
  const started = performance.now();
  await fork.settle({
    ...budget,
    pause: async () => {
      turns.end('settling');
      await setImmediate();
      turns.begin();
    },
  });
  turns.end('settling');
  const settled = performance.now();
  kernel.adopt(fork);
  const adopted = performance.now();
  return {
    world: { kernel, graph, outputs },
    settleMs: settled - started,
    adoptMs: adopted - settled,
    turnMs: (await turns.longestMs()).get('settling') ?? 0,
  };
}

export function put(fork: Fork, { objects }: Graph, object: FairwayObject): void {
  fork.put(objects[object.kind], keyOf(object), object);
}

/** Microseconds from the put to the adopted world with its list of changes. */
export async function applied({ kernel, graph, outputs }: BuiltWorld, object: FairwayObject): Promise<number> {
  const started = performance.now();
  const fork = kernel.fork();
  put(fork, graph, object);
  await fork.settle(budget);
  for (const output of outputs) fork.changes(output);
  kernel.adopt(fork);
  return (performance.now() - started) * 1000;
}
