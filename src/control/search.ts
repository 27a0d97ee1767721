/**
 * The search for the objects at fault when proxies refuse a resource that was made of many. A machine without I/O, one
 * step at a time; its state is the {@link SearchRecord} in the store, so that a restart goes on where it stopped, and
 * its input is what this controller's View says.
 *
 *                         refused, several                   accepted
 *   (changed objects) ─────────────────────▶ hot ──half────▶ trial ──────▶ innocent, forgotten
 *                  │                          ▲ │              │
 *                  │              refused     │ └──the other half waits
 *                  │         ┌────────────────┴────────────────┤
 *                  │         ▼                                 │ refused, alone
 *                  │        cold ──when nothing is hot, all──▶ trial
 *                  └─────────────────refused, alone──────────▶ guilty ──edited and accepted──▶ forgotten
 *
 * Hot, cold and guilty objects are served in their good generation, which is the form that was accepted last: between
 * two trials nothing is lost, and what else changes meanwhile is served. The next trial begins only when that form is
 * accepted. One culprit among n costs about log2 n + 3 forms that are sent, and d of them d times as much.
 */
import type { ObjectKey } from '../model/index.ts';
import { type Culprit, mergeEvidence, type Rejection, type SearchRecord, type Suspect } from '../status/index.ts';

export interface SearchInput {
  /** Undefined: nothing was decided yet. */
  readonly record: SearchRecord | undefined;
  /** Revision of the store that wrote the record; 0 without one. What proxies said of older forms says nothing of it. */
  readonly since: number;
  readonly rejection: Rejection | undefined;
  /** Hash of the resource as it is made now; undefined when there is none. */
  readonly hash: string | undefined;
  /** The object as it stands. */
  readonly standing: (unit: ObjectKey) => Standing | undefined;
  /** Whether the resource is made for this object, so that without it there is none. */
  readonly isFrame: (unit: ObjectKey) => boolean;
  /** Whether the object is held back for another resource, so that a trial of this one would not try it. */
  readonly isHeldElsewhere: (unit: ObjectKey) => boolean;
}

export interface Standing {
  readonly uid: string;
  readonly generation: number;
  /** Revision of the store at which it was last changed. */
  readonly revision: number;
}

export interface SearchStep {
  /** The same object as in the input when there is nothing new to decide; undefined when nothing is held back. */
  readonly record: SearchRecord | undefined;
  /** Nothing is left of the refusal. */
  readonly over: boolean;
}

export function advance(input: SearchInput): SearchStep {
  const { rejection, since, hash } = input;
  const record = dropDeleted(input);
  const isDone = record === undefined || isEmpty(record);
  if (rejection === undefined) return { record: isDone ? undefined : record, over: false };
  // Until then an empty record stays: without it, the refusal would be taken for one that nobody has looked at.
  const over = { record: undefined, over: true };
  // Where nothing is made without what is held back, there is nothing to be accepted before the next trial.
  if (isAccepted(rejection, since, hash) || (hash === undefined && !isDone)) {
    const next = settle({ ...input, record });
    return next === undefined ? over : { record: next, over: false };
  }
  if (isDone && hash === undefined) return over;
  const suspects = suspectsNow(rejection, input, record);
  return { record: suspects.length > 0 ? blame({ ...input, record }, rejection, suspects) : record, over: false };
}

/** The objects to lay a refusal at, of what was served since the record was written. */
function suspectsNow(
  { revision, hash: refused, acquitted, suspects, isBaseKnown }: Rejection,
  { since, hash, standing }: SearchInput,
  record: SearchRecord | undefined,
): readonly Suspect[] {
  if (acquitted) return [];
  const tried = new Set(record?.trial.map(({ unit }) => unit));
  if (revision >= since) {
    if (isBaseKnown || tried.size === 0) return suspects;
    // What was served before the trial was accepted: what changed since is what is on trial, and what was edited.
    return suspects.filter(({ unit }) => tried.has(unit) || (standing(unit)?.revision ?? 0) > since);
  }
  // The trial led back to what was refused before: nobody is asked again, and of its suspects some are innocent by now.
  return refused === hash ? suspects.filter(({ unit }) => tried.has(unit)) : [];
}

