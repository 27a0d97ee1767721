import type { FastifyReply } from 'fastify';
import { type FairwayObject, parseObjectKey, redact } from '../model/index.ts';
import type { Plan } from './write.ts';
import type { Rehearsed } from './writer.ts';

/** Forms of answers that several operations share. */

/** Header with the store revision that an answer is true at: for `minRevision` elsewhere. */
export const revisionHeader = 'fairway-revision';

/** JSON text as it is, with its media type. */
export function sendJson(reply: FastifyReply, payload: unknown): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(payload);
}

/** What became of one object, in answers about several. */
export function describePlan({ key, outcome }: Plan): Readonly<Record<string, unknown>> {
  return { ...parseObjectKey(key), outcome };
}

/** What a dry run answers, for one object as for many. Objects without a revision would get theirs from the commit. */
export function describeRehearsal({
  revision,
  plans,
  preview,
  massRemoval,
}: Rehearsed): Readonly<Record<string, unknown>> {
  return {
    dryRun: true,
    revision: String(revision),
    objects: plans.map((plan) => ({
      ...describePlan(plan),
      ...(plan.before !== undefined && { before: redact(plan.before) }),
      ...(plan.after !== undefined && { after: planned(redact(plan.after)) }),
    })),
    ...preview,
    ...(massRemoval !== undefined && { massRemoval }),
  };
}

/** Without the revisions that only a commit can give. */
function planned(object: FairwayObject): unknown {
  const { metadata } = object;
  const given = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== ''));
  return { ...object, metadata: given };
}
