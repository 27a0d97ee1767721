import type { FastifyInstance, RouteOptions } from 'fastify';
import { errorCodes } from '../lib/errors.ts';
import {
  apiVersion,
  conditionSchema,
  joinRequestSchema,
  joinTokenRequestSchema,
  kindInfo,
  kindNames,
  objectSchema,
  renewalRequestSchema,
  tokenRequestSchema,
} from '../model/index.ts';
import { eventReasons } from '../status/index.ts';
import { type AccessRule, type Answer, addPath, type OperationDescription } from './operation.ts';
import { problemMediaType } from './problem.ts';

/**
 * The OpenAPI document: paths from the routes that are registered, schemas from the model. Nothing is described twice,
 * and a route without a description is not in it.
 */
export type Document = Readonly<Record<string, unknown>> & { readonly paths: Paths };

type Json = Readonly<Record<string, unknown>>;
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

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string' } as const;
const number = { type: 'integer' } as const;
const list = (items: Json) => ({ type: 'array', items });
const object = (properties: Json, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

function schemas(): Json {
  // TypeBox marks its schemas with hidden properties; a copy as JSON has none.
  const plain = (schema: unknown) => JSON.parse(JSON.stringify(schema)) as Json;
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
    TokenRequest: plain(tokenRequestSchema),
    DryRun: dryRunSchema,
    ...accessSchemas,
    ...proxySchemas,
    JoinTokenRequest: plain(joinTokenRequestSchema),
    JoinRequest: plain(joinRequestSchema),
    RenewalRequest: plain(renewalRequestSchema),
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

const resourceNames = list(object({ type: text, name: text }));
const removed = object({ removed: number, of: number });
const removals = list(object({ fleet: text, listeners: removed, clusters: removed }));
const briefConditions = list(object({ type: text, status: text, reason: text, message: text }));

const dryRunSchema = {
  ...object(
    {
      dryRun: { const: true },
      revision: { ...text, description: 'Store revision of the world that it was tried on.' },
      objects: list(
        object({
          kind: text,
          scope: text,
          name: text,
          outcome: { enum: ['created', 'updated', 'unchanged', 'deleted'] },
          before: ref('AnyObject'),
          after: ref('AnyObject'),
        }),
      ),
      conditions: list(object({ key: text, before: briefConditions, after: briefConditions })),
      resources: object({ added: resourceNames, changed: resourceNames, removed: resourceNames }),
      proxies: { ...list(text), description: 'Connected nodes that would be sent something.' },
      drains: object({ listeners: list(text), filterChains: list(text) }),
      removals,
      massRemoval: object({
        removals: { ...number, description: 'What `confirmRemovals` must repeat.' },
        fleets: removals,
      }),
      exact: { type: 'boolean', description: 'false: so large that only the objects concerned are listed.' },
    },
    ['dryRun', 'revision', 'objects'],
  ),
  description: 'What a write would do.',
};

const joinToken = { id: text, node: text, fleet: text, expires: { ...text, format: 'date-time' } };

const membershipSchemas = {
  JoinTokenList: object({ items: list(object(joinToken)) }, ['items']),
  JoinToken: object({ ...joinToken, token: text }, ['token']),
  Membership: object({
    node: text,
    fleet: text,
    uid: { ...text, description: 'Of the Node object that the certificate is for.' },
    trustDomain: text,
    certificate: { ...text, description: 'PEM.' },
    ca: { ...text, description: 'Whose signatures on certificates of controllers count, PEM.' },
    issuedAt: { ...text, format: 'date-time' },
    notAfter: { ...text, format: 'date-time' },
    drainTimeout: { ...text, description: 'Of the Fleet, where it exists: for the start of the proxy.' },
    controllers: { ...list(text), description: 'xDS addresses of all controllers: for the start of the proxy.' },
  }),
  Authority: object({ trustDomain: text, certificates: { ...text, description: 'PEM.' } }),
  Rotation: object({
    state: {
      enum: ['Steady', 'Spreading', 'Serving'],
      description:
        'Spreading: nodes go over to the new root as they renew. Serving: controllers have, and the old root goes in a moment.',
    },
    waitingFor: object({ count: number, nodes: list(text) }),
  }),
};

const tokenProperties = {
  id: { ...text, description: 'The half of its text that is no secret.' },
  name: { ...text, description: 'As in role bindings.' },
  createdAt: { ...text, format: 'date-time' },
  createdBy: text,
  expiresAt: { ...text, format: 'date-time', description: 'Absent: when it is deleted.' },
};
const grant = object({ binding: text, role: text, scopes: list(text), permissions: list(text) });

const accessSchemas = {
  Token: object(tokenProperties),
  NewToken: object({ ...tokenProperties, token: { ...text, description: 'Its text. It is not kept.' } }),
  TokenList: object({ metadata: object({ revision: text }), items: list(ref('Token')) }),
  Whoami: object({
    name: text,
    kind: { enum: ['token', 'certificate', 'oidc', 'local'] },
    groups: list(text),
    grants: list(grant),
  }),
};

const span = object({ first: { ...text, format: 'date-time' }, last: { ...text, format: 'date-time' } });

/** What an answer gathered from all controllers lacks. */
const missingControllers = {
  ...list(
    object({
      controller: text,
      since: { ...text, format: 'date-time' },
      reason: text,
      proxies: { ...number, description: 'Attached to it when it was last heard of.' },
    }),
  ),
  description: 'Controllers that did not answer, whose proxies are not in here; absent when all did.',
};

const proxySchemas = {
  Proxy: object({
    node: text,
    nodeId: text,
    fleet: text,
    version: text,
    connectedSince: { ...text, format: 'date-time' },
    replica: text,
    state: { enum: ['Synced', 'Pending', 'Rejected', 'Stalled'] },
    types: list(
      object({
        type: text,
        sent: number,
        acked: number,
        resources: number,
        pending: number,
        rejected: list(object({ name: text, message: text, since: { ...text, format: 'date-time' } })),
      }),
    ),
  }),
  Controller: object({
    id: text,
    address: { ...text, description: 'REST; empty where it has no such door.' },
    xdsAddress: text,
    version: text,
    roles: list({ enum: ['api', 'xds', 'control'] }),
    startedAt: { ...text, format: 'date-time' },
    seenAt: { ...text, format: 'date-time' },
    state: { enum: ['Ready', 'Unreachable'] },
    leader: { type: 'boolean' },
    term: { ...number, description: 'Of the leader.' },
    leaderSince: { ...text, format: 'date-time' },
    revision: { ...text, description: 'Of its View.' },
    lag: { ...number, description: 'How many revisions the store was ahead of that.' },
    proxies: { ...number, description: 'Connected to it.' },
    memoryBytes: number,
    cpu: { type: 'number', description: "Processors' worth of time that it uses." },
  }),
  ControllerList: object({ metadata: object({ revision: text }), items: list(ref('Controller')) }),
  ProxyList: object({ metadata: object({ revision: text }), items: list(ref('Proxy')), missing: missingControllers }),
  ProxyConfig: object({
    metadata: object({ revision: text }),
    node: text,
    items: list(
      object({
        type: text,
        name: text,
        state: { enum: ['acknowledged', 'pending', 'rejected', 'removed'] },
        wanted: { ...text, description: 'Version that it should have.' },
        sent: text,
        acknowledged: text,
        message: { ...text, description: 'The words of the proxy, when it refused the wanted form.' },
        from: { ...list(text), description: 'The objects that it is made from.' },
        content: { description: 'What it should have, as Envoy documents it.' },
      }),
    ),
  }),
  Comparison: object({
    proxies: { ...number, description: 'Streams of proxies that are being compared.' },
    missing: missingControllers,
  }),
  Explanation: object({
    service: text,
    generation: number,
    servedGeneration: number,
    fleet: object({ name: text, exists: { type: 'boolean' }, why: text, proxies: number }),
    problems: list(object({ condition: text, reason: text, message: text })),
    sockets: list(
      object({
        address: text,
        port: number,
        served: { type: 'boolean' },
        owner: text,
        listener: text,
        chains: list(object({ listeners: list(text), goesTo: text, certificates: list(text) })),
      }),
    ),
    hosts: list(
      object({
        table: text,
        listener: text,
        host: text,
        owner: text,
        rules: list(object({ from: text, rule: text, match: text, action: text })),
        otherwise: text,
      }),
    ),
    resources: list(
      object({
        type: text,
        name: text,
        version: text,
        from: list(text),
        proxies: object({
          acknowledged: number,
          of: number,
          waitingFor: list(text),
          rejectedBy: list(object({ node: text, message: text })),
        }),
      }),
    ),
  }),
  Restored: object({
    entries: number,
    revision: { ...text, description: 'Of the store from now on.' },
    backup: object({ revision: text, createdAt: { ...text, format: 'date-time' } }),
  }),
  Commit: object({
    revision: text,
    settledWith: { ...text, description: 'Commits that wait are taken in together: the revision of the step.' },
    committed: { ...text, format: 'date-time' },
    settled: { ...text, format: 'date-time' },
    resources: number,
    proxies: object({ concerned: number, acknowledged: number, waitingFor: list(text) }),
    sent: span,
    acknowledged: span,
    missing: missingControllers,
  }),
};

const time = { ...text, format: 'date-time' };
const objectName = { kind: text, scope: text, name: text };

const eventSchemas = {
  Event: object({
    object: object(objectName, ['kind', 'name']),
    type: { enum: ['Normal', 'Warning'] },
    reason: { enum: Object.keys(eventReasons) },
    message: text,
    count: { ...number, description: 'How often it happened from the first time to the last.' },
    first: time,
    last: time,
    controller: { ...text, description: 'Who saw it.' },
  }),
  EventList: object({
    metadata: object({ revision: text, total: { ...number, description: 'How many match.' } }),
    items: list(ref('Event')),
  }),
  AuditRecord: object({
    id: text,
    revision: { ...text, description: 'Of the commit that stored it: that of the write itself where it was accepted.' },
    at: time,
    who: object({ name: text, kind: text }),
    from: text,
    requestId: text,
    request: text,
    outcome: { enum: ['accepted', 'refused', 'failed'] },
    code: { ...text, enum: Object.keys(errorCodes) },
    detail: text,
    count: { ...number, description: 'Refusals that are alike are counted together; absent: one.' },
    last: time,
    objects: list(
      object({
        ...objectName,
        change: { enum: ['created', 'updated', 'deleted'] },
        fields: list(object({ path: text, before: {}, after: {} })),
        cut: { ...number, description: 'Fields for which there was no room.' },
      }),
    ),
  }),
  AuditList: object({
    metadata: object({
      revision: text,
      continue: {
        ...text,
        description: 'Token of the next page, which may have records even where this one has none.',
      },
    }),
    items: list(ref('AuditRecord')),
  }),
};
