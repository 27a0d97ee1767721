import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Action, grantingRefusal, grantsOf, type TokenRecord } from '../access/index.ts';
import { FairwayError } from '../lib/errors.ts';
import { durationMs, parseTokenRequest, storeKey } from '../model/index.ts';
import type { Store } from '../store/store.ts';
import { revisionHeader } from './answer.ts';
import type { Api } from './api.ts';
import { authorityOf } from './auth/gate.ts';
import { bindingsIn } from './auth/grants.ts';
import { keepAdminWithout } from './auth/last-admin.ts';
import { mintToken } from './auth/static-tokens.ts';
import { jsonMediaTypes, yamlMediaTypes } from './body.ts';
import { invalidObject } from './draft.ts';
import { addPath } from './operation.ts';
import { readQuery } from './query.ts';

/**
 * API tokens: made, listed, taken back. A token has no rights of its own; who gives one out gives what the bindings
 * give to its name, so that they must hold all of that themselves.
 */
export function addTokens(app: FastifyInstance, api: Api, store: Store, newId: () => string): void {
  const { ports, bodies, clock, limits, writer } = api;

  /** `Forbidden` unless whoever asks could give what a token of this name may do. */
  function assertMayGive(request: FastifyRequest, name: string, verb: Action['verb']): void {
    const authority = authorityOf(request);
    const given = grantsOf({ name, kind: 'token', groups: [] }, bindingsIn(ports.view));
    for (const grant of given) {
      const words = grantingRefusal(authority.grants, grant);
      if (words === undefined) continue;
      const action: Action = { verb, kind: 'Token', scope: undefined, touchesSecret: false };
      throw authority.forbid(action, `RoleBinding ${grant.binding} names it, and ${words}`, `Token ${name}`);
    }
  }

  addPath(app, '/v1/tokens', {
    GET: {
      access: { verb: 'read', kind: 'Token' },
      description: {
        operationId: 'listTokens',
        tag: 'access',
        summary: 'API tokens, without what is secret',
        answers: { 200: { description: 'The tokens.', schema: { $ref: '#/components/schemas/TokenList' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        const items = [...ports.tokens.list()].map(shown).sort((a, b) => byName(a, b));
        return { metadata: { revision: String(ports.view.revision) }, items };
      },
    },
    POST: {
      access: { verb: 'write', kind: 'Token' },
      bodyLimit: 4096,
      description: {
        operationId: 'createToken',
        tag: 'access',
        summary: 'Make an API token; its text is in this answer and nowhere else',
        body: {
          mediaTypes: [...jsonMediaTypes, yamlMediaTypes[0]],
          schema: { $ref: '#/components/schemas/TokenRequest' },
        },
        answers: { 201: { description: 'The token.', schema: { $ref: '#/components/schemas/NewToken' } } },
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        const value = await bodies.value({
          bytes: request.body as Buffer | undefined,
          contentType: request.headers['content-type'],
        });
        const wanted = parseTokenRequest(value);
        if (!wanted.ok) throw invalidObject(wanted.error, 'reading the request');
        const { name, expiresIn } = wanted.value;
        await writer.upToDate();
        assertMayGive(request, name, 'write');
        assertRoom([...ports.tokens.list()].length, limits.tokens);
        const now = clock();
        const { text, record } = await mintToken({
          name,
          createdAt: new Date(now).toISOString(),
          createdBy: authorityOf(request).identity.name,
          ...(expiresIn === undefined ? {} : { expiresAt: new Date(now + durationMs(expiresIn)).toISOString() }),
        });
        const key = storeKey('token', record.id);
        const outcome = await store.commit({
          id: newId(),
          checks: [{ key, modRevision: 0 }],
          puts: [{ key, value: JSON.stringify(record) }],
          deletes: [],
        });
        if (!outcome.committed) throw new FairwayError('Conflict', 'making a token: its id is taken; try again');
        await writer.settled(outcome.revision);
        reply.code(201).header(revisionHeader, String(outcome.revision)).header('cache-control', 'no-store');
        return { ...shown(record), token: text };
      },
    },
  });

  addPath(app, '/v1/tokens/:id', {
    DELETE: {
      access: { verb: 'delete', kind: 'Token' },
      description: {
        operationId: 'deleteToken',
        tag: 'access',
        summary: 'Take an API token back; it is refused from then on, everywhere',
        answers: { 200: { description: 'The token as it was.', schema: { $ref: '#/components/schemas/Token' } } },
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        const { id } = request.params as { readonly id: string };
        await writer.upToDate();
        const record = ports.tokens.get(id);
        if (record === undefined) throw new FairwayError('NotFound', 'deleting a token: there is none of this id');
        assertMayGive(request, record.name, 'delete');
        const checks = keepAdminWithout(id, { ...ports, now: clock() });
        const outcome = await store.commit({ id: newId(), checks, puts: [], deletes: [storeKey('token', id)] });
        if (!outcome.committed) {
          throw new FairwayError(
            'Conflict',
            'deleting a token: who may do everything has changed meanwhile; try again',
          );
        }
        await writer.settled(outcome.revision);
        reply.header(revisionHeader, String(outcome.revision));
        return shown(record);
      },
    },
  });
}

function shown({ hash: _hash, ...rest }: TokenRecord): Omit<TokenRecord, 'hash'> {
  return rest;
}

function byName(a: Pick<TokenRecord, 'name' | 'createdAt'>, b: Pick<TokenRecord, 'name' | 'createdAt'>): number {
  return `${a.name} ${a.createdAt}` < `${b.name} ${b.createdAt}` ? -1 : 1;
}

function assertRoom(count: number, maximum: number): void {
  if (count < maximum) return;
  throw new FairwayError(
    'TooLarge',
    `making a token: there are ${maximum}, which is the limit; delete what is not used`,
    {
      extra: { limit: 'tokens', maximum },
    },
  );
}
