import { type Mirror, pinOf, type World } from '../control/index.ts';
import { pathOf } from '../graph/index.ts';
import { type Kind, memberKey, type ObjectKey, objectKey, parseObjectKey } from '../model/index.ts';
import { type HeldBack, mergeEvidence, type StatusSources } from '../status/index.ts';
import { parseResourceKey } from '../translate/index.ts';
import type { Cluster } from './cluster.ts';
import type { Deliveries } from './deliveries.ts';

/** What the status of objects follows from, read from the View, the records and the streams. */
export function createStatusSources(
  mirror: Mirror,
  deliveries: Deliveries,
  cluster: Pick<Cluster, 'deliveries' | 'ofNode'>,
): StatusSources {
  const { kernel, graph, translation } = mirror.world;
  const { records } = mirror;
  const failure = failuresByObject(mirror.world);

  function held(key: ObjectKey, object: { readonly uid: string; readonly generation: number }): HeldBack | undefined {
    const all = records
      .held(key)
      .filter(({ suspect }) => suspect.uid === object.uid && suspect.refused === object.generation);
    const one = all.find(({ verdict }) => verdict === 'guilty') ?? all[0];
    if (one === undefined || one.evidence === null) return undefined;
    const rejection = records.rejections.get(one.key)?.record;
    return {
      verdict: one.verdict === 'guilty' ? 'guilty' : 'suspect',
      among: one.among,
      // Proxies that refused the same form later are counted in.
      evidence: rejection?.hash === one.evidence.hash ? mergeEvidence(one.evidence, rejection) : one.evidence,
      good: (pinOf(all) ?? one.suspect).good,
    };
  }

  return {
    verdicts: (key) => kernel.get(graph.verdicts, key),
    failure,
    deliveries: (key) =>
      translation.resourcesOf(kernel, key).map((resource) => cluster.deliveries.of(parseResourceKey(resource), key)),
    held,
    draining: (key) => {
      const until = new Map(records.drains.get(key)?.members.map((member) => [memberKey(member), member.until]));
      const members = kernel.get(graph.drains, key)?.members ?? [];
      return members.map(({ address, port }) => ({ address, port, until: until.get(memberKey({ address, port })) }));
    },
    transitions: (key, uid) => records.transitionsOf(key, uid),
    referrers: (key) => [...kernel.members(graph.referrers, key)].sort(),
    node(name) {
      const record = records.nodes.get(name);
      const live = deliveries.ofNode(name);
      if (record === undefined) return undefined;
      const elsewhere = live === undefined ? cluster.ofNode(name) : undefined;
      const connected = live !== undefined || elsewhere !== undefined;
      return { record, connected, types: live?.types ?? [], delivery: live?.delivery ?? elsewhere };
    },
    nodeCertificate(name, uid) {
      const record = records.certificates.get(name);
      if (record?.uid !== uid) return undefined;
      const { serial, issuedAt, notAfter } = record;
      return { serial, issuedAt, notAfter };
    },
    fleetExists: (name) => kernel.get(graph.objects.Fleet, objectKey('Fleet', undefined, name)) !== undefined,
    fleetProxies: (fleet) => cluster.deliveries.ofFleet(fleet),
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
