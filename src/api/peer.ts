import type { FastifyInstance } from 'fastify';
import { sendJson } from './answer.ts';
import { longAnswer } from './long-answer.ts';
import { addPath } from './operation.ts';
import type { Ports } from './ports.ts';
import { readQuery } from './query.ts';

/** A question is a name or two. */
const bodyLimit = 16 * 1024;

const nothing = new Uint8Array();

/** Where controllers of one cluster ask each other: whoever is asked of all proxies knows only those with a stream to it. */
export function addPeer(app: FastifyInstance, { peer }: Ports): void {
  if (peer === undefined) return;
  addPath(app, '/v1/peer', {
    POST: {
      access: 'controller',
      bodyLimit,
      description: {
        operationId: 'askController',
        tag: 'controllers',
        summary: 'What another controller of the cluster asks, signed by it; nobody else is answered',
        body: { mediaTypes: ['application/json'], schema: { type: 'object' } },
        answers: { 200: { description: 'The answer.', schema: { type: 'object' } } },
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        reply.header('cache-control', 'no-store');
        const body = (request.body as Buffer | undefined) ?? nothing;
        const answer = await peer.answer(request.headers.authorization, body);
        // A line for each: so whoever asked can read it in slices, too.
        const text = Array.isArray(answer)
          ? longAnswer('{"answer":[\n', answer, (item) => JSON.stringify(item), '\n]}', ',\n')
          : JSON.stringify({ answer });
        return sendJson(reply, text);
      },
    },
  });
}
