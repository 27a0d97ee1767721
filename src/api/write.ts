import { FairwayError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import {
  type DraftObject,
  decodeStoredWithExtras,
  encodeStored,
  type FairwayObject,
  historyKey,
  type Kind,
  kindInfo,
  type ObjectKey,
  objectKey,
  parseObjectKey,
  sameSpec,
  specKey,
} from '../model/index.ts';
import { type Entry, storeLimits, type Transaction } from '../store/store.ts';
import { checkPrecondition, type Precondition } from './precondition.ts';
import { nameOf } from './present.ts';

/**
 * The pure part of a write: from what is asked and what is stored to what is stored next. Reading, checks that need
 * the View and the commit itself are the writer's (writer.ts).
 */

/** What is asked of one object. */
export type Intent = PutIntent | DeleteIntent;

export interface PutIntent {
  readonly action: 'put';
  readonly key: ObjectKey;
  readonly precondition: Precondition;
  /** The object as it shall be; `current` is what a patch is applied to. Called anew after each lost race. */
  draft(current: FairwayObject | undefined): Result<DraftObject, FairwayError>;
}

export interface DeleteIntent {
  readonly action: 'delete';
  readonly key: ObjectKey;
  readonly precondition: Precondition;
  /** That it is gone already is as good. */
  readonly orGone?: boolean;
}

/** What the store holds under the key of an object. */
export interface Held {
  /** Undefined: there is no such object. */
  readonly entry: Entry | undefined;
  readonly object: FairwayObject | undefined;
  /** Generations kept as history. */
  readonly history: readonly number[];
}

export function heldOf(entry: Entry | undefined): Held {
  if (entry === undefined) return { entry, object: undefined, history: [] };
  const { object, extras } = decodeStoredWithExtras(entry);
  return { entry, object, history: extras.history };
}

export type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted';

/** What becomes of one object. */
export interface Plan {
  readonly key: ObjectKey;
  readonly outcome: Outcome;
  /** Absent: it is created. */
  readonly before: FairwayObject | undefined;
  /** Absent: it is deleted. `revision` (and `createdRevision` of a new one) are empty until the commit gives them. */
  readonly after: FairwayObject | undefined;
  readonly held: Held;
  /** Whether the former spec goes to history. */
  readonly archives: boolean;
}

export interface PlanContext {
  readonly now: number;
  readonly newId: () => string;
}

/** Decides what an intent does to what is held. */
export function planIntent(intent: Intent, held: Held, context: PlanContext): Result<Plan, FairwayError> {
  const { key } = intent;
  const before = held.object;
  if (before === undefined && intent.action === 'delete') {
    if (intent.orGone !== true) return err(missing(key, 'deleting'));
    return ok({ key, outcome: 'unchanged', before, after: undefined, held, archives: false });
  }
  const precondition = checkPrecondition(intent.precondition, key, before);
  if (!precondition.ok) return precondition;
  const { kind } = parseObjectKey(key);
  if (kind !== 'Node' && before?.metadata.source !== undefined) {
    return err(
      new FairwayError('ReadOnly', `writing ${nameOf(key)}: ${before.metadata.source} keeps it; change it there`, {
        extra: { source: before.metadata.source },
      }),
    );
  }
  if (intent.action === 'delete') {
    return ok({ key, outcome: 'deleted', before, after: undefined, held, archives: false });
  }
  if (kind === 'Node' && before === undefined) {
    return err(
      new FairwayError(
        'NotFound',
        `writing ${nameOf(key)}: a Node registers itself when its proxy connects, there is none yet`,
      ),
    );
  }
  const draft = intent.draft(before);
  return draft.ok ? ok(planPut(key, draft.value, held, context)) : draft;
}

function planPut(key: ObjectKey, draft: DraftObject, held: Held, { now, newId }: PlanContext): Plan {
  const before = held.object;
  if (before === undefined) {
    const metadata = {
      ...draft.metadata,
      uid: newId(),
      generation: 1,
      revision: '',
      createdRevision: '',
      createdAt: new Date(now).toISOString(),
    };
    return { key, outcome: 'created', before, after: { ...draft, metadata } as FairwayObject, held, archives: false };
  }
  const isSameSpec = sameSpec(before.spec, draft.spec);
  const { labels, annotations } = draft.metadata;
  if (isSameSpec && sameSpec(before.metadata.labels, labels) && sameSpec(before.metadata.annotations, annotations)) {
    return { key, outcome: 'unchanged', before, after: before, held, archives: false };
  }
  const metadata = {
    ...before.metadata,
    labels,
    annotations,
    generation: before.metadata.generation + (isSameSpec ? 0 : 1),
    revision: '',
  };
  // A spec that says the same is kept as it was written first, so that generation and text go together.
  const spec = isSameSpec ? before.spec : draft.spec;
  const after = { ...draft, metadata, spec } as FairwayObject;
  return { key, outcome: 'updated', before, after, held, archives: !isSameSpec };
}

export function missing(key: ObjectKey, doing: string): FairwayError {
  return new FairwayError('NotFound', `${doing} ${nameOf(key)}: there is no such object`);
}

/** The object with the revisions that its commit gave it. */
export function atRevision(object: FairwayObject, revision: number): FairwayObject {
  const { metadata } = object;
  if (metadata.revision !== '') return object;
  const createdRevision = metadata.createdRevision === '' ? String(revision) : metadata.createdRevision;
  return { ...object, metadata: { ...metadata, revision: String(revision), createdRevision } } as FairwayObject;
}

/** The record of the commit for the audit. */
const auditOperations = 1;

export interface Assembly {
  /** Undefined when nothing changes: then nothing is committed at all. */
  readonly transaction: Transaction | undefined;
  /** History of deleted objects for which the commit has no room; to be deleted after it. */
  readonly leftovers: readonly string[];
}

export interface AssemblyContext {
  readonly id: string;
  readonly keepGenerations: number;
  /** Further entries that the commit must find as they are. */
  readonly witnesses?: Transaction['checks'];
  /** The generation whose history a pin needs. */
  pinnedGeneration(key: ObjectKey): number | undefined;
}

/**
 * One commit for all plans: objects, the former specs as history, and what history is too old. Deletions of history
 * take the room that the store's limit of operations leaves; what of a live object stays is noted in it and goes with
 * its next change.
 */
export function assemble(plans: readonly Plan[], context: AssemblyContext): Assembly {
  const changes = plans.filter((plan) => plan.outcome !== 'unchanged');
  if (changes.length === 0) return { transaction: undefined, leftovers: [] };
  let room = storeLimits.operations - auditOperations - changes.length - changes.filter((plan) => plan.archives).length;
  const puts: { key: string; value: string }[] = [];
  const deletes: string[] = [];
  const leftovers: string[] = [];
  for (const plan of changes) {
    const { entry } = plan.held;
    const trimmed = superseded(plan, context);
    const now = new Set(trimmed.slice(0, Math.max(0, room)));
    room -= now.size;
    deletes.push(...[...now].map((generation) => historyKey(plan.key, generation)));
    if (plan.after === undefined) {
      deletes.push(specKey(plan.key));
      leftovers.push(...trimmed.slice(now.size).map((generation) => historyKey(plan.key, generation)));
      continue;
    }
    const history = generations(plan).filter((generation) => !now.has(generation));
    puts.push({ key: specKey(plan.key), value: encodeStored(plan.after, { history }) });
    if (plan.archives && plan.before !== undefined && entry !== undefined) {
      puts.push({ key: historyKey(plan.key, plan.before.metadata.generation), value: entry.value });
    }
  }
  const checks = changes.map(({ key, held }) => ({ key: specKey(key), modRevision: held.entry?.modRevision ?? 0 }));
  return {
    transaction: {
      id: context.id,
      checks: [...checks, ...scopeChecks(plans), ...(context.witnesses ?? [])],
      puts,
      deletes,
    },
    leftovers,
  };
}

/** Generations with history after the write, if none were taken away. */
function generations({ held, before, archives }: Plan): readonly number[] {
  return archives && before !== undefined ? [...held.history, before.metadata.generation] : held.history;
}

/** Generations whose history is no longer wanted, oldest first. */
function superseded(plan: Plan, { keepGenerations, pinnedGeneration }: AssemblyContext): readonly number[] {
  const all = generations(plan);
  if (plan.after === undefined) return all;
  const pinned = pinnedGeneration(plan.key);
  return all.slice(0, Math.max(0, all.length - keepGenerations)).filter((generation) => generation !== pinned);
}

/** The scope of a new object must exist when it is committed, unless the same commit makes it. */
function scopeChecks(plans: readonly Plan[]): Transaction['checks'] {
  return scopesNeeded(plans).map((scope) => ({
    key: specKey(objectKey('Scope', undefined, scope)),
    modRevision: 'exists',
  }));
}

/** Scopes that the commit of the plans relies on, each once. */
export function scopesNeeded(plans: readonly Plan[]): readonly string[] {
  const made = new Set(plans.filter(({ after }) => after?.kind === 'Scope').map(({ after }) => after?.metadata.name));
  const scopes = plans
    .filter(({ outcome }) => outcome === 'created')
    .map(({ after }) => after?.metadata.scope)
    .filter((scope) => scope !== undefined && !made.has(scope));
  return [...new Set(scopes)] as string[];
}

/** Stored bytes of an object, as the limits count them. */
export function sizeOf(object: FairwayObject): number {
  return Buffer.byteLength(encodeStored(object));
}

/** Whether a kind's objects live in scopes. */
export function isScoped(kind: Kind): boolean {
  return !kindInfo(kind).global;
}
