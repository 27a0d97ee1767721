import type { FastifyInstance } from 'fastify';
import { authorityOf } from './auth/gate.ts';
import { addPath } from './operation.ts';
import { readQuery } from './query.ts';

/** Who the server thinks asks, and what they were given. */
export function addWhoami(app: FastifyInstance): void {
  addPath(app, '/v1/whoami', {
    GET: {
      access: 'identified',
      description: {
        operationId: 'whoami',
        tag: 'access',
        summary: 'Who you are, and what you were given',
        answers: { 200: { description: 'You.', schema: { $ref: '#/components/schemas/Whoami' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        const { identity, grants } = authorityOf(request);
        return { ...identity, grants };
      },
    },
  });
}
