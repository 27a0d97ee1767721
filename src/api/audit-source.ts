import type { FastifyRequest } from 'fastify';
import type { AuditedObject, AuditSource, AuditSubject } from '../audit/index.ts';
import { type Kind, kindInfo, kindNames } from '../model/index.ts';

/** Whoever sent what is open to everybody, or did not get so far as to say who they are. */
const anonymous: AuditSubject = { name: 'anonymous', kind: 'anonymous' };

/** Who asks, from where, and for what. */
export function auditSourceOf(request: FastifyRequest): AuditSource {
  const { name, kind } = request.identity ?? anonymous;
  return {
    who: { name, kind },
    from: request.ip,
    requestId: request.id,
    request: `${request.method} ${request.routeOptions.url ?? 'none'}`,
  };
}

const kindsByPlural: ReadonlyMap<string, Kind> = new Map(kindNames.map((kind) => [kindInfo(kind).plural, kind]));

/** The object that the path of a request names; none where it names several, or no kind. */
export function objectsOfPath(request: FastifyRequest): readonly AuditedObject[] {
  const { scope, name } = (request.params ?? {}) as { readonly scope?: string; readonly name?: string };
  const kinds = (request.routeOptions.url ?? '').split('/').flatMap((segment) => kindsByPlural.get(segment) ?? []);
  // The scope comes first.
  const kind = kinds.at(-1);
  if (kind === undefined || name === undefined) return [];
  return [{ kind, ...(scope !== undefined && { scope }), name }];
}
