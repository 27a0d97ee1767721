import type { Drain, Graph } from '../graph/index.ts';
import { InvariantError } from '../lib/errors.ts';
import type { BackendPoolObject, FairwayObject, ObjectKey } from '../model/index.ts';
import { drainAfterEdit, sameDrain } from '../plan/index.ts';
import type { Fork, Kernel } from '../view/index.ts';
import { kindOf } from './adoption.ts';

/**
 * Puts an object into a fork, or takes it out, with what follows for the other inputs: the members that an edit leaves
 * out of a pool drain from the same step on. Adoptions and dry runs both come by here, so they say the same.
 */
export function changeObject(fork: Fork, graph: Graph, key: ObjectKey, object: FairwayObject | undefined): void {
  const kind = kindOf(key);
  if (kind === 'BackendPool') {
    const drain = fork.get(graph.drains, key);
    const before = poolOf(fork, graph, key);
    changeDrain(fork, graph, key, object?.kind === kind ? drainAfter(drain, before, object) : undefined);
  }
  if (object === undefined) fork.remove(graph.objects[kind], key);
  else fork.put(graph.objects[kind], key, object);
}

/**
 * Nobody drains from a pool that cannot be read: that is told where it is derived, and must not stop what comes after
 * it in the store.
 */
function drainAfter(...edit: Parameters<typeof drainAfterEdit>): Drain | undefined {
  try {
    return drainAfterEdit(...edit);
  } catch (error) {
    if (error instanceof InvariantError) return undefined;
    throw error;
  }
}

export function changeDrain(fork: Fork, { drains }: Graph, key: ObjectKey, drain: Drain | undefined): void {
  if (sameDrain(fork.get(drains, key), drain)) return;
  if (drain === undefined) fork.remove(drains, key);
  else fork.put(drains, key, drain);
}

export function poolOf(world: Fork | Kernel, { objects }: Graph, key: ObjectKey): BackendPoolObject | undefined {
  const object = world.get(objects.BackendPool, key);
  return object?.kind === 'BackendPool' ? object : undefined;
}
