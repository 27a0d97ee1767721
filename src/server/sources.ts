import type { Mirror, World } from '../control/index.ts';
import { pathOf } from '../graph/index.ts';
import { type Kind, type ObjectKey, objectKey, parseObjectKey } from '../model/index.ts';
import { type Delivery, rejectionKey, type StatusSources } from '../status/index.ts';
import { parseResourceKey } from '../translate/index.ts';
import type { Deliveries } from './deliveries.ts';

/** What the status of objects follows from, read from the View, the records and the streams. */
export function createStatusSources(mirror: Mirror, deliveries: Deliveries): StatusSources {
  const { kernel, graph, translation } = mirror.world;
  const { records } = mirror;
  const failure = failuresByObject(mirror.world);

  /** How far proxies are with the object's part of a resource. */
  function deliveriesOf(key: ObjectKey, resource: { readonly type: string; readonly name: string }) {
    const found = deliveries.of(resource);
    const rejection = records.rejections.get(rejectionKey(resource.type, resource.name));
    if (rejection === undefined || rejection.suspects.some(({ unit }) => unit === key)) return found;
    // It was refused for what others have in it; this part stands as it was accepted.
    return found.map(
      (delivery): Delivery => (delivery.state === 'rejected' ? { ...delivery, state: 'acked' } : delivery),
    );
  }

  return {
    verdicts: (key) => kernel.get(graph.verdicts, key),
    failure,
    deliveries: (key) =>
      translation.resourcesOf(kernel, key).map((resource) => deliveriesOf(key, parseResourceKey(resource))),
    rejections: (key) => records.rejectionsOf(key),
    pin: (key) => records.pins.get(key),
    transitions: (key, uid) => records.transitionsOf(key, uid),
    referrers: (key) => [...kernel.members(graph.referrers, key)].sort(),
    node(name) {
      const record = records.nodes.get(name);
      const live = deliveries.ofNode(name);
      if (record === undefined) return undefined;
      return { record, connected: live !== undefined, types: live?.types ?? [], delivery: live?.delivery };
    },
    fleetExists: (name) => kernel.get(graph.objects.Fleet, objectKey('Fleet', undefined, name)) !== undefined,
    fleetProxies: (fleet) => deliveries.ofFleet(fleet),
  };
}

/**
 * Finds what went wrong inside for an object. Rows of the graph stand under the object's key, or under one that begins
 * with it; resources under its path, or a name that begins with it. There are none as a rule, so they are searched.
 */
function failuresByObject({ kernel, translation }: World): (key: ObjectKey) => Error | undefined {
  const { clusters, endpoints, secrets, listeners, routes, extensions } = translation;
  const kinds = new Map<string, Kind>([
    [clusters.name, 'BackendPool'],
    [endpoints.name, 'BackendPool'],
    [secrets.name, 'Certificate'],
    [listeners.name, 'VirtualService'],
    [routes.name, 'VirtualService'],
    [extensions.name, 'VirtualService'],
  ]);
  return (key) => {
    const failures = kernel.failures();
    if (failures.length === 0) return undefined;
    const { kind } = parseObjectKey(key);
    const path = pathOf(key);
    const found = failures.find((failure) => {
      if (failure.key === key || failure.key.startsWith(`${key}|`)) return true;
      const name = failure.key.replace(/^policy\/\w+\//, '');
      const isIts = name === path || name.startsWith(`${path}/`) || name.startsWith(`${path}:`);
      return isIts && kinds.get(failure.collection) === kind;
    });
    return found?.error;
  };
}
