import { errorCodes } from '../../lib/errors.ts';
import { apiVersion, conditionSchema, kindNames, objectSchema } from '../../model/index.ts';
import { accessSchemas } from './access.ts';
import { type Json, list, number, object, plain, ref, text } from './build.ts';
import { dryRunSchema } from './dry-run.ts';
import { eventSchemas } from './events.ts';
import { membershipSchemas } from './membership.ts';
import { proxySchemas } from './proxies.ts';

/** All schemas of the document, by name: those of objects from the model, those of answers from here. */
export function schemas(): Json {
  return {
    ...Object.fromEntries(kindNames.map((kind) => [kind, plain(objectSchema(kind))])),
    ...Object.fromEntries(kindNames.map((kind) => [`${kind}List`, listOf(kind)])),
    AnyObject: { oneOf: kindNames.map(ref), discriminator: { propertyName: 'kind' } },
    Condition: plain(conditionSchema),
    WatchEvent: object({ type: { enum: ['put', 'delete', 'bookmark'] }, object: { type: 'object' } }, [
      'type',
      'object',
    ]),
    ApplyRequest: {
      description: 'A set, a list, or one object; in YAML any number of documents.',
      oneOf: [object({ objects: list(ref('AnyObject')) }, ['objects']), list(ref('AnyObject')), ref('AnyObject')],
    },
    ApplyResult: object(
      {
        revision: text,
        counts: object({ created: number, updated: number, unchanged: number, deleted: number, failed: number }),
        objects: list(ref('ApplyOutcome')),
      },
      ['revision', 'counts', 'objects'],
    ),
    ApplyOutcome: object({
      kind: text,
      scope: text,
      name: text,
      outcome: { enum: ['created', 'updated', 'unchanged', 'deleted', 'failed'] },
      revision: text,
      generation: number,
      object: ref('AnyObject'),
      pointer: { ...text, description: 'Where it stands in the body.' },
      problem: ref('Problem'),
    }),
    DryRun: dryRunSchema,
    ...accessSchemas,
    ...proxySchemas,
    ...membershipSchemas,
    ...eventSchemas,
    Problem: {
      ...object(
        {
          type: text,
          title: text,
          status: number,
          detail: text,
          code: { ...text, enum: Object.keys(errorCodes) },
          errors: list(object({ pointer: text, message: text }, ['pointer', 'message'])),
          requestId: text,
        },
        ['type', 'title', 'status', 'detail', 'code'],
      ),
      description: 'RFC 9457. Codes have members of their own beside these.',
    },
  };
}

function listOf(kind: string): Json {
  return object(
    {
      apiVersion: { const: apiVersion },
      kind: { const: `${kind}List` },
      metadata: object(
        {
          revision: { ...text, description: 'Store revision that the list is true at.' },
          continue: { ...text, description: 'Token of the next page; absent on the last one.' },
        },
        ['revision'],
      ),
      items: list(ref(kind)),
    },
    ['apiVersion', 'kind', 'metadata', 'items'],
  );
}
