import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { err } from '../lib/result.ts';
import {
  type DraftObject,
  type FairwayObject,
  type Kind,
  kindInfo,
  kindNames,
  type ObjectKey,
  objectKey,
  type ParseContext,
} from '../model/index.ts';
import { describeRehearsal, revisionHeader, sendJson } from './answer.ts';
import type { Api } from './api.ts';
import { auditSourceOf } from './audit-source.ts';
import { authorityOf } from './auth/gate.ts';
import { seenBy } from './auth/seen-by.ts';
import { jsonMediaTypes, patchMediaTypes, yamlMediaTypes } from './body.ts';
import { completing, parseDraft } from './draft.ts';
import { listAnswer, takePage } from './listing.ts';
import { mergePatch } from './merge-patch.ts';
import { addPath, type Operation, type OperationDescription } from './operation.ts';
import { readContinue } from './page.ts';
import { readPrecondition } from './precondition.ts';
import { entityTag, show } from './present.ts';
import { flag, readQuery, text, wholeNumber } from './query.ts';
import { minRevisionParameter, reachedForReading } from './reading.ts';
import { parseSelection, selectionParameters, selectionText } from './selection.ts';
import { openWatch, watchAnswers, watchParameters } from './watch.ts';
import { type DeleteIntent, type Intent, missing, type PutIntent } from './write.ts';

/** The objects of every kind: lists and watches of a kind, and one object with PUT, PATCH and DELETE. */

const writeParameters = {
  dryRun: flag('Say what would change, and change nothing.'),
  confirmRemovals: wholeNumber(
    'Repeats the number of a MassRemoval refusal, when that much is meant to be removed.',
    1,
  ),
} as const;

const deleteParameters = {
  ...writeParameters,
  force: flag('Delete it although others refer to it; they get a condition.'),
} as const;

const readOneParameters = { ...minRevisionParameter, ...watchParameters } as const;

const preconditionHeaders = {
  'If-Match': 'Only if the object is at this revision, in double quotes; else 409 with the object as it is.',
} as const;

interface Path {
  readonly scope?: string;
  readonly name: string;
}

export function addResources(app: FastifyInstance, api: Api): void {
  for (const kind of kindNames) {
    const { plural, global } = kindInfo(kind);
    addPath(app, `/v1/${plural}`, { GET: listOperation(kind, api) });
    addPath(app, global ? `/v1/${plural}/:name` : `/v1/scopes/:scope/${plural}/:name`, {
      GET: getOperation(kind, api),
      PUT: putOperation(kind, api),
      PATCH: patchOperation(kind, api),
      DELETE: deleteOperation(kind, api),
    });
  }
}

function listOperation(kind: Kind, api: Api): Operation {
  const { view, sorted, limits } = api;
  const query = {
    ...selectionParameters,
    limit: wholeNumber('Largest number of objects in the answer; absent: all.', 1, limits.pageObjects),
    continue: text('Token of the page before.'),
    ...minRevisionParameter,
    ...watchParameters,
  } as const;
  return {
    access: { verb: 'read', kind, scope: 'filtered' },
    description: {
      ...described(kind, 'list', `List or watch objects of kind ${kind}`),
      query,
      answers: {
        200: watchAnswers({ description: 'The objects.', schema: { $ref: `#/components/schemas/${kind}List` } }),
      },
    },
    async handler(request, reply) {
      const given = readQuery(request.query, query);
      const authority = authorityOf(request);
      const selection = seenBy(authority, parseSelection(given, kind), kind);
      const identity = selectionText(kind, given);
      const start = given.continue === undefined ? undefined : readContinue(given.continue, identity);
      await reachedForReading(view, Math.max(given.minRevision ?? 0, start?.revision ?? 0), limits);
      if (given.watch === true)
        return openWatch(request, reply, api, { kind, selection, after: given.after, authority });
      const page = takePage(sorted.of(kind), view, { selection, selectionText: identity, limit: given.limit, start });
      reply.header(revisionHeader, String(page.revision));
      return sendJson(reply, listAnswer(kind, page, view));
    },
  };
}

function getOperation(kind: Kind, api: Api): Operation {
  const { view, limits } = api;
  return {
    access: { verb: 'read', kind },
    description: {
      ...described(kind, 'get', `Read or watch one ${kind}`),
      query: readOneParameters,
      answers: { 200: watchAnswers(objectAnswer(kind, 'The object.')) },
    },
    async handler(request, reply) {
      const path = request.params as Path;
      const given = readQuery(request.query, readOneParameters);
      await reachedForReading(view, given.minRevision, limits);
      if (given.watch === true) {
        const authority = authorityOf(request);
        const selection = seenBy(authority, parseSelection(path, kind), kind);
        return openWatch(request, reply, api, { kind, selection, after: given.after, authority });
      }
      const key = objectKey(kind, path.scope, path.name);
      const object = view.get(key);
      if (object === undefined) throw missing(key, 'reading');
      reply.header(revisionHeader, String(view.revision));
      return sendObject(reply, object, api);
    },
  };
}

