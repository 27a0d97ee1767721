import { declareGraph, type Graph } from '../graph/index.ts';
import type { FairwayObject, ObjectKey } from '../model/index.ts';
import { declareTranslation, type RawPatch, type Translation } from '../translate/index.ts';
import { Kernel } from '../view/index.ts';
import { kindOf } from './adoption.ts';

/** The View: a kernel with all that is derived in it. One per controller. */
export interface World {
  readonly kernel: Kernel;
  readonly graph: Graph;
  readonly translation: Translation;
}

export function createWorld(options: { rawPatch?: RawPatch } = {}): World {
  const kernel = new Kernel();
  const graph = declareGraph(kernel);
  const translation = declareTranslation(kernel, graph, options);
  return { kernel, graph, translation };
}

/** The object as this View has it. */
export function objectOf({ world }: { readonly world: World }, key: ObjectKey): FairwayObject | undefined {
  const table = world.graph.objects[kindOf(key)];
  return table === undefined ? undefined : world.kernel.get(table, key);
}
