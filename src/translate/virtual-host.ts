import { create } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { VirtualHostSchema } from '../gen/envoy/config/route/v3/route_components_pb.js';
import {
  type DefaultActionsRow,
  type ListenerDefault,
  pathOf,
  type RuleSet,
  type Target,
  type VirtualHostRow,
} from '../graph/index.ts';
import { encodeWith } from '../lib/encode-with.ts';
import { contentHash } from '../lib/hash.ts';
import type { Action, Match } from '../model/index.ts';
import type { Part } from '../xds/index.ts';
import { encode, type Origin, partOf, sameList, samePart, type Write } from './encode.ts';
import { http1Cluster } from './names.ts';
import { compareRank, rank } from './precedence.ts';
import { directResponse, route } from './route.ts';
import { routeMatch } from './route-match.ts';
import { shaped } from './shaped.ts';
import { writeField } from './splice.ts';
import { trafficShares } from './traffic-shares.ts';

/** VirtualHost: the rules of one host, put together from rule sets that were encoded once each. */

/** Field numbers of the messages that are put together here. */
const routesOfHost = 3;
const hostsOfTable = 2;

/** Rules of one object, encoded once, whichever hosts they come to stand in. */
export interface EncodedRules {
  readonly part: Part;
  /** The pools whose settings stand in the routes. */
  readonly pools: readonly Part[];
  /** The routes as they stand in a virtual host, in order of precedence. */
  readonly bytes: Uint8Array;
  readonly routes: readonly EncodedRoute[];
  /** Clusters named, each once. */
  readonly clusters: readonly string[];
}

/** A route with its place among others. */
interface EncodedRoute {
  /** See precedence.ts. */
  readonly rank: string;
  /** Where in the bytes of its rules it ends; it begins where the one before it ends. */
  readonly end: number;
}

const anything: readonly Match[] = [{}];

/** Whether the pool of a cluster chooses its HTTP version by TLS. */
export type Negotiates = (cluster: string) => boolean;

export function encodeRules(set: RuleSet, negotiates: Negotiates): EncodedRules {
  const { unit, generation, age, key: setKey } = set;
  const rules = set.rules.map(({ rule, target }) => ({ rule, target: targetOf(rule.action, target, negotiates) }));
  const routes = rules.flatMap(({ rule, target }) =>
    (rule.match ?? anything).map((match, matchIndex) => ({
      rank: rank(match, { age, ruleName: rule.name, setKey, matchIndex }),
      write: route(routeName(unit, rule.name), match, rule.action, target),
    })),
  );
  routes.sort((a, b) => compareRank(a.rank, b.rank));
  return encodeRoutes(
    { unit, generation },
    routes,
    rules.map(({ target }) => target),
  );
}

function encodeRoutes(
  origin: Origin,
  routes: readonly { readonly rank: string; readonly write: Write }[],
  targets: readonly Target[],
): EncodedRules {
  if (routes.length === 0) return { ...nothing, part: partOf(origin, hashOfNothing) };
  const bytes = encodeWith((to) => {
    for (const { write } of routes) writeField(to, routesOfHost, write);
  });
  const reader = new BinaryReader(bytes);
  const encoded = routes.map(({ rank }) => {
    reader.skip(reader.tag()[1]);
    return { rank, end: reader.pos };
  });
  const part = partOf(origin, contentHash(bytes));
  return { part, pools: poolsIn(targets), bytes, routes: encoded, clusters: clustersOf(targets) };
}

/** What requests are hashed by is the pool's setting, and changes with a generation of the pool and none of the rules. */
function poolsIn(targets: readonly Target[]): readonly Part[] {
  const pools = new Map<string, Part>();
  for (const { hashing } of targets) {
    for (const { pool, generation, hash } of hashing) {
      if (!pools.has(pool)) pools.set(pool, partOf({ unit: pool, generation }, contentHash(JSON.stringify(hash))));
    }
  }
  return pools.size === 0 ? none : [...pools.values()];
}

const none: readonly never[] = [];
const noBytes = new Uint8Array();
const hashOfNothing = contentHash(noBytes);
const nothing = { pools: none, bytes: noBytes, routes: none, clusters: none } as const;

/** What the listeners of a service do with requests that no rule took. */
export interface EncodedDefaults {
  readonly listeners: readonly { readonly name: string; readonly rules: EncodedRules }[];
  /** Clusters named, each once. */
  readonly clusters: readonly string[];
}

export function encodeDefaultActions(row: DefaultActionsRow, negotiates: Negotiates): EncodedDefaults {
  const listeners = row.listeners.map((listener) => ({
    name: listener.name,
    rules: encodeDefaultAction(row, listener, negotiates),
  }));
  return { listeners, clusters: [...new Set(listeners.flatMap(({ rules }) => rules.clusters))] };
}

