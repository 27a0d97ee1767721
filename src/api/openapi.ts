import type { FastifyInstance, RouteOptions } from 'fastify';
import { kindInfo, kindNames } from '../model/index.ts';
import { type AccessRule, type Answer, addPath, type OperationDescription } from './operation.ts';
import { problemMediaType } from './problem.ts';
import { schemas } from './schemas/all.ts';
import type { Json } from './schemas/build.ts';

/**
 * The OpenAPI document: paths from the routes that are registered, schemas from the model. Nothing is described twice,
 * and a route without a description is not in it.
 */
export type Document = Readonly<Record<string, unknown>> & { readonly paths: Paths };

type Paths = Record<string, Record<string, Json>>;

/** Gathers the routes of an app from now on. The document grows with them. */
export function collectDocument(app: FastifyInstance, version: string): Document {
  const paths: Paths = {};
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    const operation = config?.operation;
    if (operation === undefined || typeof method !== 'string' || method === 'HEAD') return;
    const path = url.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(url, operation, config?.access) };
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fairway',
      version,
      description: 'Control plane for fleets of Envoy load balancers.',
      license: { name: 'UNLICENSED' },
    },
    servers: [{ url: '/' }],
    tags: [...kindNames.map((kind) => ({ name: kind, description: kindInfo(kind).description })), ...otherTags],
    paths,
    security: [{ token: [] }, { certificate: [] }],
    components: { schemas: schemas(), responses: { Problem: problemAnswer }, securitySchemes },
  };
}

/** Serves the document. Its text is made once, by the first who asks. */
export function addDocument(app: FastifyInstance, document: Document): void {
  let json: string | undefined;
  addPath(
    app,
    '/openapi.json',
    {
      GET: {
        access: 'open',
        description: {
          operationId: 'openapi',
          tag: 'health',
          summary: 'This document',
          answers: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
        },
        async handler(_request, reply) {
          json ??= JSON.stringify(document);
          return reply.type('application/json; charset=utf-8').send(json);
        },
      },
    },
    { always: true },
  );
}

const securitySchemes = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token, or a token of the OpenID provider that the server trusts.',
  },
  certificate: { type: 'mutualTLS', description: 'A client certificate of a CA that the server trusts.' },
};

const otherTags = [
  { name: 'apply', description: 'Several objects at once.' },
  { name: 'access', description: 'Who you are, and API tokens.' },
  { name: 'proxies', description: 'Connected proxies.' },
  { name: 'membership', description: 'How nodes join a fleet and stay in it.' },
  { name: 'backup', description: 'Everything in the store, out and in.' },
  { name: 'controllers', description: 'Members of the cluster.' },
  { name: 'events', description: 'What happened.' },
  { name: 'audit', description: 'Who did what.' },
  { name: 'health', description: 'The server itself.' },
];

const problemAnswer = {
  description: 'A problem document (RFC 9457).',
  content: { [problemMediaType]: { schema: { $ref: '#/components/schemas/Problem' } } },
};

const problem = { $ref: '#/components/responses/Problem' };

function describe(url: string, operation: OperationDescription, access: AccessRule | undefined): Json {
  const { operationId, tag, summary, query = {}, headers = {}, body, answers } = operation;
  const parameters = [
    ...[...url.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(query).map(([name, { description, schema }]) => ({ name, in: 'query', description, schema })),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      description,
      schema: { type: 'string' },
    })),
  ];
  return {
    operationId,
    tags: [tag],
    summary,
    ...(access === 'open' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body.mediaTypes, body.schema) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer)])),
      ...(access !== 'open' && { 401: problem, 429: problem }),
      ...(access !== 'open' && access !== 'identified' && { 403: problem }),
      default: problem,
    },
  };
}

function describeAnswer({ description, mediaType = 'application/json', schema }: Answer): Json {
  return { description, ...(schema !== undefined && { content: contentOf([mediaType], schema) }) };
}

function contentOf(mediaTypes: readonly string[], schema: Json): Json {
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]));
}
