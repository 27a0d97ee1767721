import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Facility, Verb } from '../access/index.ts';
import { FairwayError } from '../lib/errors.ts';
import type { Kind } from '../model/index.ts';
import type { Parameters } from './query.ts';

/**
 * One operation of the API: how it is answered and how it is described. The OpenAPI document is made from the
 * descriptions of the routes that are really there (openapi.ts).
 */
export interface Operation {
  readonly access: AccessRule;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  readonly description: OperationDescription;
  /** Largest body in bytes. */
  readonly bodyLimit?: number;
}

/**
 * Who may use an operation. `open`: anybody. `identified`: anybody who says who they are. `controller`: another controller
 * of the cluster, whose signature over the whole request the operation itself checks. Else whoever may do that to
 * things of that kind: in the scope of the path, if it has one; `filtered` answers about many scopes, leaves out what
 * may not be seen, and is closed to those who may see nothing.
 */
export type AccessRule =
  | 'open'
  | 'identified'
  | 'controller'
  | { readonly verb: Verb; readonly kind: Kind | Facility; readonly scope?: 'filtered' };

type SchemaRef = Readonly<Record<string, unknown>>;

export interface OperationDescription {
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: Parameters;
  /** Names of headers with what they do. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly mediaTypes: readonly string[]; readonly schema: SchemaRef };
  /** Successful answers; problems are added to all operations. */
  readonly answers: Readonly<Record<number, Answer>>;
}

export interface Answer {
  readonly description: string;
  readonly mediaType?: string;
  readonly schema?: SchemaRef;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent on routes that are not part of the API's description. */
    operation?: OperationDescription;
    /** Answered also while the server is not ready. */
    always?: boolean;
    /** Absent: nobody may use it. */
    access?: AccessRule;
  }
}

export type Operations = { readonly [M in 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']?: Operation };

/** Registers what a path can do (GET answers HEAD too), and refuses the other methods with what it can. */
export function addPath(
  app: FastifyInstance,
  url: string,
  operations: Operations,
  { always = false }: { readonly always?: boolean } = {},
): void {
  const allowed = new Set<HTTPMethods>();
  for (const [method, operation] of Object.entries(operations)) {
    const { access, handler, description, bodyLimit } = operation;
    allowed.add(method);
    if (method === 'GET') allowed.add('HEAD');
    app.route({
      method,
      url,
      handler,
      config: { operation: description, always, access },
      ...(bodyLimit !== undefined && { bodyLimit }),
    });
  }
  const allow = [...allowed].join(', ');
  app.route({
    // All that the framework can read, whichever its version makes of them.
    method: (app.supportedMethods as HTTPMethods[]).filter((method) => !allowed.has(method)),
    url,
    // The answer does not depend on whether the server is ready, nor on the body: it is refused before it is read.
    config: { always: true, access: 'identified' },
    onRequest: async (request, reply) => {
      reply.header('allow', allow);
      throw new FairwayError('MethodNotAllowed', `${request.method} is no method of this path; it has ${allow}`, {
        extra: { allow: [...allowed] },
      });
    },
    handler: async () => undefined,
  });
}
