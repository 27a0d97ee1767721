import type { FastifyInstance } from 'fastify';
import { sendJson } from './answer.ts';
import { longAnswer } from './long-answer.ts';
import { addPath } from './operation.ts';
import { notFound, withMissing } from './partial.ts';
import type { Ports } from './ports.ts';
import { flag, readQuery, text } from './query.ts';

/** The connected proxies, whichever controller they are attached to: what each was sent, took and refused. */
export function addProxies(app: FastifyInstance, { proxies, view }: Ports): void {
  const query = { fleet: text('Only proxies of this fleet.') } as const;
  addPath(app, '/v1/proxies', {
    GET: {
      access: { verb: 'read', kind: 'Proxy' },
      description: {
        operationId: 'listProxies',
        tag: 'proxies',
        summary: 'Connected proxies with what each was sent, acknowledged and refused',
        query,
        answers: { 200: { description: 'The proxies.', schema: { $ref: '#/components/schemas/ProxyList' } } },
      },
      async handler(request, reply) {
        const { fleet } = readQuery(request.query, query);
        const { found, missing } = await proxies.list({ fleet });
        const items = found.toSorted((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : 0));
        const metadata = JSON.stringify({ revision: String(view.revision) });
        const end = missing.length === 0 ? '' : `,${JSON.stringify(withMissing(missing)).slice(1, -1)}`;
        const text = longAnswer(`{"metadata":${metadata},"items":[`, items, (item) => JSON.stringify(item), `]${end}}`);
        return sendJson(reply, text);
      },
    },
  });
  addPath(app, '/v1/proxies/:node', {
    GET: {
      access: { verb: 'read', kind: 'Proxy' },
      description: {
        operationId: 'getProxy',
        tag: 'proxies',
        summary: 'One connected proxy',
        answers: { 200: { description: 'The proxy.', schema: { $ref: '#/components/schemas/Proxy' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        const { node } = request.params as { readonly node: string };
        const { found, missing } = await proxies.get(node);
        if (found === undefined) throw notFound(`reading proxy ${node}: it is not connected`, missing);
        return found;
      },
    },
  });
  const comparing = { 202: { description: 'It has begun.', schema: { $ref: '#/components/schemas/Comparison' } } };
  addPath(app, '/v1/proxies/:node/compare', {
    POST: {
      access: { verb: 'write', kind: 'Proxy' },
      description: {
        operationId: 'compareProxy',
        tag: 'proxies',
        summary: 'Compare what a proxy acknowledged with what it should have, and send again what was lost',
        answers: comparing,
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        const { node } = request.params as { readonly node: string };
        const { found, missing } = await proxies.compare(node);
        if (found === 0) throw notFound(`comparing proxy ${node}: it is not connected`, missing);
        return reply.code(202).send({ proxies: found });
      },
    },
  });
  addPath(app, '/v1/compare', {
    POST: {
      access: { verb: 'write', kind: 'Proxy' },
      description: {
        operationId: 'compareProxies',
        tag: 'proxies',
        summary:
          'Compare what each connected proxy acknowledged with what it should have, and send again what was lost',
        answers: comparing,
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        const { found, missing } = await proxies.compare(undefined);
        return reply.code(202).send({ proxies: found, ...withMissing(missing) });
      },
    },
  });
  const configQuery = {
    type: text(
      'Only resources of this type: Cluster, ClusterLoadAssignment, Listener, RouteConfiguration, Secret, TypedExtensionConfig.',
    ),
    content: flag('With the content of each resource, as Envoy documents it; private keys are redacted.'),
  } as const;
  addPath(app, '/v1/proxies/:node/config', {
    GET: {
      access: { verb: 'read', kind: 'Proxy' },
      description: {
        operationId: 'getProxyConfig',
        tag: 'proxies',
        summary: 'The resources that a proxy should have, and what it was sent and acknowledged of each',
        query: configQuery,
        answers: { 200: { description: 'The resources.', schema: { $ref: '#/components/schemas/ProxyConfig' } } },
      },
      async handler(request, reply) {
        const { type, content = false } = readQuery(request.query, configQuery);
        const { node } = request.params as { readonly node: string };
        const { found: items, missing } = await proxies.config(node, { type, content });
        if (items === undefined) throw notFound(`reading proxy ${node}: it is not connected`, missing);
        const head = JSON.stringify({ metadata: { revision: String(view.revision) }, node });
        return sendJson(
          reply,
          longAnswer(`${head.slice(0, -1)},"items":[`, items, (item) => JSON.stringify(item), ']}'),
        );
      },
    },
  });
}
