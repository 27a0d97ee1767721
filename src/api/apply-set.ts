import { FairwayError, type FieldError } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { type FairwayObject, kindNames, type ObjectKey, parseObjectKey } from '../model/index.ts';
import type { Authority } from './auth/authority.ts';
import { completing, invalidObject, parseDraft } from './draft.ts';
import type { LabelSelector } from './label-selector.ts';
import type { View } from './ports.ts';
import { keyOf, nameOf } from './present.ts';
import type { SetItem } from './set.ts';
import type { Intent } from './write.ts';
import type { Refusals } from './writer.ts';

/** What is asked of one object of a set, or why that cannot be said. */
export interface SetEntry {
  /** Where it stands in the body; undefined for what is pruned. */
  readonly pointer: string | undefined;
  /** Undefined when the object is not valid. */
  readonly key: ObjectKey | undefined;
  readonly ask: Intent | FairwayError;
}

/** Objects checked in one turn of the event loop. */
const objectsPerTurn = 50;

/** More faults than this help nobody. */
const maxErrors = 100;

export async function readEntries(items: readonly SetItem[], now: number): Promise<SetEntry[]> {
  const first = new Map<ObjectKey, string>();
  const entries: SetEntry[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % objectsPerTurn === 0) await nextTurn();
    entries.push(withoutTwin(readEntry(item, now), first));
  }
  return entries;
}

function readEntry({ pointer, value }: SetItem, now: number): SetEntry {
  const draft = parseDraft(value, {});
  if (!draft.ok) return { pointer, key: undefined, ask: draft.error };
  const key = keyOf(draft.value);
  return {
    pointer,
    key,
    ask: { action: 'put', key, precondition: { kind: 'none' }, draft: completing(draft.value, now) },
  };
}

/** Of two forms of one object nobody could say which is meant. */
function withoutTwin(entry: SetEntry, first: Map<ObjectKey, string>): SetEntry {
  if (entry.key === undefined) return entry;
  const before = first.get(entry.key);
  if (before !== undefined) {
    const message = `is the name of ${before} too: ${nameOf(entry.key)} stands there twice`;
    return { ...entry, ask: invalidObject([{ pointer: '/metadata/name', message }]) };
  }
  first.set(entry.key, entry.pointer ?? '');
  return entry;
}

/**
 * Deletions of what the selector matches and the set does not have. Who refers comes before who is referred to. Nodes
 * register themselves, what another source keeps is not the operators' to prune, and what whoever asks may not see is
 * not meant.
 */
export function prunedEntries(
  entries: readonly SetEntry[],
  selects: LabelSelector,
  view: View,
  authority: Authority,
): readonly SetEntry[] {
  const kept = new Set(entries.map(({ key }) => key));
  const isPruned = (object: FairwayObject) =>
    authority.sees(object.kind, object.metadata.scope) &&
    object.metadata.source === undefined &&
    selects(object.metadata.labels) &&
    !kept.has(keyOf(object));
  return kindNames
    .toReversed()
    .filter((kind) => kind !== 'Node')
    .flatMap((kind) => [...view.list(kind)].filter(isPruned).map(keyOf).sort())
    .map((key) => ({
      pointer: undefined,
      key,
      ask: { action: 'delete', key, precondition: { kind: 'none' }, orGone: true },
    }));
}

/** The refusals of a set as one error: all faults of objects together, or else the first refusal of another code. */
export function combineRefusals(refusals: Refusals, entries: readonly SetEntry[]): FairwayError {
  const errors: FieldError[] = [];
  for (const [i, refusal] of refusals) {
    if (refusal.code !== 'InvalidObject') return refusal;
    errors.push(...faultsInSet(refusal, entries[i]));
  }
  return invalidObject(errors.slice(0, maxErrors), 'reading the set');
}

/** The faults of one object, with pointers into the whole body. */
function faultsInSet(refusal: FairwayError, entry: SetEntry | undefined): readonly FieldError[] {
  const name = entry?.key === undefined ? '' : `${nameOf(entry.key)}: `;
  return refusal.errors.map(({ pointer, message }) => ({
    pointer: (entry?.pointer ?? '') + pointer,
    message: `${name}${message}`,
  }));
}

/** A missing scope, which only the commit finds, as a fault of the objects that name it. */
export function missingScopeInSet(error: unknown, entries: readonly SetEntry[]): unknown {
  if (!(error instanceof FairwayError) || typeof error.extra['missing'] !== 'string') return error;
  const { name: scope } = parseObjectKey(error.extra['missing']);
  const faults = entries
    .filter(({ key, pointer }) => pointer !== undefined && key !== undefined && parseObjectKey(key).scope === scope)
    .map(({ pointer }) => ({ pointer: `${pointer}/metadata/scope`, message: `there is no scope ${scope}` }));
  return new FairwayError('InvalidObject', error.message, { errors: faults, extra: error.extra });
}
