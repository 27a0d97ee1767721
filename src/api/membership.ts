import type { FastifyInstance, FastifyRequest } from 'fastify';
import { formatDuration } from '../lib/duration.ts';
import { FairwayError, type FieldError } from '../lib/errors.ts';
import type { Result } from '../lib/result.ts';
import {
  durationMs,
  fleetDrainTimeoutMs,
  joinTokenDefaults,
  type MembershipGrant,
  objectKey,
  parseJoinRequest,
  parseJoinTokenRequest,
  parseRenewalRequest,
} from '../model/index.ts';
import type { Api } from './api.ts';
import { jsonMediaTypes } from './body.ts';
import { invalidObject } from './draft.ts';
import { addPath } from './operation.ts';
import type { Membership } from './ports.ts';
import { readQuery } from './query.ts';

type Parse<T> = (value: unknown) => Result<T, readonly FieldError[]>;

/** A request with a certificate, a request and a signature. */
const bodyLimit = 64 * 1024;

/** What whoever would join a node is to do instead. */
const noAuthority =
  'this server has none of its own. Where certificates come from elsewhere (xdsTls: files), have that authority issue one with the URI spiffe://DOMAIN/fleet/FLEET/node/NODE and give it to the node: fairway envoy --cert FILE --key FILE --ca FILE. To join by tokens, the server is started with xdsTls: own';

/**
 * How nodes become members: tokens for them, and what they are exchanged for. Who joins or renews brings the proof of who
 * it is in the body, and is nobody to the API otherwise.
 */
