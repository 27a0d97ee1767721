import type { FastifyInstance } from 'fastify';
import { addPath } from './operation.ts';
import type { Ports } from './ports.ts';
import { readQuery } from './query.ts';

/** The members of the cluster, and who of them leads. */
export function addControllers(app: FastifyInstance, { controllers, view }: Ports): void {
  addPath(app, '/v1/controllers', {
    GET: {
      access: { verb: 'read', kind: 'Controller' },
      description: {
        operationId: 'listControllers',
        tag: 'controllers',
        summary: 'The controllers that share the store, and which of them leads',
        answers: { 200: { description: 'The controllers.', schema: { $ref: '#/components/schemas/ControllerList' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        return { metadata: { revision: String(view.revision) }, items: controllers() };
      },
    },
  });
}
