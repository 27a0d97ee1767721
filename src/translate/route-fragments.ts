import type { Graph } from '../graph/index.ts';
import { parseObjectKey } from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { baseOfHttp1Cluster } from './names.ts';
import {
  type EncodedDefaults,
  type EncodedHost,
  type EncodedRules,
  encodeDefaultActions,
  encodeHost,
  encodeRules,
  sameDefaults,
  sameHost,
  sameRules,
} from './virtual-host.ts';

/** The pieces that route tables are put together from. */
export interface RouteFragments {
  /** By `hostKey`. */
  readonly hosts: Derived<EncodedHost>;
  /** Names of the HTTP/1.1 clusters that rules name. */
  readonly http1Clusters: Index;
  /** Pool → the hosts that its settings stand in. */
  readonly hostsOfPool: Index;
}

type Source = Pick<Graph, 'pools' | 'ruleSets' | 'defaultActions' | 'virtualHosts'>;

/** Rules → hosts, each a collection of its own, so that one changed rule encodes itself and is copied from there on. */
export function declareRouteFragments(kernel: Kernel, graph: Source): RouteFragments {
  const negotiating = kernel.derive<true>(
    'pools that choose their HTTP version',
    graph.pools,
    (read, key) => read(graph.pools, key)?.spec.protocol === 'auto' || undefined,
  );
  const negotiates = (read: Read) => (cluster: string) => read(negotiating, cluster) === true;

  const rules = kernel.derive<EncodedRules>(
    'encoded rules',
    graph.ruleSets,
    (read, key) => {
      const set = read(graph.ruleSets, key);
      return set === undefined ? undefined : encodeRules(set, negotiates(read));
    },
    { same: sameRules },
  );
  const defaults = kernel.derive<EncodedDefaults>(
    'encoded default actions',
    graph.defaultActions,
    (read, key) => {
      const row = read(graph.defaultActions, key);
      return row === undefined ? undefined : encodeDefaultActions(row, negotiates(read));
    },
    { same: sameDefaults },
  );
  const http1Clusters = kernel.index(
    'HTTP/1.1 clusters',
    [rules, defaults],
    ({ clusters }: Pick<EncodedRules | EncodedDefaults, 'clusters'>) =>
      clusters.filter((cluster) => baseOfHttp1Cluster(cluster) !== undefined),
  );
  const hosts = kernel.derive<EncodedHost>(
    'encoded virtual hosts',
    graph.virtualHosts,
    (read, key) => {
      const row = read(graph.virtualHosts, key);
      if (row === undefined) return undefined;
      const sets: EncodedRules[] = [];
      for (const set of row.sets) {
        const encoded = read(rules, set);
        if (encoded !== undefined) sets.push(encoded);
      }
      const last = read(defaults, row.service)?.listeners.find(({ name }) => name === row.listener);
      return encodeHost(row, sets, last?.rules);
    },
    { same: sameHost },
  );
  const hostsOfPool = kernel.index('hosts that hash', hosts, ({ parts }: EncodedHost) =>
    parts.flatMap(({ unit }) => (parseObjectKey(unit).kind === 'BackendPool' ? [unit] : [])),
  );
  return { hosts, http1Clusters, hostsOfPool };
}
