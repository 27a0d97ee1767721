/**
 * The order of one change on one stream, by need and not by stage: a resource may be sent when each thing it needs is
 * ready there, and a name may be removed when nothing the client uses needs it. Both ask about one stream only.
 */

import { getOrMake } from '../lib/multi-map.ts';
import { placeIn } from '../lib/place-in.ts';
import { differingPieces, isComposite } from './composite.ts';
import type { Form } from './forms.ts';
import { OfPair } from './of-pair.ts';
import { type Need, type Resource, type TypeUrl, typeUrls } from './resource.ts';
import type { Entry, Table } from './table.ts';
import type { TypeState } from './type-state.ts';

/** What these questions read of a stream. */
export interface StreamView {
  readonly table: Table;
  readonly audiences: ReadonlySet<string>;
  /** The client came back with what it holds; it asks for clusters only once nothing warms. */
  readonly returned: boolean;
  state(type: TypeUrl): TypeState | undefined;
  /** Whether the resource is kept from this stream because it, or all, refused it. */
  withheld(state: TypeState, resource: Resource): boolean;
  /** Needs of listeners that are draining, each with the end of the draining. */
  readonly lingering: readonly Linger[];
  /** Another number whenever what the client uses may be something else. */
  readonly round: number;
}

/** What a removed or changed listener no longer needs is used by its open connections until they are drained. */
export interface Linger {
  /** The response that took the need away; while it is unanswered, `until` is infinite. */
  readonly nonce: string;
  until: number;
  readonly needs: ReadonlySet<string>;
}

export function needKey(type: TypeUrl, name: string): string {
  return `${type} ${name}`;
}

/** The table's entry, if the stream has its audience. */
export function visible(view: StreamView, type: TypeUrl, name: string): Entry | undefined {
  const entry = view.table.get(type, name);
  return entry !== undefined && view.audiences.has(entry.resource.audience) ? entry : undefined;
}

/** A need that is not ready, and how much longer than usual it may take. */
export interface Missing {
  readonly need: Need;
  readonly warmupMs: number;
}