function putOperation(kind: Kind, api: Api): Operation {
  return {
    access: { verb: 'write', kind },
    bodyLimit: api.limits.objectBodyBytes,
    description: {
      ...described(kind, 'put', `Create or replace one ${kind}`),
      query: writeParameters,
      headers: { ...preconditionHeaders, 'If-None-Match': '`*`: only if there is no such object.' },
      body: { mediaTypes: [...jsonMediaTypes, yamlMediaTypes[0]], schema: { $ref: `#/components/schemas/${kind}` } },
      answers: {
        200: writtenAnswer(kind, 'Replaced, or unchanged; with dryRun what would change.'),
        201: objectAnswer(kind, 'Created.'),
      },
    },
    async handler(request, reply) {
      const { key, context } = pathOf(kind, request);
      const given = readQuery(request.query, writeParameters);
      const precondition = readPrecondition(request.headers);
      const value = await api.bodies.value({
        bytes: request.body as Buffer | undefined,
        contentType: request.headers['content-type'],
      });
      const draft = parseDraft(value, context);
      if (!draft.ok) throw draft.error;
      const intent: PutIntent = { action: 'put', key, precondition, draft: completing(draft.value, api.clock()) };
      return answerWrite(reply, api, intent, given);
    },
  };
}

function patchOperation(kind: Kind, api: Api): Operation {
  return {
    access: { verb: 'write', kind },
    bodyLimit: api.limits.objectBodyBytes,
    description: {
      ...described(kind, 'patch', `Change one ${kind} by a JSON Merge Patch`),
      query: writeParameters,
      headers: preconditionHeaders,
      body: { mediaTypes: patchMediaTypes, schema: { type: 'object', description: 'JSON Merge Patch (RFC 7396).' } },
      answers: { 200: writtenAnswer(kind, 'Changed, or unchanged; with dryRun what would change.') },
    },
    async handler(request, reply) {
      const { key, context } = pathOf(kind, request);
      const given = readQuery(request.query, writeParameters);
      const precondition = readPrecondition(request.headers);
      const patch = await api.bodies.patch({
        bytes: request.body as Buffer | undefined,
        contentType: request.headers['content-type'],
      });
      const intent: PutIntent = {
        action: 'put',
        key,
        precondition,
        // On the newest form: when another write came first, the patch is applied to what that one left.
        draft(current) {
          if (current === undefined) return err(missing(key, 'patching'));
          const draft = parseDraft(mergePatch(patchable(current), patch), context);
          return draft.ok ? completing(draft.value, api.clock())(current) : draft;
        },
      };
      return answerWrite(reply, api, intent, given);
    },
  };
}

function deleteOperation(kind: Kind, api: Api): Operation {
  return {
    access: { verb: 'delete', kind },
    description: {
      ...described(kind, 'delete', `Delete one ${kind}`),
      query: deleteParameters,
      headers: preconditionHeaders,
      answers: { 200: writtenAnswer(kind, 'Deleted: the object as it was; with dryRun what would change.') },
    },
    async handler(request, reply) {
      const { key } = pathOf(kind, request);
      const given = readQuery(request.query, deleteParameters);
      const intent: DeleteIntent = { action: 'delete', key, precondition: readPrecondition(request.headers) };
      return answerWrite(reply, api, intent, given);
    },
  };
}

/** The part of an object that a patch may change; what Fairway writes is not among it. */
function patchable({ apiVersion, kind, metadata, spec }: FairwayObject): DraftObject {
  const { name, scope, labels, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(scope !== undefined && { scope }), labels, annotations },
    spec,
  } as DraftObject;
}

interface WriteParameters {
  readonly dryRun?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly confirmRemovals?: number | undefined;
}

async function answerWrite(reply: FastifyReply, api: Api, intent: Intent, given: WriteParameters) {
  const { writer, view } = api;
  const authority = authorityOf(reply.request);
  const options = { authority, force: given.force ?? false, confirmRemovals: given.confirmRemovals };
  if (given.dryRun === true) return describeRehearsal(await writer.rehearse([intent], options));
  const source = auditSourceOf(reply.request);
  const { revision, plans } = await writer.write([intent], { ...options, source });
  await writer.settled(revision);
  const [plan] = plans;
  reply.header(revisionHeader, String(Math.max(revision, view.revision)));
  if (plan?.outcome === 'created') reply.code(201);
  const object = plan?.after ?? plan?.before;
  return object === undefined ? undefined : sendObject(reply, object, api);
}

function sendObject(reply: FastifyReply, object: FairwayObject, { view }: Api) {
  reply.header('etag', entityTag(object));
  return sendJson(reply, JSON.stringify(show(object, view)));
}

function pathOf(kind: Kind, request: FastifyRequest): { readonly key: ObjectKey; readonly context: ParseContext } {
  const { scope, name } = request.params as Path;
  return {
    key: objectKey(kind, scope, name),
    context: { kind, name, ...(scope !== undefined && { scope }) },
  };
}

function described(kind: Kind, verb: string, summary: string): Omit<OperationDescription, 'answers'> {
  return { operationId: `${verb}${kind}`, tag: kind, summary };
}

function objectAnswer(kind: Kind, description: string) {
  return { description, schema: { $ref: `#/components/schemas/${kind}` } };
}

function writtenAnswer(kind: Kind, description: string) {
  return {
    description,
    schema: { oneOf: [{ $ref: `#/components/schemas/${kind}` }, { $ref: '#/components/schemas/DryRun' }] },
  };
}
