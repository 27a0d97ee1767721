import {
  type Age,
  type Graph,
  type ListenerRow,
  pathOf,
  type ResolvedRule,
  type RuleSet,
  type SocketFacts,
  tableName,
} from '../graph/index.ts';
import { type Action, type FairwayObject, type Match, type ObjectKey, objectKey, type Rule } from '../model/index.ts';
import type { World } from '../view/index.ts';
import { draftsOf, type StatusSources } from './object-status.ts';
import type { Delivery } from './programmed.ts';

/** Why a virtual service is served as it is: where each part comes from, and what each proxy has of it. */
export interface Explanation {
  readonly service: string;
  readonly generation: number;
  /** The one that is served, where proxies refused the newest. */
  readonly servedGeneration: number | undefined;
  readonly fleet: { readonly name: string; readonly exists: boolean; readonly why: string; readonly proxies: number };
  /** What stands in its way; empty when nothing does. */
  readonly problems: readonly { readonly condition: string; readonly reason: string; readonly message: string }[];
  readonly sockets: readonly SocketExplanation[];
  readonly hosts: readonly HostExplanation[];
  readonly resources: readonly ResourceExplanation[];
}

interface SocketExplanation {
  /** `*`: every address of the node. */
  readonly address: string;
  readonly port: number;
  readonly served: boolean;
  /** Who has it, or is in the way. */
  readonly owner: string | undefined;
  /** Name of the Envoy listener, where it is served. */
  readonly listener: string | undefined;
  readonly chains: readonly {
    readonly listeners: readonly string[];
    readonly goesTo: string;
    readonly certificates: readonly string[];
  }[];
}

interface HostExplanation {
  readonly table: string;
  readonly listener: string;
  readonly host: string;
  /** The object whose claim is the oldest; undefined when only the listener itself names the host. */
  readonly owner: string | undefined;
  /** In the order in which Envoy tries them. */
  readonly rules: readonly {
    readonly from: string;
    readonly rule: string;
    readonly match: string;
    readonly action: string;
  }[];
  /** What happens to what no rule takes. */
  readonly otherwise: string;
}

interface ResourceExplanation {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  /** The objects that it is made from. */
  readonly from: readonly string[];
  readonly proxies: {
    readonly acknowledged: number;
    readonly of: number;
    readonly waitingFor: readonly string[];
    readonly rejectedBy: readonly { readonly node: string; readonly message: string }[];
  };
}

/** What an explanation needs beyond the graph: of the translation, which this room does not know. */
export interface ExplainSources extends StatusSources {
  /** The resources that an object became, or has a part in. */
  resources(key: ObjectKey): readonly {
    readonly type: string;
    readonly name: string;
    readonly hash: string;
    readonly parts: readonly { readonly unit: ObjectKey }[];
  }[];
  /** How far each proxy is with one resource. */
  delivery(resource: { readonly type: string; readonly name: string }): readonly Delivery[];
  /** Name of the Envoy listener. */
  listenerName(row: ListenerRow): string;
  /** The place of a match among the others of its host: smaller texts, by code units, are tried first. */
  rank(match: Match, place: { age: Age; ruleName: string; setKey: string; matchIndex: number }): string;
}

export function explain(
  key: ObjectKey,
  object: FairwayObject,
  world: { readonly kernel: World; readonly graph: Graph },
  sources: ExplainSources,
  nowMs: number,
): Explanation {
  const { kernel, graph } = world;
  const facts = kernel.get(graph.services, key);
  const { drafts } = draftsOf(key, object, sources, nowMs);
  const fleet = facts?.fleet ?? '';
  const named = object.kind === 'VirtualService' && object.spec.fleet !== undefined;
  return {
    service: pathOf(key),
    generation: object.metadata.generation,
    servedGeneration: kernel.get(graph.effective.VirtualService, key)?.generation,
    fleet: {
      name: fleet,
      exists: kernel.get(graph.objects.Fleet, objectKey('Fleet', undefined, fleet)) !== undefined,
      why: named ? 'spec.fleet names it' : 'spec.fleet is not set: the only Fleet, or else the one named default',
      proxies: sources.fleetProxies(fleet).length,
    },
    problems: drafts
      .filter(({ status }) => status !== 'True')
      .map(({ type, reason, message }) => ({ condition: type, reason, message })),
    sockets: (facts?.sockets ?? []).map((socket) => explainSocket(world, key, socket, sources)),
    hosts: (facts?.listeners ?? [])
      .flatMap(({ table }) => (table === undefined ? [] : [table]))
      .filter((table, at, all) => all.indexOf(table) === at)
      .flatMap((table) => explainHosts(world, table, sources)),
    resources: explainResources(key, sources),
  };
}

