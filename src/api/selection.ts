import { type FairwayObject, type Kind, kindInfo } from '../model/index.ts';
import { parseFieldSelector } from './field-selector.ts';
import { parseLabelSelector } from './label-selector.ts';
import type { Status } from './ports.ts';
import { invalidParameter, text } from './query.ts';

/** Parameters by which lists and watches select objects. */
export const selectionParameters = {
  scope: text('Only objects of this scope. For kinds that have one.'),
  labelSelector: text('Only objects whose labels match: `team=web,env in (prod, stage),!legacy`.'),
  fieldSelector: text(
    'Only objects whose fields match: `metadata.name=shop,spec.fleet=edge,status.conditions.Programmed=False`.',
  ),
} as const;

export interface Selection {
  /** `status` is asked only where it counts, since it is computed. */
  matches(object: FairwayObject, status: () => Status): boolean;
  /** Whether status counts, so that an object may come and go without having changed. */
  readonly usesStatus: boolean;
}

export interface SelectionTexts {
  readonly scope?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Of one object: its key parts are given by the path. */
  readonly name?: string | undefined;
}

/** Throws `InvalidParameter`. */
export function parseSelection(texts: SelectionTexts, kind: Kind): Selection {
  const { scope, name, labelSelector, fieldSelector } = texts;
  if (scope !== undefined && kindInfo(kind).global)
    throw invalidParameter('scope', `does not go with a ${kind}, which has none`);
  const labels = labelSelector === undefined ? undefined : parseLabelSelector(labelSelector, 'labelSelector');
  const fields = fieldSelector === undefined ? undefined : parseFieldSelector(fieldSelector, kind);
  return {
    usesStatus: fields?.usesStatus ?? false,
    matches: (object, status) =>
      (scope === undefined || object.metadata.scope === scope) &&
      (name === undefined || object.metadata.name === name) &&
      (labels === undefined || labels(object.metadata.labels)) &&
      (fields === undefined || fields.matches(object, status)),
  };
}

/** Identifies what is selected, for tokens of pages. */
export function selectionText(
  kind: Kind,
  { scope = '', labelSelector = '', fieldSelector = '' }: SelectionTexts,
): string {
  return JSON.stringify([kind, scope, labelSelector, fieldSelector]);
}