/** What the client uses already, by the form that it has, is not waited for once more. */
export function firstMissing(view: StreamView, resource: Resource, has?: Form): Missing | undefined {
  for (const need of freshNeeds(resource, has)) {
    const missing = missingNeed(view, need);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

export function missingNeeds(view: StreamView, resource: Resource, has?: Form): readonly Need[] {
  return freshNeeds(resource, has).filter((need) => missingNeed(view, need));
}

const fresh = new OfPair<Resource, Form, readonly Need[]>();

/** What the resource needs and the form that the client has does not, as far as is known. */
function freshNeeds(resource: Resource, has: Form | undefined): readonly Need[] {
  if (has?.needs === undefined || resource.needs.length === 0) return resource.needs;
  return fresh.get(resource, has, () =>
    changedNeeds(resource, has).filter(({ type, name }) => formNeeds(has, type, name) !== true),
  );
}

/** Of a composite only what the pieces need that are others, where that is less than all. */
function changedNeeds(resource: Resource, has: Resource): readonly Need[] {
  if (!isComposite(resource) || !isComposite(has)) return resource.needs;
  const { start, end } = differingPieces(resource, has);
  if (2 * (end - start) > resource.pieces.length) return resource.needs;
  return resource.pieces.slice(start, end).flatMap(({ needs }) => needs);
}

export function missingNeed(view: StreamView, need: Need): Missing | undefined {
  // An assignment follows its cluster, so a cluster never waits for it.
  if (need.type === typeUrls.endpoint) return undefined;
  if (need.type === typeUrls.cluster) return clusterMissing(view, need);
  // The client asks for these only when it has the resource that names them, so being in the table is enough.
  return visible(view, need.type, need.name) === undefined ? { need, warmupMs: 0 } : undefined;
}

function clusterMissing(view: StreamView, need: Need): Missing | undefined {
  const clusters = view.state(typeUrls.cluster);
  if (clusters === undefined) return view.returned ? { need, warmupMs: 0 } : undefined;
  const entry = visible(view, need.type, need.name);
  // Nothing will come: not asked for, not there, or refused. Waiting would only delay the rest.
  if (!clusters.wants(need.name) || entry === undefined || view.withheld(clusters, entry.resource)) return undefined;
  const warmupMs = entry.resource.warmupMs ?? 0;
  if (clusters.expected(need.name) === undefined) return { need, warmupMs };
  const assignments = view.state(typeUrls.endpoint);
  for (const name of view.table.assignmentsOf(entry)) {
    if (assignments?.held.has(name) !== true) return { need, warmupMs };
  }
  // Active checks, DNS and certificates of the upstream show only in the answer for the cluster itself. A changed
  // cluster goes on serving in its old form meanwhile.
  if (entry.resource.warmupMs !== undefined && !clusters.held.has(need.name)) return { need, warmupMs };
  return undefined;
}

/** Types of the resources that can need a name of a type. */
const dependents: ReadonlyMap<TypeUrl, readonly TypeUrl[]> = new Map([
  [typeUrls.cluster, [typeUrls.route, typeUrls.listener]],
  [typeUrls.endpoint, [typeUrls.cluster]],
  [typeUrls.secret, [typeUrls.listener, typeUrls.cluster]],
  [typeUrls.route, [typeUrls.listener]],
]);

/**
 * Why a name cannot be removed yet. `use`: something the client uses needs it, for as long as that is so (rule 39);
 * `unknown`: the client holds an older form of something that may need it; `drain`: connections of a removed listener
 * may use it until then.
 */
export type Use = { readonly kind: 'use' | 'unknown' } | { readonly kind: 'drain'; readonly until: number };

export function stillUsed(view: StreamView, type: TypeUrl, name: string, now: number): Use | undefined {
  // A cluster that names no assignment uses the one of its own name.
  const isOfCluster = type === typeUrls.endpoint && view.state(typeUrls.cluster)?.expected(name) !== undefined;
  const used = isOfCluster || isNeeded(view, type, name);
  if (used === true) return { kind: 'use' };
  const unknown = used === undefined;
  const key = needKey(type, name);
  let until = now;
  for (const linger of view.lingering) if (linger.needs.has(key)) until = Math.max(until, linger.until);
  if (until > now) return { kind: 'drain', until };
  return unknown ? { kind: 'unknown' } : undefined;
}

/** What all forms that a client uses need of a type; `unknown`: of some it is not known. */
interface NeededNames {
  readonly names: Set<string>;
  unknown: boolean;
}

/** How often it was asked in a round about a type, and what was gathered then. */
interface Asking {
  readonly round: number;
  readonly counts: Map<TypeUrl, number>;
  readonly needed: Map<TypeUrl, NeededNames>;
}

const askings = new WeakMap<StreamView, Asking>();

/** To gather what is needed costs as much as to look through the forms for so many names. */
const maxLooks = 4;

/** Whether something that the client uses needs the name; undefined when it is not known of all that it uses. */
function isNeeded(view: StreamView, type: TypeUrl, name: string): boolean | undefined {
  let asking = askings.get(view);
  if (asking?.round !== view.round) {
    asking = { round: view.round, counts: new Map(), needed: new Map() };
    askings.set(view, asking);
  }
  const count = (asking.counts.get(type) ?? 0) + 1;
  asking.counts.set(type, count);
  if (count <= maxLooks) return lookFor(view, type, name);
  const { names, unknown } = getOrMake(asking.needed, type, () => gatherNeeded(view, type));
  if (names.has(name)) return true;
  return unknown ? undefined : false;
}

function* formsInUse(view: StreamView, type: TypeUrl): Generator<Form> {
  for (const dependent of dependents.get(type) ?? []) {
    const state = view.state(dependent);
    if (state !== undefined) yield* state.inUse();
  }
}

function lookFor(view: StreamView, type: TypeUrl, name: string): boolean | undefined {
  let unknown = false;
  for (const form of formsInUse(view, type)) {
    const needs = formNeeds(form, type, name);
    if (needs === true) return true;
    if (needs === undefined) unknown = true;
  }
  return unknown ? undefined : false;
}

function gatherNeeded(view: StreamView, type: TypeUrl): NeededNames {
  const needed: NeededNames = { names: new Set(), unknown: false };
  for (const { needs } of formsInUse(view, type)) {
    if (needs === undefined) needed.unknown = true;
    else for (const need of needs) if (need.type === type) needed.names.add(need.name);
  }
  return needed;
}

/** Sets of what long forms need, made when first asked; forms are immutable and shared by all streams. */
const needSets = new WeakMap<Form, ReadonlySet<string>>();
const scanLimit = 8;

/** Whether a form needs the name; undefined when its needs are not known. */
export function formNeeds(form: Form, type: TypeUrl, name: string): boolean | undefined {
  const { needs } = form;
  if (needs === undefined) return undefined;
  if (needs.length <= scanLimit) return needs.some((need) => need.name === name && need.type === type);
  if (isComposite(form)) return hasNeed(needs, type, name);
  let set = needSets.get(form);
  if (set === undefined) {
    set = new Set(needs.map((need) => needKey(need.type, need.name)));
    needSets.set(form, set);
  }
  return set.has(needKey(type, name));
}

/** In needs that are in order. */
function hasNeed(needs: readonly Need[], type: TypeUrl, name: string): boolean {
  for (let at = placeIn(needs, name, nameOf); needs[at]?.name === name; at += 1) {
    if (needs[at]?.type === type) return true;
  }
  return false;
}

const nameOf = ({ name }: Need): string => name;

/**
 * What a listener's clients lose the use of when `before` is replaced by `after` (undefined: removed), with what the
 * route tables among it need in turn.
 */
export function lostNeeds(view: StreamView, before: Form, after: Form | undefined): ReadonlySet<string> {
  const lost = new Set<string>();
  for (const need of before.needs ?? []) {
    if (after !== undefined && formNeeds(after, need.type, need.name) !== false) continue;
    lost.add(needKey(need.type, need.name));
    if (need.type !== typeUrls.route) continue;
    const routes = view.state(typeUrls.route)?.expected(need.name);
    for (const inner of routes?.needs ?? []) lost.add(needKey(inner.type, inner.name));
  }
  return lost;
}