/** Whether what is served now, or was since the record was written, is known to be good. */
function isAccepted({ accepted, ...refused }: Rejection, since: number, hash: string | undefined): boolean {
  if (accepted === null) return false;
  if (accepted.hash === hash) return accepted.hash !== refused.hash || refused.acquitted;
  return accepted.revision >= since && accepted.revision > refused.revision;
}

/** What is on trial is innocent, and what was edited is accepted as it is now. Begins the next trial. */
function settle(input: SearchInput): SearchRecord | undefined {
  const { record } = input;
  if (record === undefined || isEmpty(record)) return undefined;
  const stands = (suspect: Suspect): boolean => isStanding(input, suspect);
  const guilty = keep(record.guilty, stands);
  const hot = keep(record.hot, stands);
  const cold = keep(record.cold, stands);
  const trial = nextTrial(input, hot, cold);
  if (
    trial.length === 0 &&
    record.trial.length === 0 &&
    guilty === record.guilty &&
    hot === record.hot &&
    cold === record.cold
  ) {
    const isSearching = hot.length + cold.length > 0;
    return isSearching || record.evidence === null ? record : { ...record, evidence: null };
  }
  const tried = new Set(trial);
  const waiting = (suspect: Suspect): boolean => !tried.has(suspect);
  const next: SearchRecord = {
    ...record,
    guilty,
    trial,
    hot: keep(hot, waiting),
    cold: keep(cold, waiting),
    evidence: hot.length + cold.length > 0 ? record.evidence : null,
  };
  return isEmpty(next) ? undefined : next;
}

/**
 * Half of what is hot; all that is cold when nothing is hot, since one culprit is more likely than two. First those
 * without which there is no resource, and so no answer about the others.
 */
function nextTrial(input: SearchInput, hot: readonly Suspect[], cold: readonly Suspect[]): readonly Suspect[] {
  const free = ({ unit }: Suspect): boolean => !input.isHeldElsewhere(unit);
  const hotFree = hot.filter(free);
  const candidates = hotFree.length > 0 ? hotFree : cold.filter(free);
  const frames = candidates.filter(({ unit, good }) => good === null && input.isFrame(unit));
  if (frames.length > 0 && frames.length < candidates.length) return frames;
  return hotFree.length > 0 ? hotFree.slice(0, Math.ceil(hotFree.length / 2)) : candidates;
}

/** Lays a refusal at the objects that changed since the form accepted last: all of them are held back. */
function blame(input: SearchInput, rejection: Rejection, suspects: readonly Suspect[]): SearchRecord | undefined {
  const record = input.record ?? noRecord(rejection);
  const known = new Map(allOf(record).map((suspect) => [suspect.unit, suspect]));
  const isGuess = !rejection.isBaseKnown && record.trial.length === 0 && suspects.length > 1;
  const blamed = isGuess
    ? [...record.hot, ...newest(input, suspects, known, Math.max(1, record.hot.length))]
    : suspects
        // The same generation was good before: something that it names is to blame, and no older spec would help.
        .filter((suspect) => isStanding(input, suspect) && suspect.good !== suspect.refused)
        .map((suspect) => withKnownGood(suspect, known.get(suspect.unit)));
  const lowered = lowerGood(record, suspects);
  if (blamed.length === 0) return lowered === record ? input.record : lowered;
  const isSearching = record.evidence !== null;
  const evidence = mergeEvidence(isSearching ? record.evidence : null, rejection);
  const units = new Set(blamed.map(({ unit }) => unit));
  const others = ({ unit }: Suspect): boolean => !units.has(unit);
  const guilty = lowered.guilty.filter(others);
  const cold = [...lowered.cold, ...lowered.hot].filter(others);
  const [only] = blamed;
  const alone =
    !isGuess &&
    blamed.length === 1 &&
    (suspects.length === 1 || (record.trial.length === 1 && !others(record.trial[0] as Suspect)));
  const culprits: readonly Culprit[] = alone && only !== undefined ? [{ ...only, evidence }] : [];
  const hot = culprits.length > 0 ? [] : blamed;
  const next: SearchRecord = {
    ...lowered,
    guilty: [...guilty, ...culprits],
    trial: [],
    hot,
    cold,
    evidence: hot.length + cold.length > 0 ? evidence : null,
  };
  return input.record !== undefined && holdsTheSame(input.record, next) ? input.record : next;
}