/** Without an action it is nothing: Envoy's own 404. */
function encodeDefaultAction(
  { unit, generation }: DefaultActionsRow,
  listener: ListenerDefault,
  negotiates: Negotiates,
): EncodedRules {
  const action = actionOf(listener);
  if (action === undefined) return encodeRoutes({ unit, generation }, [], []);
  const target = targetOf(action, listener.target, negotiates);
  const write = route(routeName(unit, 'default'), {}, action, target);
  return encodeRoutes({ unit, generation }, [{ rank: '', write }], [target]);
}

/** Where the requests of an action go: those that may become a WebSocket need HTTP/1.1 all the way. */
function targetOf(action: Action, target: Target, negotiates: Negotiates): Target {
  if (action.websocket !== true) return target;
  const clusters = target.clusters.map(({ cluster, weight }) => ({
    cluster: negotiates(cluster) ? http1Cluster(cluster) : cluster,
    weight,
  }));
  return { ...target, clusters };
}

/** The default action of an HTTP listener as an action of a rule; `pool` is for TCP listeners only. */
function actionOf({ action }: ListenerDefault): Action | undefined {
  if (action === undefined) return undefined;
  const { pool: _, ...rest } = action;
  return rest;
}

export function sameRules(a: EncodedRules, b: EncodedRules): boolean {
  return (
    samePart(a.part, b.part) &&
    sameList(a.pools, b.pools, samePart) &&
    sameList(a.routes, b.routes, (x, y) => x.rank === y.rank)
  );
}

export function sameDefaults(a: EncodedDefaults, b: EncodedDefaults): boolean {
  return sameList(a.listeners, b.listeners, (x, y) => x.name === y.name && sameRules(x.rules, y.rules));
}

export interface EncodedHost {
  readonly host: string;
  /** The host as it stands in a RouteConfiguration. */
  readonly bytes: Uint8Array;
  /** Where its routes come from; an object may stand here several times. */
  readonly parts: readonly Part[];
  readonly clusters: readonly string[];
}

/** Merges the rule sets of a host by precedence, with the default action of its listener at the end. */
export function encodeHost(
  row: VirtualHostRow,
  sets: readonly EncodedRules[],
  last: EncodedRules | undefined,
): EncodedHost {
  const { host } = row;
  const bytes = encodeWith((to) =>
    writeField(to, hostsOfTable, () => {
      writeHead(to, undefined, { host });
      for (const piece of merged(sets)) to.raw(piece);
      if (last !== undefined) to.raw(last.bytes);
    }),
  );
  const contributors = last === undefined ? sets : [...sets, last];
  return {
    host,
    bytes,
    // Rules that moved to another host are changed rules, though their own bytes are the same.
    parts: contributors.flatMap(({ part, pools }) => [
      part === last?.part ? part : partOf(part, `${part.hash}@${host}`),
      ...pools,
    ]),
    clusters: contributors.length === 1 ? (contributors[0] as EncodedRules).clusters : clustersTogether(contributors),
  };
}

const writeHead = shaped(VirtualHostSchema, (_shape: undefined, { host }: { host: string }) =>
  create(VirtualHostSchema, { name: host, domains: [host] }),
);

/** The routes of the sets as one list, in order of precedence. */
function merged(sets: readonly EncodedRules[]): readonly Uint8Array[] {
  if (sets.length < 2) return sets.map(({ bytes }) => bytes);
  const routes = sets.flatMap(({ bytes, routes }) =>
    routes.map(({ rank, end }, at) => ({ rank, bytes: bytes.subarray(routes[at - 1]?.end ?? 0, end) })),
  );
  return routes.sort((a, b) => compareRank(a.rank, b.rank)).map(({ bytes }) => bytes);
}

function clustersTogether(contributors: readonly EncodedRules[]): string[] {
  return [...new Set(contributors.flatMap(({ clusters }) => clusters))];
}

/** Where the parts are the same, so are the bytes: they are made of nothing else. */
export function sameHost(a: EncodedHost, b: EncodedHost): boolean {
  return sameList(a.parts, b.parts, samePart);
}

/**
 * A browser that has a connection to one host uses it for others that the same certificate names; but those may be of
 * another listener at the same address and port, with other rules. 421 makes it open a connection of their own.
 */
export function encodeMisdirected(hosts: readonly string[]): Uint8Array | undefined {
  if (hosts.length === 0) return undefined;
  const message = create(VirtualHostSchema, {
    // Never a host: those have no space.
    name: 'other listeners',
    domains: [...hosts],
    routes: [{ match: routeMatch({}), action: { case: 'directResponse', value: directResponse({ status: 421 }) } }],
  });
  return encodeWith((to) => writeField(to, hostsOfTable, () => to.raw(encode(VirtualHostSchema, message))));
}

function routeName(unit: string, rule: string): string {
  return `${pathOf(unit)}/${rule}`;
}

function clustersOf(targets: readonly Target[]): string[] {
  return [...new Set(targets.flatMap(({ clusters }) => trafficShares(clusters).map(({ name }) => name)))];
}
