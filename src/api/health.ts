import type { FastifyInstance } from 'fastify';
import { FairwayError } from '../lib/errors.ts';
import { addPath } from './operation.ts';
import type { Ports } from './ports.ts';

/** Whether the process runs, whether it can serve, and its measurements. All answer before the server is ready. */
export function addHealth(
  app: FastifyInstance,
  { unready, metrics, metricsContentType, view }: Ports,
  { openMetrics }: { readonly openMetrics: boolean },
): void {
  const state = { schema: { type: 'object', properties: { status: { type: 'string' } } } };
  addPath(
    app,
    '/healthz',
    {
      GET: {
        access: 'open',
        description: {
          operationId: 'healthz',
          tag: 'health',
          summary: 'Whether the process runs',
          answers: { 200: { description: 'It does.', ...state } },
        },
        handler: async () => ({ status: 'ok' }),
      },
    },
    { always: true },
  );
  addPath(
    app,
    '/readyz',
    {
      GET: {
        access: 'open',
        description: {
          operationId: 'readyz',
          tag: 'health',
          summary: 'Whether the server can serve; else a NotReady problem with the reasons',
          answers: { 200: { description: 'It can.', ...state } },
        },
        async handler() {
          assertReady(unready);
          return { status: 'ready', revision: String(view.revision) };
        },
      },
    },
    { always: true },
  );
  addPath(
    app,
    '/metrics',
    {
      GET: {
        access: openMetrics ? 'open' : { verb: 'read', kind: 'Metrics' },
        description: {
          operationId: 'metrics',
          tag: 'health',
          summary: 'Measurements for Prometheus',
          answers: { 200: { description: 'Measurements.', mediaType: 'text/plain', schema: { type: 'string' } } },
        },
        handler: async (_request, reply) => reply.type(metricsContentType).send(await metrics()),
      },
    },
    { always: true },
  );
}

/** Throws `NotReady` with all that is missing. */
export function assertReady(unready: Ports['unready']): void {
  const reasons = unready();
  if (reasons.length === 0) return;
  throw new FairwayError('NotReady', `serving: ${reasons.join('; ')}`, { extra: { reasons } });
}
