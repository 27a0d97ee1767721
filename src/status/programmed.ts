import type { ConditionDraft } from './conditions.ts';
import type { Evidence } from './records.ts';

/** How far one proxy is with one resource. */
export interface Delivery {
  readonly node: string;
  /** `unwanted`: the proxy has all it asked for and did not ask for this. */
  readonly state: 'acked' | 'pending' | 'rejected' | 'unwanted';
  /**
   * Of a rejection: the proxy's words, since when (RFC 3339, if it refused it itself), and whose fault it is: `convicted`:
   * the resource's; `host`: one of the proxy's host; `local`: others that run the same accepted it.
   */
  readonly words?: string;
  readonly since?: string;
  readonly scope?: 'convicted' | 'local' | 'host';
  /**
   * Whether the proxy counts: it was there when the resource came to be what it is, or has been filled since. One
   * that is still being filled for the first time would turn every service red.
   */
  readonly counts: boolean;
  /** The stream was lost less than 30 s ago. */
  readonly lost?: boolean;
}

/** What every proxy has of an object. */
export interface Realization {
  readonly desired: number;
  readonly realized: number;
  readonly failed: readonly { readonly node: string; readonly message: string }[];
  readonly unreachable: readonly string[];
}

/** Longest list of nodes in a status. */
const maxListedNodes = 10;

export interface HeldBack {
  /** It was found to be at fault, or is one of those of which one is. */
  readonly verdict: 'guilty' | 'suspect';
  /** How many objects the culprit is being looked for among. */
  readonly among: number;
  readonly evidence: Evidence;
  /** The generation that is served in its place; null: none. */
  readonly good: number | null;
}

export interface ProgrammedInput {
  readonly generation: number;
  /** For each resource that the object became, how far each proxy is. */
  readonly deliveries: readonly (readonly Delivery[])[];
  /** What was decided about the object in its present generation, where proxies refused it. */
  readonly held: HeldBack | undefined;
  /** Why the object became no resource at all, where that follows from the object. */
  readonly nothing: { readonly reason: string; readonly message: string; readonly status: 'False' | 'Unknown' };
}

/**
 * True when every proxy concerned has acknowledged all that the object became. A refusal makes it False with the
 * proxy's words; then the last good generation goes on being served, and the message says which.
 *
 * Concerned are the proxies that count for at least one of the resources, with those resources. While none counts,
 * all are concerned: a first proxy that is being filled is waited for.
 */
export function programmed(input: ProgrammedInput): { condition: ConditionDraft; realization: Realization } {
  const { rejected, concerned, waiting, realization } = summaryOf(input.deliveries);
  const condition = (status: ConditionDraft['status'], reason: string, message: string) => ({
    condition: { type: 'Programmed', status, reason, message },
    realization,
  });
  const { held, generation } = input;
  if (held?.verdict === 'guilty') return condition('False', 'RejectedByProxy', guiltyMessage(held, generation));
  if (held !== undefined) return condition('False', 'Pending', suspectMessage(held));
  const refusal = refusalOf(rejected);
  if (refusal !== undefined) return condition('False', 'RejectedByProxy', refusal);
  if (input.deliveries.length === 0)
    return condition(input.nothing.status, input.nothing.reason, input.nothing.message);
  if (concerned === 0) {
    return condition('Unknown', 'NoProxies', 'no proxy of the fleet is connected: it is served as soon as one is');
  }
  if (waiting.length === 0) return condition('True', 'Programmed', '');
  const lost = waiting.filter((proxy) => proxy.lost).length;
  const names = listNodes(waiting.map(({ node }) => node));
  const unreachable = lost > 0 ? `, ${lost} of them unreachable` : '';
  return condition(
    'False',
    'Pending',
    `${concerned - waiting.length} of ${concerned} proxies have it; waiting for ${names}${unreachable}`,
  );
}

/** What the proxies make of an object. */
interface Summary {
  readonly rejected: readonly Delivery[];
  /** Number of the proxies that its condition goes by, and those of them that do not have it. */
  readonly concerned: number;
  readonly waiting: readonly Delivery[];
  readonly realization: Realization;
}

/** Of lists that stand for many resources at once: a thousand proxies are counted once and not for each of them. */
const summaries = new WeakMap<readonly Delivery[], Summary>();

function summaryOf(deliveries: readonly (readonly Delivery[])[]): Summary {
  const [only, ...others] = new Set(deliveries);
  if (only === undefined || others.length > 0) return summarize([only ?? [], ...others].flat());
  let summary = summaries.get(only);
  if (summary === undefined) {
    summary = summarize(only);
    summaries.set(only, summary);
  }
  return summary;
}

