import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FairwayError } from '../lib/errors.ts';
import { kindNames, parseObjectKey } from '../model/index.ts';
import { describePlan, describeRehearsal, revisionHeader } from './answer.ts';
import type { Api } from './api.ts';
import { combineRefusals, missingScopeInSet, prunedEntries, readEntries, type SetEntry } from './apply-set.ts';
import { auditSourceOf } from './audit-source.ts';
import type { Authority } from './auth/authority.ts';
import { authorityOf } from './auth/gate.ts';
import { jsonMediaTypes, yamlMediaTypes } from './body.ts';
import { parseLabelSelector } from './label-selector.ts';
import type { Limits } from './limits.ts';
import { assertConfirmed } from './mass-removal.ts';
import { addPath, type Operation } from './operation.ts';
import { show } from './present.ts';
import { fairwayErrorOf, problemOf } from './problem.ts';
import { flag, readQuery, text, wholeNumber } from './query.ts';
import { splitSet } from './set.ts';
import type { Intent, Plan } from './write.ts';
import type { Refusals } from './writer.ts';

/** POST /v1/apply: many objects at once, in one commit or one by one. */

const parameters = {
  atomic: {
    ...flag('All in one commit, or none. false: each by itself, in the order of references, with a result each.'),
    schema: { type: 'boolean', default: true },
  },
  prune: text('Label selector: deletes what matches and is not in the set. Nodes and objects kept by others stay.'),
  force: flag('Prune objects that others refer to; those get a condition.'),
  dryRun: flag('Say what would change, and change nothing.'),
  confirmRemovals: wholeNumber(
    'Repeats the number of a MassRemoval refusal, when that much is meant to be removed.',
    1,
  ),
} as const;

interface ApplyOptions {
  readonly authority: Authority;
  readonly force: boolean;
  readonly confirmRemovals: number | undefined;
}

export function addApply(app: FastifyInstance, api: Api): void {
  addPath(app, '/v1/apply', { POST: applyOperation(api) });
}

function applyOperation(api: Api): Operation {
  const { limits, clock, view, writer } = api;
  const result = { schema: { $ref: '#/components/schemas/ApplyResult' } };
  return {
    access: { verb: 'write', kind: 'Apply' },
    // A path has one limit; the smaller one of an atomic apply is looked at once the query is read.
    bodyLimit: limits.bulkBodyBytes,
    description: {
      operationId: 'apply',
      tag: 'apply',
      summary: 'Create, replace and prune several objects',
      query: parameters,
      body: {
        mediaTypes: [...jsonMediaTypes, yamlMediaTypes[0]],
        schema: { $ref: '#/components/schemas/ApplyRequest' },
      },
      answers: {
        200: {
          description: 'All is done; with dryRun what would change.',
          schema: { oneOf: [result.schema, { $ref: '#/components/schemas/DryRun' }] },
        },
        207: {
          description: 'With atomic=false: some objects failed, and each result says what became of it.',
          ...result,
        },
      },
    },
    async handler(request, reply) {
      const given = readQuery(request.query, parameters);
      const authority = authorityOf(request);
      const isAtomic = given.atomic ?? true;
      const prunes = given.prune === undefined ? undefined : parseLabelSelector(given.prune, 'prune');
      const entries = await readEntries(splitSet(await api.bodies.values(bodyOf(request, limits, isAtomic))), clock());
      if (isAtomic || given.dryRun === true || prunes !== undefined) assertAllValid(entries);
      if (prunes !== undefined) {
        await writer.upToDate();
        entries.push(...prunedEntries(entries, prunes, view, authority));
      }
      const options = { authority, force: given.force ?? false, confirmRemovals: given.confirmRemovals };
      if (given.dryRun === true) return rehearse(entries, options, api);
      return isAtomic ? applyAtomically(entries, options, api, reply) : applyEach(entries, options, api, reply);
    },
  };
}

function bodyOf(request: FastifyRequest, { applyBodyBytes }: Limits, isAtomic: boolean) {
  const bytes = request.body as Buffer | undefined;
  if (isAtomic && bytes !== undefined && bytes.length > applyBodyBytes) {
    throw new FairwayError(
      'TooLarge',
      `reading the body: ${bytes.length} bytes are over the limit applyBodyBytes of ${applyBodyBytes}; send fewer objects at once, or use atomic=false`,
      { extra: { limit: 'applyBodyBytes', actual: bytes.length, maximum: applyBodyBytes } },
    );
  }
  return { bytes, contentType: request.headers['content-type'] };
}

