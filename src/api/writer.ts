import type { FastifyBaseLogger } from 'fastify';
import { type AuditSource, auditPut, auditRecord } from '../audit/index.ts';
import type { Clock } from '../lib/clock.ts';
import { FairwayError } from '../lib/errors.ts';
import { err, type Result } from '../lib/result.ts';
import { type ObjectKey, objectKey, objectKeyIn, redact, specKey } from '../model/index.ts';
import { type CommitOutcome, type Store, storeLimits, type Transaction } from '../store/store.ts';
import type { Authority } from './auth/authority.ts';
import { keepAdmin, takesAdmin } from './auth/last-admin.ts';
import { intentRefusal, planRefusal } from './auth/write-rules.ts';
import type { Limits } from './limits.ts';
import { assertConfirmed, type MassRemoval, massRemovalOf, mayRemoveMuch } from './mass-removal.ts';
import type { Ports, PreviewResult, PreviewWrite } from './ports.ts';
import { nameOf } from './present.ts';
import { deletionRefusal, scopeMissing } from './references.ts';
import { assemble, atRevision, heldOf, type Intent, type Plan, planIntent, scopesNeeded, sizeOf } from './write.ts';

export interface WriteOptions {
  /** Of whoever asks for it. */
  readonly authority: Authority;
  /** Delete what others refer to. */
  readonly force?: boolean;
  /** The number of removals that the writer has seen and means. */
  readonly confirmRemovals?: number | undefined;
  /** The stop before mass removals has been made for a larger set that these intents are part of. */
  readonly isPreviewed?: boolean;
}

export interface WriteBy extends WriteOptions {
  /** Who asks, for the audit. */
  readonly source: AuditSource;
}

export interface Written {
  /** Of the commit; of the newest object concerned when there was nothing to commit. */
  readonly revision: number;
  /** In the order of the intents, with the revisions of the commit. */
  readonly plans: readonly Plan[];
}

export interface Rehearsed {
  /** Of the View that it was tried on. */
  readonly revision: number;
  readonly plans: readonly Plan[];
  readonly preview: PreviewResult;
  readonly massRemoval: MassRemoval | undefined;
}

/** The refusals of intents, by their place among them. */
export type Refusals = ReadonlyMap<number, FairwayError>;

/** Carries out writes: read, plan, check, commit, wait. One per API. */
export interface Writer {
  /**
   * Writes all intents in one commit, or none. Throws what refused the first of them, or what `refused` makes of all
   * refusals. Does not wait for the View: see `settled`.
   */
  write(intents: readonly Intent[], options: WriteBy, refused?: (refusals: Refusals) => FairwayError): Promise<Written>;
  /** What `write` would do; nothing is committed. */
  rehearse(
    intents: readonly Intent[],
    options: WriteOptions,
    refused?: (refusals: Refusals) => FairwayError,
  ): Promise<Rehearsed>;
  /** Resolves when the View knows all that is committed now. */
  upToDate(): Promise<void>;
  /** What of a fleet the intents would remove beyond the measure. Those that would be refused are left out. */
  removals(intents: readonly Intent[], authority: Authority): Promise<MassRemoval | undefined>;
  /** Resolves when this controller's View has reached the revision of a write, so that its writer reads it back. */
  settled(revision: number): Promise<void>;
}

export interface WriterOptions {
  readonly store: Store;
  readonly ports: Pick<Ports, 'view' | 'preview' | 'tokens'>;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly limits: Limits;
  readonly log?: FastifyBaseLogger | undefined;
}

