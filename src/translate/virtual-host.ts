import { create } from '@bufbuild/protobuf';
import { RouteSchema, VirtualHostSchema } from '../gen/envoy/config/route/v3/route_components_pb.js';
import {
  type DefaultActionsRow,
  type ListenerDefault,
  pathOf,
  type RuleSet,
  type Target,
  type VirtualHostRow,
} from '../graph/index.ts';
import { contentHash } from '../lib/hash.ts';
import type { Action, Match } from '../model/index.ts';
import type { Part } from '../xds/index.ts';
import { encode, sameList } from './encode.ts';
import { http1Cluster } from './names.ts';
import { compareRank, rank } from './precedence.ts';
import { directResponse, route } from './route.ts';
import { routeMatch } from './route-match.ts';
import { asField, join } from './splice.ts';
import { trafficShares } from './traffic-shares.ts';

/** VirtualHost: the rules of one host, put together from rule sets that were encoded once each. */

/** Field numbers of the messages that are put together here. */
const routesOfHost = 3;
const hostsOfTable = 2;

/** A route as it stands in a virtual host, with its place among others. */
export interface EncodedRoute {
  /** See precedence.ts; compared by code units. */
  readonly rank: string;
  readonly bytes: Uint8Array;
}

/** Rules of one object, encoded once, whichever hosts they come to stand in. */
export interface EncodedRules {
  readonly part: Part;
  /** In order of precedence. */
  readonly routes: readonly EncodedRoute[];
  /** Clusters named, each once. */
  readonly clusters: readonly string[];
}

const anything: readonly Match[] = [{}];

/** Whether the pool of a cluster chooses its HTTP version by TLS. */
export type Negotiates = (cluster: string) => boolean;

export function encodeRules(set: RuleSet, negotiates: Negotiates): EncodedRules {
  const rules = set.rules.map(({ rule, target }) => ({ rule, target: targetOf(rule.action, target, negotiates) }));
  const routes = rules.flatMap(({ rule, target }) =>
    (rule.match ?? anything).map((match, matchIndex): EncodedRoute => {
      const message = route(routeName(set.unit, rule.name), routeMatch(match), match.path, rule.action, target);
      return {
        rank: rank(match, { age: set.age, ruleName: rule.name, setKey: set.key, matchIndex }),
        bytes: asField(routesOfHost, encode(RouteSchema, message)),
      };
    }),
  );
  routes.sort(byRank);
  return {
    part: { unit: set.unit, generation: set.generation, hash: contentHash(join(routes.map(({ bytes }) => bytes))) },
    routes,
    clusters: clustersOf(rules.map(({ target }) => target)),
  };
}

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
  const target = action === undefined ? listener.target : targetOf(action, listener.target, negotiates);
  const bytes =
    action === undefined
      ? []
      : [encode(RouteSchema, route(routeName(unit, 'default'), routeMatch({}), undefined, action, target))];
  const routes = bytes.map((message) => ({ rank: '', bytes: asField(routesOfHost, message) }));
  return {
    part: { unit, generation, hash: contentHash(join(bytes)) },
    routes,
    clusters: action === undefined ? [] : clustersOf([target]),
  };
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
    a.part.hash === b.part.hash &&
    a.part.generation === b.part.generation &&
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
  const routes = sets.flatMap((set) => set.routes);
  if (sets.length > 1) routes.sort(byRank);
  if (last !== undefined) routes.push(...last.routes);
  const head = encode(VirtualHostSchema, create(VirtualHostSchema, { name: row.host, domains: [row.host] }));
  const contributors = last === undefined ? sets : [...sets, last];
  return {
    host: row.host,
    bytes: asField(hostsOfTable, join([head, ...routes.map(({ bytes }) => bytes)])),
    // Rules that moved to another host are changed rules, though their own bytes are the same.
    parts: [
      ...sets.map(({ part }) => ({ ...part, hash: `${part.hash}@${row.host}` })),
      ...(last === undefined ? [] : [last.part]),
    ],
    clusters: [...new Set(contributors.flatMap(({ clusters }) => clusters))],
  };
}

/** Where the parts are the same, so are the bytes: they are made of nothing else. */
export function sameHost(a: EncodedHost, b: EncodedHost): boolean {
  return sameList(a.parts, b.parts, (x, y) => x.hash === y.hash && x.unit === y.unit && x.generation === y.generation);
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
  return asField(hostsOfTable, encode(VirtualHostSchema, message));
}

function byRank(a: EncodedRoute, b: EncodedRoute): number {
  return compareRank(a.rank, b.rank);
}

function routeName(unit: string, rule: string): string {
  return `${pathOf(unit)}/${rule}`;
}

function clustersOf(targets: readonly RuleSet['rules'][number]['target'][]): string[] {
  return [...new Set(targets.flatMap(({ clusters }) => trafficShares(clusters).map(({ name }) => name)))];
}