function holdsTheSame(a: SearchRecord, b: SearchRecord): boolean {
  return (['guilty', 'trial', 'hot', 'cold'] as const).every((verdict) => {
    const listed = new Map(a[verdict].map((suspect) => [suspect.unit, suspect]));
    return (
      a[verdict].length === b[verdict].length &&
      b[verdict].every(({ unit, uid, refused, good }) => {
        const one = listed.get(unit);
        return one?.uid === uid && one.refused === refused && one.good === good;
      })
    );
  });
}

/**
 * Where it is not known what was accepted last (proxies had it from an earlier run of the server), it is not all held
 * back, but what was changed last, and twice as much each time until the rest is accepted: most of it was good for long.
 */
function newest(
  input: SearchInput,
  suspects: readonly Suspect[],
  known: ReadonlyMap<ObjectKey, Suspect>,
  count: number,
): readonly Suspect[] {
  const age = ({ unit }: Suspect): number => input.standing(unit)?.revision ?? 0;
  const candidates = suspects
    .filter((suspect) => isStanding(input, suspect) && !input.isHeldElsewhere(suspect.unit))
    .map((suspect) => {
      const before = suspect.refused > 1 ? suspect.refused - 1 : null;
      return withKnownGood({ ...suspect, good: suspect.good ?? before }, known.get(suspect.unit));
    })
    .filter(({ unit, good }) => good !== null || !input.isFrame(unit))
    .sort((a, b) => age(b) - age(a) || (a.unit < b.unit ? -1 : 1))
    .slice(0, count);
  // What has an older form loses less than what has none, so the first steps end before the latter.
  const end = candidates.findIndex(({ good }, at) => at > 0 && good === null && candidates[at - 1]?.good !== null);
  return count > carefulUpTo || end < 0 ? candidates : candidates.slice(0, end);
}

const carefulUpTo = 8;

function noRecord({ type, name }: Rejection): SearchRecord {
  return { type, name, guilty: [], trial: [], hot: [], cold: [], evidence: null };
}

/** After a restart nobody knows what was accepted before; the record does. */
function withKnownGood(suspect: Suspect, known: Suspect | undefined): Suspect {
  if (suspect.good !== null || known?.uid !== suspect.uid || known.good === suspect.refused) return suspect;
  return { ...suspect, good: known.good };
}

/** Takes a good generation for what it is when proxies of another version refuse that one, too. */
function lowerGood(record: SearchRecord, suspects: readonly Suspect[]): SearchRecord {
  const worse = new Map(suspects.map((suspect) => [suspect.unit, suspect]));
  let changed = false;
  const lower = <T extends Suspect>(one: T): T => {
    const found = worse.get(one.unit);
    if (found?.uid !== one.uid || found.refused !== one.good || found.good === one.good) return one;
    changed = true;
    return { ...one, good: found.good };
  };
  const next = {
    ...record,
    guilty: record.guilty.map(lower),
    hot: record.hot.map(lower),
    cold: record.cold.map(lower),
  };
  return changed ? next : record;
}

/** Objects that are gone, or were made anew, are of no concern any more. */
function dropDeleted({ record, standing }: SearchInput): SearchRecord | undefined {
  if (record === undefined) return undefined;
  const there = ({ unit, uid }: Suspect): boolean => standing(unit)?.uid === uid;
  const guilty = keep(record.guilty, there);
  const trial = keep(record.trial, there);
  const hot = keep(record.hot, there);
  const cold = keep(record.cold, there);
  const same = guilty === record.guilty && trial === record.trial && hot === record.hot && cold === record.cold;
  return same ? record : { ...record, guilty, trial, hot, cold };
}

/** The object as it is now is the one that was refused. */
function isStanding({ standing }: SearchInput, { unit, uid, refused }: Suspect): boolean {
  const object = standing(unit);
  return object?.uid === uid && object.generation === refused;
}

function isEmpty(record: SearchRecord): boolean {
  return allOf(record).length === 0;
}

function allOf({ guilty, trial, hot, cold }: SearchRecord): readonly Suspect[] {
  return [...guilty, ...trial, ...hot, ...cold];
}

/** The list without what does not pass; the list itself when all of it does. */
function keep<T>(list: readonly T[], passes: (one: T) => boolean): readonly T[] {
  return list.every(passes) ? list : list.filter(passes);
}
