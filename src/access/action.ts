import type { Kind } from '../model/index.ts';

/** What may be asked for that is no object of an operator. */
export const facilities = [
  'Apply',
  'JoinToken',
  'Authority',
  'Proxy',
  'Commit',
  'Metrics',
  'Token',
  'Controller',
  'Event',
  'Audit',
  'Backup',
] as const;

export type Facility = (typeof facilities)[number];

export type Verb = 'read' | 'write' | 'delete';

/** Something that somebody wants to do to something. */
export interface Action {
  readonly verb: Verb;
  readonly kind: Kind | Facility;
  /** Of kinds that have one. */
  readonly scope: string | undefined;
  /** Whether a private key or password would be written: one that was not there, or another. */
  readonly touchesSecret: boolean;
}

/**
 * What things have in common when it comes to who may touch them:
 *
 * - service: what stands in a scope and belongs to it.
 * - tenancy: the scopes themselves.
 * - machinery: what all scopes run on.
 * - access: who may do what.
 * - set: several objects at once, each of which is decided by itself.
 * - insight: what the machinery does; it speaks of all scopes at once.
 * - metrics: figures for monitoring.
 * - audit: who did what.
 * - whole: all that there is, secrets included, to be taken out or replaced.
 */
export type Family = 'service' | 'tenancy' | 'machinery' | 'access' | 'set' | 'insight' | 'metrics' | 'audit' | 'whole';

const families: { readonly [K in Kind | Facility]: Family } = {
  Scope: 'tenancy',
  RoleBinding: 'access',
  Fleet: 'machinery',
  Node: 'machinery',
  Certificate: 'service',
  BackendPool: 'service',
  VirtualService: 'service',
  Route: 'service',
  Token: 'access',
  Apply: 'set',
  JoinToken: 'machinery',
  Authority: 'machinery',
  Proxy: 'insight',
  Commit: 'insight',
  Controller: 'insight',
  Event: 'insight',
  Metrics: 'metrics',
  Audit: 'audit',
  Backup: 'whole',
};

export function familyOf(kind: Kind | Facility): Family {
  return families[kind];
}

/** For messages: `write Certificate web/shop-tls`, without the name. */
export function describeAction({ verb, kind, scope }: Action): string {
  const place = scope === undefined ? '' : ` in scope ${scope}`;
  return `${verb} ${kind}${place}`;
}
