import { type Static, Type } from 'typebox';
import type { FieldError } from '../lib/errors.ts';
import { duplicates } from './duplicates.ts';
import { checkHosts } from './host.ts';
import { pointerTo, type Reference, resolveRef } from './ref.ts';
import { routeProperties, ruleReferences } from './rule.ts';
import { checkRules } from './rule-check.ts';
import { Closed, type Immutable, Ref, Text } from './schema.ts';

/** Route: HTTP rules attached to listeners of virtual services, also of other scopes where they allow it. */

const attachmentSchema = Closed({
  virtualService: Ref('VirtualService to attach to: a name in the same scope, or `scope/name`.'),
  listener: Text('fairway-name', { description: 'Name of its listener, of protocol HTTP or HTTPS.' }),
});

export const routeSchema = Closed(
  {
    attachTo: Type.Array(attachmentSchema, {
      minItems: 1,
      maxItems: 16,
      description: 'Listeners that take the rules up.',
    }),
    ...routeProperties,
  },
  { description: 'HTTP rules attached to a listener of a virtual service, possibly of another scope.' },
);

export type RouteSpec = Immutable<Static<typeof routeSchema>>;
export type Attachment = Immutable<Static<typeof attachmentSchema>>;

/** What a schema cannot say about a Route. */
export function checkRoute(spec: RouteSpec): readonly FieldError[] {
  return [
    ...duplicates(
      spec.attachTo,
      '/spec/attachTo',
      '',
      ({ virtualService, listener }) => `${virtualService} ${listener}`,
    ),
    ...checkHosts(spec.hosts, '/spec/hosts'),
    ...checkRules(spec.rules, '/spec/rules'),
  ];
}

/** Reasons of the conditions of a Route. */
export const routeReasons = {
  Accepted: ['Accepted', 'NotAttached', 'AttachmentNotAllowed', 'HostConflict', 'InternalError'],
  ResolvedRefs: ['ResolvedRefs', 'ReferenceMissing', 'ReferenceNotAllowed', 'InternalError'],
  Programmed: ['Programmed', 'Pending', 'NoProxies', 'RejectedByProxy', 'NotAccepted', 'Disabled', 'InternalError'],
} as const;

export function routeReferences(spec: RouteSpec, scope: string): readonly Reference[] {
  const services = spec.attachTo.map(
    ({ virtualService }, i): Reference => ({
      field: pointerTo('spec', 'attachTo', i, 'virtualService'),
      kind: 'VirtualService',
      key: resolveRef(virtualService, 'VirtualService', scope),
    }),
  );
  return [...services, ...ruleReferences(spec.rules, scope, '/spec/rules')];
}
