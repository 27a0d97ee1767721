import type { Mirror } from '../control/index.ts';
import { objectKey } from '../model/index.ts';
import type { StatusSources } from '../status/index.ts';
import { parseResourceKey } from '../translate/index.ts';
import type { Deliveries } from './deliveries.ts';

/** What the status of objects follows from, read from the View, the records and the streams. */
export function createStatusSources(mirror: Mirror, deliveries: Deliveries): StatusSources {
  const { kernel, graph, translation } = mirror.world;
  const { records } = mirror;
  return {
    verdicts: (key) => kernel.get(graph.verdicts, key),
    failure: (key) => {
      // Rows of derivations stand under the object's key, or under one that begins with it.
      const failure = kernel
        .failures()
        .find((candidate) => candidate.key === key || candidate.key.startsWith(`${key}|`));
      return failure?.error;
    },
    deliveries: (key) =>
      [...kernel.members(translation.resourcesOf, key)]
        .sort()
        .map((resource) => deliveries.of(parseResourceKey(resource))),
    rejections: (key) => records.rejectionsOf(key),
    pin: (key) => records.pins.get(key),
    transitions: (key) => records.transitionsOf(key),
    referrers: (key) => [...kernel.members(graph.referrers, key)].sort(),
    node(name) {
      const record = records.nodes.get(name);
      const live = deliveries.ofNode(name);
      if (record === undefined) return undefined;
      return {
        record: { ...record, connected: live !== undefined },
        types: live?.types ?? [],
        delivery: live?.delivery,
      };
    },
    fleetExists: (name) => kernel.get(graph.objects.Fleet, objectKey('Fleet', undefined, name)) !== undefined,
    fleetProxies: (fleet) => deliveries.ofFleet(fleet),
  };
}