export function createWriter({ store, ports, clock, newId, limits, log }: WriterOptions): Writer {
  const { view, preview } = ports;

  async function plan(
    intents: readonly Intent[],
    authority: Authority,
    refused: (refusals: Refusals) => FairwayError | undefined,
  ): Promise<Plan[]> {
    const refusals = new Map<number, FairwayError>();
    for (const [i, intent] of intents.entries()) {
      const refusal = intentRefusal(intent, authority);
      if (refusal !== undefined) refusals.set(i, refusal);
    }
    // What may not be written is not even read: its refusal must not tell what stands there.
    const held = await Promise.all(
      intents.map(async ({ key }, i) => heldOf(refusals.has(i) ? undefined : await store.get(specKey(key)))),
    );
    const context = { now: clock(), newId };
    const plans: Plan[] = [];
    for (const [i, intent] of intents.entries()) {
      if (refusals.has(i)) continue;
      const planned = checkPlan(planIntent(intent, held[i] ?? heldOf(undefined), context), authority);
      if (planned.ok) plans.push(planned.value);
      else refusals.set(i, planned.error);
    }
    const error = refusals.size > 0 ? refused(refusals) : undefined;
    if (error !== undefined) throw error;
    return plans;
  }

  async function upToDate(): Promise<void> {
    await view.reached(await store.head(), { timeoutMs: limits.waitMs });
  }

  /** Deletions look at the View for references and contents: it must know what is committed now. */
  async function checkDeletions(plans: readonly Plan[], force: boolean): Promise<void> {
    if (plans.every(({ outcome }) => outcome !== 'deleted')) return;
    await upToDate();
    const refusal = deletionRefusal(plans, view, force);
    if (refusal !== undefined) throw refusal;
  }

  /** What the commit must find unchanged, so that somebody is left who can do everything. */
  async function checkAdmins(plans: readonly Plan[]): Promise<Transaction['checks']> {
    if (!plans.some(takesAdmin)) return [];
    await upToDate();
    return keepAdmin(plans, { ...ports, now: clock() });
  }

  /** Whether whoever asks may write what it would become: for what only both forms together tell. */
  function checkPlan(planned: Result<Plan, FairwayError>, authority: Authority): Result<Plan, FairwayError> {
    const sized = checkSize(planned, limits);
    const refusal = sized.ok ? planRefusal(sized.value, authority) : undefined;
    return refusal === undefined ? sized : err(refusal);
  }

  function tryOut(plans: readonly Plan[]): Promise<PreviewResult> {
    return preview.preview(plans.filter(({ outcome }) => outcome !== 'unchanged').map(previewWrite));
  }

  function previewWrite({ key, after }: Plan): PreviewWrite {
    return { key, object: after === undefined ? undefined : atRevision(after, view.revision + 1) };
  }

  /** Labels and annotations remove nothing; a change of spec or a deletion may. */
  async function checkRemovals(plans: readonly Plan[], options: WriteOptions): Promise<void> {
    const changes = plans.filter(({ outcome, archives }) => archives || outcome === 'deleted' || outcome === 'created');
    const writes = changes.map(({ key, outcome }) => ({ key, isNew: outcome === 'created' }));
    if (options.isPreviewed === true || !mayRemoveMuch(writes)) return;
    assertConfirmed(massRemovalOf(await tryOut(plans)), options.confirmRemovals);
  }

  /** The write is committed by now: what cannot be swept is told, not answered. */
  async function sweep(leftovers: readonly string[]): Promise<void> {
    try {
      for (let start = 0; start < leftovers.length; start += storeLimits.operations) {
        const deletes = leftovers.slice(start, start + storeLimits.operations);
        await store.commit({ id: newId(), checks: [], puts: [], deletes });
      }
    } catch (error) {
      log?.warn({ event: 'history_left', keys: leftovers.length, err: error }, 'history of deleted objects stays');
    }
  }

  return {
    async write(intents, options, refused = firstRefusal) {
      for (let attempt = 1; ; attempt++) {
        const plans = await plan(intents, options.authority, refused);
        checkTotals(plans, limits);
        await checkDeletions(plans, options.force ?? false);
        const witnesses = await checkAdmins(plans);
        const { transaction, leftovers } = assemble(plans, {
          witnesses,
          id: newId(),
          keepGenerations: limits.historyGenerations,
          pinnedGeneration: (key) => view.pinnedGeneration(key),
        });
        if (transaction === undefined) return { revision: newest(plans), plans };
        await checkRemovals(plans, options);
        const changes = plans.filter(({ outcome }) => outcome !== 'unchanged');
        const record = auditRecord(options.source, clock(), changes);
        const puts = [...transaction.puts, auditPut(record, transaction.id)];
        const outcome = await store.commit({ ...transaction, puts });
        if (outcome.committed) {
          log?.info({ event: 'audit', ...record, revision: outcome.revision });
          await sweep(leftovers);
          return { revision: outcome.revision, plans: plans.map((one) => committed(one, outcome.revision)) };
        }
        assertScopes(outcome, plans);
        if (attempt >= limits.commitAttempts) throw contested(outcome, attempt);
      }
    },

    async rehearse(intents, options, refused = firstRefusal) {
      const plans = await plan(intents, options.authority, refused);
      await checkDeletions(plans, options.force ?? false);
      await checkAdmins(plans);
      const entries = await Promise.all(
        scopesNeeded(plans).map(async (scope) => ({ scope, entry: await store.get(specKey(scopeKey(scope))) })),
      );
      const missing = entries.find(({ entry }) => entry === undefined);
      if (missing !== undefined) throw scopeMissing(missing.scope);
      const { revision } = view;
      const result = await tryOut(plans);
      return { revision, plans, preview: result, massRemoval: massRemovalOf(result) };
    },

    async removals(intents, authority) {
      return massRemovalOf(await tryOut(await plan(intents, authority, () => undefined)));
    },

    upToDate,

    async settled(revision) {
      try {
        await view.reached(revision, { timeoutMs: limits.waitMs });
      } catch (cause) {
        if (!(cause instanceof FairwayError) || cause.code !== 'RevisionTimeout') throw cause;
        throw new FairwayError(
          'RevisionTimeout',
          `writing: it is committed as revision ${revision}, but this controller has not taken it up yet`,
          { cause, extra: { revision: String(revision) } },
        );
      }
    },
  };
}