/** For pruning too: what is in the set and cannot be read must not look as if it had been left out. */
function assertAllValid(entries: readonly SetEntry[]): void {
  const refusals: Refusals = new Map(
    entries.flatMap(({ ask }, i) => (ask instanceof FairwayError ? [[i, ask] as const] : [])),
  );
  if (refusals.size > 0) throw combineRefusals(refusals, entries);
}

/** What is asked, of the entries that could be read. */
function intentsOf(entries: readonly SetEntry[]): readonly Intent[] {
  return entries.flatMap(({ ask }) => (ask instanceof FairwayError ? [] : [ask]));
}

async function rehearse(entries: readonly SetEntry[], options: ApplyOptions, { writer }: Api) {
  try {
    const rehearsed = await writer.rehearse(intentsOf(entries), options, (refusals) =>
      combineRefusals(refusals, entries),
    );
    return describeRehearsal(rehearsed);
  } catch (error) {
    throw missingScopeInSet(error, entries);
  }
}

async function applyAtomically(entries: readonly SetEntry[], options: ApplyOptions, api: Api, reply: FastifyReply) {
  const { writer, view } = api;
  const source = auditSourceOf(reply.request);
  try {
    const { revision, plans } = await writer.write(intentsOf(entries), { ...options, source }, (refusals) =>
      combineRefusals(refusals, entries),
    );
    await writer.settled(revision);
    reply.header(revisionHeader, String(revision));
    const objects = plans.map((plan) => {
      const object = plan.after ?? plan.before;
      return { ...describeWritten(plan), ...(object !== undefined && { object: show(object, view) }) };
    });
    return { revision: String(revision), counts: { ...countOutcomes(plans), failed: 0 }, objects };
  } catch (error) {
    throw missingScopeInSet(error, entries);
  }
}

/** Each object in a commit of its own. To try again is safe: what is done already is then unchanged. */
async function applyEach(entries: readonly SetEntry[], options: ApplyOptions, api: Api, reply: FastifyReply) {
  const { writer, limits } = api;
  // Once for the whole set: one object at a time would never look like much.
  assertConfirmed(await writer.removals(intentsOf(entries), options.authority), options.confirmRemovals);
  const source = auditSourceOf(reply.request);
  const results = new Map<SetEntry, { readonly plan: Plan; readonly revision: number } | FairwayError>();
  const write = async (entry: SetEntry) => {
    if (entry.ask instanceof FairwayError) {
      results.set(entry, entry.ask);
      return;
    }
    try {
      const { revision, plans } = await writer.write([entry.ask], { ...options, isPreviewed: true, source });
      const [plan] = plans;
      if (plan !== undefined) results.set(entry, { plan, revision });
    } catch (error) {
      results.set(entry, fairwayErrorOf(error));
    }
  };
  for (const stage of stages(entries)) await eachAtMost(stage, limits.bulkConcurrency, write);

  const written = [...results.values()].flatMap((result) => (result instanceof FairwayError ? [] : [result]));
  const revision = Math.max(0, ...written.map((result) => result.revision));
  await writer.settled(revision);
  reply.header(revisionHeader, String(revision));
  const failed = results.size - written.length;
  if (failed > 0) reply.code(207);
  const objects = entries.map((entry) => {
    const result = results.get(entry);
    if (result === undefined || result instanceof FairwayError) return describeFailure(entry, result, reply);
    return describeWritten(result.plan);
  });
  const counts = countOutcomes(written.map(({ plan }) => plan));
  return { revision: String(revision), counts: { ...counts, failed }, objects };
}

/** Puts in the order of references, then deletions against it. Within a stage nothing waits for anything else. */
function stages(entries: readonly SetEntry[]): readonly (readonly SetEntry[])[] {
  const rank = ({ key, pointer }: SetEntry) => {
    const place = key === undefined ? 0 : kindNames.indexOf(parseObjectKey(key).kind);
    return pointer === undefined ? 2 * kindNames.length - place : place;
  };
  const groups = Map.groupBy(entries, rank);
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
}

async function eachAtMost<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}

function describeWritten(plan: Plan) {
  const { metadata } = plan.after ?? {};
  return {
    ...describePlan(plan),
    ...(metadata !== undefined && { revision: metadata.revision, generation: metadata.generation }),
  };
}

function describeFailure({ key, pointer }: SetEntry, error: FairwayError | undefined, reply: FastifyReply) {
  const problem = problemOf(error ?? new FairwayError('Internal', 'writing: it was not tried'), reply.request.id);
  return {
    ...(key !== undefined && parseObjectKey(key)),
    ...(pointer !== undefined && { pointer }),
    outcome: 'failed',
    problem,
  };
}

function countOutcomes(plans: readonly Plan[]) {
  const counts = { created: 0, updated: 0, unchanged: 0, deleted: 0 };
  for (const { outcome } of plans) counts[outcome]++;
  return counts;
}
