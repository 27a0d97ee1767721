/**
 * api: the REST API, for operators and for the command line.
 *
 * One app per server. It does not listen by itself, so that all of it can be tested without a socket. Reads and
 * watches are answered from this controller's View; writes go to the store by compare-and-set, and are answered once
 * the View has reached them, so that who writes reads it back. What the API needs of rooms that it may not import is
 * handed to it as ports (ports.ts).
 *
 * A body becomes an object through the model's own check alone. fastify gets no schemas: its validator coerces and
 * drops silently. The OpenAPI document is made from the routes and from the model's schemas.
 *
 * Every request passes one gate (auth/gate.ts): who asks, how often, and whether they may; a route that does not say what
 * it demands is closed.
 *
 * The path of a write: body.ts (bytes → value) → draft.ts (value → draft) → write.ts (draft and what is stored → plan
 * → transaction; pure) → writer.ts (reads, checks against the View, commits, tries again after a lost race).
 */
export { type AccessOptions, type ApiOptions, createApi } from './app.ts';
export { auditSourceOf } from './audit-source.ts';
export type { AccessEvent } from './auth/gate.ts';
export type { OidcOptions } from './auth/oidc.ts';
export { mintToken } from './auth/static-tokens.ts';
export { defaultLimits, type Limits } from './limits.ts';
export type { EndedRequest, RequestMeter } from './meter.ts';
export type {
  AuditNames,
  Backups,
  Change,
  CommitInfo,
  ControllerInfo,
  Events,
  Explain,
  Gathered,
  Membership,
  MissingController,
  PeerDoor,
  Ports,
  Preview,
  PreviewCondition,
  PreviewResult,
  PreviewWrite,
  Proxies,
  ProxyInfo,
  ProxyResource,
  ResourceName,
  Restored,
  Rotation,
  Status,
  Tokens,
  View,
} from './ports.ts';
export { createRefusalLog, type RefusalLog, type RefusalLogOptions } from './refusal-log.ts';
