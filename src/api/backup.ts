import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { addPath } from './operation.ts';
import type { Ports } from './ports.ts';
import { flag, readQuery } from './query.ts';

/** Lines of JSON; the first one says what it is (lib/backup.ts). */
export const backupMediaType = 'application/x-ndjson';

/** All that the store holds, out and in. Both are for who was given everything, and neither is held in memory. */
export function addBackup(app: FastifyInstance, { backups }: Pick<Ports, 'backups'>): void {
  const file = { mediaType: backupMediaType, schema: { type: 'string' } };
  addPath(app, '/v1/backup', {
    GET: {
      access: { verb: 'read', kind: 'Backup' },
      description: {
        operationId: 'backup',
        tag: 'backup',
        summary: 'Everything in the store at one revision, secrets sealed',
        answers: { 200: { description: 'The backup; its last line says whether it is whole.', ...file } },
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        reply.type(backupMediaType).header('cache-control', 'no-store');
        return reply.send(Readable.from(await backups.backup(), { objectMode: false, highWaterMark: 1 }));
      },
    },
  });
  const query = { force: flag('Replace what a store holds that is not empty.') } as const;
  // In a scope of its own, where the body stays a stream.
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(backupMediaType, (_request, body, take) => take(null, body));
    addPath(
      scope,
      '/v1/restore',
      {
        POST: {
          access: { verb: 'write', kind: 'Backup' },
          description: {
            operationId: 'restore',
            tag: 'backup',
            summary: 'Replace everything in the store by a backup; no controller is ready until it is done',
            query,
            body: { mediaTypes: [backupMediaType], schema: file.schema },
            answers: { 200: { description: 'It is done.', schema: { $ref: '#/components/schemas/Restored' } } },
          },
          async handler(request) {
            const { force = false } = readQuery(request.query, query);
            return backups.restore(request.body as AsyncIterable<Uint8Array>, { force });
          },
        },
      },
      // A restore that was broken off leaves a store that is not whole, so that no server is ready until the next one.
      { always: true },
    );
    done();
  });
}