type Reads = Parameters<typeof explain>[2];

function explainSocket(
  { kernel, graph }: Reads,
  key: ObjectKey,
  { address, port, key: socket, claim }: SocketFacts,
  sources: ExplainSources,
): SocketExplanation {
  const owner = kernel.get(graph.socketOwners, claim)?.owner ?? key;
  const row = kernel.get(graph.listeners, socket);
  const chains = (row?.chains ?? []).map((chain) => {
    const listeners = chain.kind === 'tcp' ? [chain.listener.name] : chain.listeners.map(({ name }) => name);
    const goesTo =
      chain.kind === 'tcp'
        ? `pool ${chain.target.clusters.map(({ cluster }) => cluster).join(', ')}`
        : `route table ${tableName(chain.table)}`;
    return { listeners, goesTo, certificates: chain.kind === 'http' ? (chain.tls?.secrets ?? []) : [] };
  });
  return {
    address,
    port,
    served: row !== undefined,
    owner: pathOf(owner),
    listener: row === undefined ? undefined : sources.listenerName(row),
    chains,
  };
}

function explainHosts({ kernel, graph }: Reads, table: string, sources: ExplainSources): HostExplanation[] {
  return [...kernel.members(graph.virtualHostsOf, table)].sort().flatMap((key) => {
    const row = kernel.get(graph.virtualHosts, key);
    if (row === undefined) return [];
    const rules = row.sets
      .flatMap((set) => entriesOf(kernel.get(graph.ruleSets, set), sources))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .map(({ rank: _, ...entry }) => entry);
    const last = kernel.get(graph.defaultActions, row.service)?.listeners.find(({ name }) => name === row.listener);
    const oldest = row.sets[0] === undefined ? undefined : kernel.get(graph.ruleSets, row.sets[0]);
    const owner = oldest === undefined ? undefined : nameOf(oldest.unit);
    const otherwise = last?.action === undefined ? '404' : actionText(last.action);
    return [{ table: tableName(table), listener: row.listener, host: row.host, owner, rules, otherwise }];
  });
}

function entriesOf(set: RuleSet | undefined, sources: ExplainSources) {
  if (set === undefined) return [];
  const place = (rule: Rule, match: Match, matchIndex: number) =>
    sources.rank(match, { age: set.age, ruleName: rule.name, setKey: set.key, matchIndex });
  return set.rules.flatMap(({ rule }: ResolvedRule) =>
    (rule.match ?? [{}]).map((match, matchIndex) => ({
      rank: place(rule, match, matchIndex),
      from: nameOf(set.unit),
      rule: rule.name,
      match: matchText(match),
      action: actionText(rule.action),
    })),
  );
}

/** `Route default/api`. */
function nameOf(key: ObjectKey): string {
  return `${key.slice(0, key.indexOf('/'))} ${pathOf(key)}`;
}

function matchText({ path, methods, headers, query }: Match): string {
  const [[kind, value] = ['prefix', '/']] = Object.entries(path ?? {});
  const parts = [`${kind} ${value}`];
  if (methods !== undefined) parts.push(methods.join('|'));
  for (const { name } of headers ?? []) parts.push(`header ${name}`);
  for (const { name } of query ?? []) parts.push(`query ${name}`);
  return parts.join(', ');
}

function actionText({ forward, redirect, respond }: Pick<Action, 'forward' | 'redirect' | 'respond'>): string {
  if (forward !== undefined) {
    return `forward to ${forward.map(({ pool, weight }) => (weight === undefined ? pool : `${pool} (${weight})`)).join(', ')}`;
  }
  if (respond !== undefined) return `respond ${respond.status}`;
  return redirect === undefined ? '404' : `redirect ${redirect.code ?? ''}`.trim();
}

function explainResources(key: ObjectKey, sources: ExplainSources): ResourceExplanation[] {
  return sources.resources(key).map(({ type, name, hash, parts }) => {
    const deliveries = sources.delivery({ type, name });
    const rejected = deliveries.filter(({ state }) => state === 'rejected');
    return {
      type,
      name,
      version: hash,
      from: parts.map(({ unit }) => nameOf(unit)),
      proxies: {
        acknowledged: deliveries.filter(({ state }) => state === 'acked' || state === 'unwanted').length,
        of: deliveries.length,
        waitingFor: deliveries.filter(({ state }) => state === 'pending').map(({ node }) => node),
        rejectedBy: rejected.map(({ node, words }) => ({ node, message: words ?? '' })),
      },
    };
  });
}