export function addMembership(app: FastifyInstance, { ports, view, bodies, writer }: Api): void {
  const json = (schema: string) => ({
    mediaTypes: [...jsonMediaTypes],
    schema: { $ref: `#/components/schemas/${schema}` },
  });
  const answer = (description: string, schema: string) => ({
    description,
    schema: { $ref: `#/components/schemas/${schema}` },
  });

  function membership(): Membership {
    if (ports.membership !== undefined) return ports.membership;
    throw new FairwayError('NotFound', `looking for the authority of nodes: ${noAuthority}`);
  }

  async function bodyOf<T>(request: FastifyRequest, parse: Parse<T>): Promise<T> {
    readQuery(request.query, {});
    const bytes = request.body as Buffer | undefined;
    const parsed = parse(await bodies.value({ bytes, contentType: request.headers['content-type'] }));
    if (parsed.ok) return parsed.value;
    throw invalidObject(parsed.error, 'reading the request');
  }

  /** Once this controller knows the node, so that it can connect at once; what is committed is answered in any case. */
  async function granted({ revision, ...grant }: MembershipGrant) {
    await writer.settled(revision).catch((error: unknown) => {
      if (!(error instanceof FairwayError) || error.code !== 'RevisionTimeout') throw error;
    });
    const controllers = ports.controllers().flatMap(({ xdsAddress }) => (xdsAddress === '' ? [] : xdsAddress));
    const fleet = view.get(objectKey('Fleet', undefined, grant.fleet));
    if (fleet?.kind !== 'Fleet') return { ...grant, controllers };
    return { ...grant, controllers, drainTimeout: formatDuration(fleetDrainTimeoutMs(fleet.spec)) };
  }

  addPath(app, '/v1/join-tokens', {
    GET: {
      access: { verb: 'read', kind: 'JoinToken' },
      description: {
        operationId: 'listJoinTokens',
        tag: 'membership',
        summary: 'Tokens by which nodes may still join, without their secrets',
        answers: { 200: answer('The tokens.', 'JoinTokenList') },
      },
      async handler(request) {
        readQuery(request.query, {});
        return { items: await membership().tokens() };
      },
    },
    POST: {
      access: { verb: 'write', kind: 'JoinToken' },
      bodyLimit,
      description: {
        operationId: 'createJoinToken',
        tag: 'membership',
        summary: 'Make a token by which one node may join one fleet, once',
        body: json('JoinTokenRequest'),
        answers: { 201: answer('The token, which is told here and nowhere else.', 'JoinToken') },
      },
      async handler(request, reply) {
        const members = membership();
        const { node, fleet, expiresIn = joinTokenDefaults.expiresIn } = await bodyOf(request, parseJoinTokenRequest);
        reply.code(201).header('cache-control', 'no-store');
        return members.createToken({ node, fleet, ttlMs: durationMs(expiresIn) });
      },
    },
  });
  addPath(app, '/v1/join-tokens/:id', {
    DELETE: {
      access: { verb: 'delete', kind: 'JoinToken' },
      description: {
        operationId: 'deleteJoinToken',
        tag: 'membership',
        summary: 'Take a token back before it is used',
        answers: { 200: { description: 'It can no longer be used.', schema: { type: 'object' } } },
      },
      async handler(request) {
        readQuery(request.query, {});
        const { id } = request.params as { readonly id: string };
        const known = /^[A-Za-z0-9_-]{16}$/.test(id) && (await membership().revokeToken(id));
        if (!known) throw new FairwayError('NotFound', 'taking a join token back: there is no such token');
        return { id };
      },
    },
  });
  /** Who asks brings the proof in the body; what is answered is theirs alone. */
  function addExchange<T>(
    url: string,
    about: { readonly operationId: string; readonly summary: string; readonly schema: string },
    parse: Parse<T>,
    exchange: (members: Membership, asked: T) => Promise<MembershipGrant>,
  ): void {
    const { operationId, summary, schema } = about;
    addPath(app, url, {
      POST: {
        access: 'open',
        bodyLimit,
        description: {
          operationId,
          tag: 'membership',
          summary,
          body: json(schema),
          answers: { 200: answer('The certificate, and whom to trust.', 'Membership') },
        },
        async handler(request, reply) {
          const members = membership();
          reply.header('cache-control', 'no-store');
          return granted(await exchange(members, await bodyOf(request, parse)));
        },
      },
    });
  }

  addExchange(
    '/v1/join',
    {
      operationId: 'join',
      summary: 'Exchange a join token and a request for a certificate, as a node does',
      schema: 'JoinRequest',
    },
    parseJoinRequest,
    (members, asked) => members.join(asked),
  );
  addExchange(
    '/v1/renew',
    {
      operationId: 'renew',
      summary: 'The next certificate for whoever proves to have the present one',
      schema: 'RenewalRequest',
    },
    parseRenewalRequest,
    (members, asked) => members.renew(asked),
  );
  addPath(app, '/v1/ca', {
    GET: {
      access: 'open',
      description: {
        operationId: 'getAuthority',
        tag: 'membership',
        summary: 'Certificates of the authority of nodes and controllers',
        answers: { 200: answer('The roots whose signatures count.', 'Authority') },
      },
      async handler(request) {
        readQuery(request.query, {});
        return membership().authority();
      },
    },
  });
  addPath(app, '/v1/ca/rotation', {
    GET: {
      access: { verb: 'read', kind: 'Authority' },
      description: {
        operationId: 'getRotation',
        tag: 'membership',
        summary: 'How far the replacement of the root is',
        answers: { 200: answer('The rotation.', 'Rotation') },
      },
      async handler(request) {
        readQuery(request.query, {});
        return membership().rotation();
      },
    },
    POST: {
      access: { verb: 'write', kind: 'Authority' },
      description: {
        operationId: 'startRotation',
        tag: 'membership',
        summary: 'Begin to replace the root: nodes go over to the new one as they renew',
        answers: { 202: answer('It has begun.', 'Rotation') },
      },
      async handler(request, reply) {
        readQuery(request.query, {});
        const members = membership();
        if (!(await members.rotate())) {
          throw new FairwayError('Conflict', 'rotating the authority: a rotation is under way already');
        }
        reply.code(202);
        return members.rotation();
      },
    },
  });
}
