import { type Graph, pathOf, tableName } from '../graph/index.ts';
import type { ObjectKey } from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { sameList } from './encode.ts';
import { baseOfHttp1Cluster } from './names.ts';
import {
  type EncodedHost,
  type EncodedRules,
  encodeDefaultAction,
  encodeHost,
  encodeMisdirected,
  encodeRules,
  sameHost,
  sameRules,
} from './virtual-host.ts';

/** The pieces that route tables are put together from. */
export interface RouteFragments {
  /** By `hostKey`. */
  readonly hosts: Derived<EncodedHost>;
  /** By `tableKey`: what is said to requests that another listener of the same socket serves. */
  readonly misdirected: Derived<Misdirected>;
  /** Names of the HTTP/1.1 clusters that rules name. */
  readonly http1Clusters: Index;
}

export interface Misdirected {
  readonly hosts: readonly string[];
  readonly bytes: Uint8Array;
}

type Source = Pick<
  Graph,
  'pools' | 'ruleSets' | 'defaultActions' | 'virtualHosts' | 'virtualHostsOf' | 'routeTables'
> & {
  readonly effective: Pick<Graph['effective'], 'VirtualService'>;
};

/** Rules → hosts, each a collection of its own, so that one changed rule encodes itself and is copied from there on. */
export function declareRouteFragments(kernel: Kernel, graph: Source): RouteFragments {
  const negotiating = kernel.derive<true>(
    'pools that choose their HTTP version',
    graph.pools,
    (read, key) => read(graph.pools, key)?.spec.protocol === 'auto' || undefined,
  );
  const negotiates = (read: Read) => (cluster: string) => read(negotiating, poolOf(cluster)) === true;

  const rules = kernel.derive<EncodedRules>(
    'encoded rules',
    graph.ruleSets,
    (read, key) => {
      const set = read(graph.ruleSets, key);
      return set === undefined || set.isDefault ? undefined : encodeRules(set, negotiates(read));
    },
    { same: sameRules },
  );
  const defaults = kernel.derive<EncodedRules>(
    'encoded default actions',
    graph.defaultActions,
    (read, key) => {
      const row = read(graph.defaultActions, key);
      return row === undefined ? undefined : encodeDefaultAction(row, negotiates(read));
    },
    { same: sameRules },
  );
  const http1Clusters = kernel.index('HTTP/1.1 clusters', [rules, defaults], ({ clusters }: EncodedRules) =>
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
      return encodeHost(row, sets, read(defaults, `${row.service}|${row.listener}`));
    },
    { same: sameHost },
  );
  const misdirected = kernel.derive<Misdirected>(
    'misdirected hosts',
    graph.routeTables,
    (read, table) => {
      const row = read(graph.routeTables, table);
      const listeners =
        row === undefined ? [] : (read(graph.effective.VirtualService, row.service)?.spec.listeners ?? []);
      const own = listeners.find(
        ({ protocol, name }) =>
          protocol === 'HTTPS' && row !== undefined && `${pathOf(row.service)}/${name}` === tableName(table),
      );
      if (own === undefined) return undefined;
      const served = new Set<string>();
      for (const key of read(graph.virtualHostsOf, table)) served.add(key.slice(key.lastIndexOf('|') + 1));
      const others = listeners
        .filter((other) => other !== own && other.protocol === 'HTTPS' && other.port === own.port)
        .flatMap((other) => other.hosts ?? [])
        .map((host) => host.toLowerCase())
        .filter((host) => !served.has(host));
      const unique = [...new Set(others)].sort();
      return unique.length === 0 ? undefined : { hosts: unique, bytes: encodeMisdirected(unique) };
    },
    { same: (a, b) => sameList(a.hosts, b.hosts, Object.is) },
  );
  return { hosts, misdirected, http1Clusters };
}

/** Key of the pool that a cluster is. */
function poolOf(cluster: string): ObjectKey {
  return `BackendPool/${cluster}`;
}
