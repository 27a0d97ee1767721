import type { Condition } from '../model/index.ts';
import type { Transition } from './records.ts';

/** A condition without the times that are added when it is told. */
export interface ConditionDraft {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Longest message of a condition: an object's conditions together stay well below 16 KiB. */
const maxMessage = 2048;

/**
 * Adds generation and times. `lastTransitionTime` is that of the stored transition while the status is the same;
 * a status that nobody has recorded yet changed just now.
 */
export function stamp(
  drafts: readonly ConditionDraft[],
  generation: number,
  transitions: readonly Transition[],
  now: string,
): Condition[] {
  return drafts.map((draft) => {
    const known = transitions.find(({ type }) => type === draft.type);
    return {
      ...draft,
      message: draft.message.length > maxMessage ? `${draft.message.slice(0, maxMessage - 1)}…` : draft.message,
      observedGeneration: generation,
      lastTransitionTime: known?.status === draft.status ? known.since : now,
    };
  });
}

/** The transitions to store for these conditions, or undefined when what is stored says the same. */
export function transitionsOf(
  drafts: readonly ConditionDraft[],
  stored: readonly Transition[],
  now: string,
): readonly Transition[] | undefined {
  const next = drafts.map(({ type, status, reason }) => {
    const known = stored.find((transition) => transition.type === type);
    return { type, status, reason, since: known?.status === status ? known.since : now };
  });
  const same =
    next.length === stored.length &&
    next.every(
      (one, at) =>
        stored[at]?.status === one.status && stored[at]?.reason === one.reason && stored[at]?.type === one.type,
    );
  return same ? undefined : next;
}