function summarize(deliveries: readonly Delivery[]): Summary {
  const proxies = perProxy(deliveries);
  const isEachCounting = deliveries.every(({ counts }) => counts);
  const counting = isEachCounting ? proxies : perProxy(deliveries.filter(({ counts }) => counts));
  const concerned = [...(counting.size > 0 ? counting : proxies).values()];
  return {
    rejected: [...proxies.values()].filter(({ state }) => state === 'rejected'),
    concerned: concerned.length,
    waiting: concerned.filter(({ state }) => state === 'pending'),
    realization: realizationOf(proxies),
  };
}

/** Worst first: what one proxy makes of all resources together. */
const severity = { rejected: 3, pending: 2, acked: 1, unwanted: 0 } as const;

function perProxy(deliveries: readonly Delivery[]): ReadonlyMap<string, Delivery> {
  const proxies = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    const before = proxies.get(delivery.node);
    if (before === undefined || severity[delivery.state] > severity[before.state]) proxies.set(delivery.node, delivery);
  }
  return proxies;
}

function realizationOf(proxies: ReadonlyMap<string, Delivery>): Realization {
  const failed: Realization['failed'][number][] = [];
  const unreachable: string[] = [];
  let realized = 0;
  for (const { node, state, words, lost } of proxies.values()) {
    if (state === 'acked' || state === 'unwanted') realized += 1;
    if (state === 'rejected' && failed.length < maxListedNodes) failed.push({ node, message: words ?? '' });
    if (lost && unreachable.length < maxListedNodes) unreachable.push(node);
  }
  return { desired: proxies.size, realized, failed, unreachable };
}

function guiltyMessage(held: HeldBack, generation: number): string {
  const { evidence } = held;
  const said = `${whoRefused(evidence)} refused generation ${generation}, ${whenRefused(evidence)}: ${evidence.words}`;
  return `${said}. ${stillServing(held)}`;
}

function suspectMessage(held: HeldBack): string {
  const { evidence, among } = held;
  const what = among === 1 ? 'a change of it' : `changes of ${among} objects together`;
  const said = `${whoRefused(evidence)} refused ${what}, ${whenRefused(evidence)}: ${evidence.words}`;
  return `${said}. The one at fault is being looked for. ${stillServing(held)} until it is found`;
}

function whoRefused({ nodes, nodeCount, versions }: Evidence): string {
  const running = versions.length === 0 ? '' : ` running ${versions.join(' and ')}`;
  if (nodeCount === 1) return `proxy ${listNodes(nodes)}${running}`;
  return `${nodeCount} proxies${running} (${listNodes(nodes, nodeCount)})`;
}

function whenRefused({ first, last }: Evidence): string {
  return first === last ? `at ${first}` : `first at ${first}, last at ${last}`;
}

/** What single proxies said of resources as they are now. */
function refusalOf(rejected: readonly Delivery[]): string | undefined {
  const [first] = rejected;
  if (first === undefined) return undefined;
  const same = rejected.filter(({ scope }) => scope === first.scope);
  const nodes =
    same.length === 1 ? `proxy ${first.node}` : `${same.length} proxies (${listNodes(same.map(({ node }) => node))})`;
  const since = first.since === undefined ? '' : `, since ${first.since}`;
  const said = `${nodes} refused it${since}: ${first.words ?? ''}`;
  if (first.scope === 'host') return `${said}. This is a matter of that host alone: it is tried again there by and by`;
  if (first.scope === 'local') return `${said}. Other proxies that run the same accepted it`;
  return `${said}. What proxies had before stays in force`;
}

function stillServing({ good }: HeldBack): string {
  if (good === null) return 'Nothing of it is served, since no proxy ever accepted it';
  return `Generation ${good} goes on being served`;
}

/** Nodes named in a message. */
const maxInMessage = 3;

/** `count`: how many there are, of which `nodes` may be only some. */
function listNodes(nodes: readonly string[], count = nodes.length): string {
  const shown = firstOf(nodes);
  return count > shown.length ? `${shown.join(', ')} and ${count - shown.length} more` : shown.join(', ');
}

/** The first few in the order of their names, without sorting a thousand for it. */
function firstOf(nodes: readonly string[]): readonly string[] {
  const first: string[] = [];
  for (const node of nodes) {
    const last = first[maxInMessage - 1];
    if (last !== undefined && node >= last) continue;
    const place = first.findIndex((other) => node < other);
    first.splice(place < 0 ? first.length : place, 0, node);
    if (first.length > maxInMessage) first.pop();
  }
  return first;
}