function firstRefusal(refusals: Refusals): FairwayError {
  for (const error of refusals.values()) return error;
  return new FairwayError('Internal', 'writing: refused without a reason');
}

function checkSize(planned: Result<Plan, FairwayError>, { objectBytes }: Limits): Result<Plan, FairwayError> {
  if (!planned.ok || planned.value.after === undefined || planned.value.outcome === 'unchanged') return planned;
  const actual = sizeOf(planned.value.after);
  if (actual <= objectBytes) return planned;
  return err(
    new FairwayError(
      'TooLarge',
      `writing ${nameOf(planned.value.key)}: it has ${actual} bytes, over the limit objectBytes of ${objectBytes}`,
      { extra: { limit: 'objectBytes', actual, maximum: objectBytes } },
    ),
  );
}

/** Limits of what one commit may hold; what is unchanged is not part of it but counts, so that a set is judged alike each time. */
function checkTotals(plans: readonly Plan[], { applyObjects, applyBytes }: Limits): void {
  const bytes = plans.reduce((sum, { after }) => sum + (after === undefined ? 0 : sizeOf(after)), 0);
  for (const [limit, actual, maximum] of [
    ['applyObjects', plans.length, applyObjects],
    ['applyBytes', bytes, applyBytes],
  ] as const) {
    if (actual <= maximum) continue;
    throw new FairwayError(
      'TooLarge',
      `writing: one atomic commit of ${actual} ${limit === 'applyBytes' ? 'bytes' : 'objects'} is over the limit ${limit} of ${maximum}; send fewer at once, or use atomic=false`,
      { extra: { limit, actual, maximum } },
    );
  }
}

function committed(plan: Plan, revision: number): Plan {
  return plan.after === undefined || plan.outcome === 'unchanged'
    ? plan
    : { ...plan, after: atRevision(plan.after, revision) };
}

function newest(plans: readonly Plan[]): number {
  return Math.max(0, ...plans.map(({ held }) => held.entry?.modRevision ?? 0));
}

function scopeKey(scope: string): ObjectKey {
  return objectKey('Scope', undefined, scope);
}

/** A commit that failed because a scope is not there will not succeed by trying again. */
function assertScopes(outcome: Extract<CommitOutcome, { committed: false }>, plans: readonly Plan[]): void {
  const gone = new Set(outcome.failed.filter(({ entry }) => entry === undefined).map(({ key }) => key));
  for (const scope of scopesNeeded(plans)) if (gone.has(specKey(scopeKey(scope)))) throw scopeMissing(scope);
}

function contested(outcome: Extract<CommitOutcome, { committed: false }>, attempts: number): FairwayError {
  const [failed] = outcome.failed;
  const key = failed === undefined ? undefined : objectKeyIn('spec', failed.key);
  const subject = key === undefined ? 'an object' : nameOf(key);
  const current = failed === undefined ? undefined : heldOf(failed.entry).object;
  return new FairwayError('Conflict', `writing: ${subject} was changed by others in each of ${attempts} attempts`, {
    extra: current === undefined ? {} : { current: redact(current) },
  });
}
