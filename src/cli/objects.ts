import { nearest } from '../lib/nearest.ts';
import { type Kind, namesOfKinds } from '../model/kind.ts';
import { type Client, kindPath, objectPath, ProblemError } from './client.ts';
import { didYouMean } from './failure.ts';
import type { WireObject } from './wire.ts';

/** Reads of objects over the REST API. */

export interface Selection {
  /** Undefined: every scope. Ignored for global kinds. */
  readonly scope: string | undefined;
  readonly labelSelector?: string | undefined;
}

export interface List {
  readonly items: readonly WireObject[];
  /** What the list is true at; a watch goes on after it. */
  readonly revision: string;
}

/** Objects of a page. */
const pageLimit = 500;

/** One object; when there is none, the failure says what was probably meant. */
export async function getObject(client: Client, kind: Kind, scope: string, name: string): Promise<WireObject> {
  try {
    return await requestObject(client, kind, scope, name);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new ProblemError(error.message, error.exitCode, error.problem, await nearMiss(client, kind, scope, name));
  }
}

/** As `getObject`; undefined when there is no such object. */
export async function findObject(
  client: Client,
  kind: Kind,
  scope: string,
  name: string,
): Promise<WireObject | undefined> {
  try {
    return await requestObject(client, kind, scope, name);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function requestObject(client: Client, kind: Kind, scope: string, name: string): Promise<WireObject> {
  return (await client.request('GET', objectPath(kind, scope, name))) as WireObject;
}

export function isMissing(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.problem.code === 'NotFound';
}

/** The same name in another scope, or one like it in this; looked for among the first objects of the kind. */
async function nearMiss(client: Client, kind: Kind, scope: string, name: string): Promise<string | undefined> {
  const { items } = await requestPage(client, kind, { scope: undefined }, undefined);
  const elsewhere = items.find(({ metadata }) => metadata.name === name && metadata.scope !== undefined);
  if (elsewhere !== undefined) return `There is one in scope ${elsewhere.metadata.scope}.`;
  const here = items.filter(({ metadata }) => metadata.scope === undefined || metadata.scope === scope);
  return didYouMean(
    nearest(
      name,
      here.map(({ metadata }) => metadata.name),
    ),
  );
}

/** All objects of a kind that are selected, page by page. */
export async function listObjects(client: Client, kind: Kind, selection: Selection): Promise<List> {
  const items: WireObject[] = [];
  let next: string | undefined;
  for (;;) {
    const page = await requestPage(client, kind, selection, next);
    items.push(...page.items);
    next = page.metadata.continue;
    if (next === undefined) return { items, revision: page.metadata.revision };
  }
}

interface Page {
  readonly items: readonly WireObject[];
  readonly metadata: { readonly revision: string; readonly continue?: string };
}

async function requestPage(client: Client, kind: Kind, selection: Selection, next: string | undefined): Promise<Page> {
  const query = { ...selectionQuery(kind, selection), limit: pageLimit, continue: next };
  return (await client.request('GET', kindPath(kind), { query })) as Page;
}

export interface WatchEvent {
  /** `bookmark`: nothing but the revision up to which all has been told. */
  readonly type: 'put' | 'delete' | 'bookmark';
  readonly object: WireObject;
}

/** Changes of the selected objects after a revision, until the server ends the answer. */
export async function* watchObjects(
  client: Client,
  kind: Kind,
  selection: Selection,
  after: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const query = { ...selectionQuery(kind, selection), watch: true, after };
  for await (const event of client.stream(kindPath(kind), { query, signal })) yield event as WatchEvent;
}

function selectionQuery(kind: Kind, { scope, labelSelector }: Selection) {
  return { scope: namesOfKinds[kind].global ? undefined : scope, labelSelector };
}
