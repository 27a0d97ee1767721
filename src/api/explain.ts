import type { FastifyInstance } from 'fastify';
import { FairwayError } from '../lib/errors.ts';
import { objectKey } from '../model/index.ts';
import { addPath } from './operation.ts';
import { notFound, withMissing } from './partial.ts';
import type { Ports } from './ports.ts';
import { invalidParameter, readQuery } from './query.ts';

/** Answers to "why": of a virtual service, and of one commit on its way to the proxies. */
export function addExplain(app: FastifyInstance, { explain, view }: Ports): void {
  addPath(app, '/v1/scopes/:scope/virtual-services/:name/explain', {
    GET: {
      access: { verb: 'read', kind: 'VirtualService' },
      description: {
        operationId: 'explainVirtualService',
        tag: 'explain',
        summary: 'Where each part of a virtual service comes from, what each proxy has of it, and why it is not up',
        answers: { 200: { description: 'The explanation.', schema: { $ref: '#/components/schemas/Explanation' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        const { scope, name } = request.params as { readonly scope: string; readonly name: string };
        const explanation = explain.virtualService(objectKey('VirtualService', scope, name));
        if (explanation === undefined) {
          throw new FairwayError('NotFound', `explaining VirtualService ${scope}/${name}: there is no such object`);
        }
        return explanation;
      },
    },
  });
  addPath(app, '/v1/commits/:revision', {
    GET: {
      access: { verb: 'read', kind: 'Commit' },
      description: {
        operationId: 'getCommit',
        tag: 'explain',
        summary: 'One commit on its way: committed, settled, sent, acknowledged by how many proxies, with times',
        answers: { 200: { description: 'The commit.', schema: { $ref: '#/components/schemas/Commit' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        const { revision: given } = request.params as { readonly revision: string };
        const revision = /^\d{1,15}$/.test(given) ? Number(given) : undefined;
        if (revision === undefined) throw invalidParameter('revision', 'must be a revision, a whole number');
        const { found, missing } = await explain.commit(revision);
        if (found !== undefined) return { ...found, ...withMissing(missing) };
        const known = revision > view.revision ? 'it has not been reached' : 'only recent commits are kept';
        throw notFound(`reading commit ${given}: ${known}`, missing);
      },
    },
  });
}
