/**
 * The nouns that operators write: one file per kind with its schema, its static type, the values that hold where a
 * field is left out, and the closed lists of its condition reasons.
 *
 * Everything here is a pure definition; there is one of each and nothing has state. `parseObject` is the only check of
 * an object in the whole product (API, command line, importers, store): no value is coerced and no field is dropped
 * silently. A spec is stored as its writer left it; the `effective…` functions fill the defaults in where they count.
 */
export {
  type BackendPoolSpec,
  backendPoolDefaults,
  type EffectiveBackendPool,
  type EffectiveHealthCheck,
  type EffectiveMember,
  type EffectiveOutlierDetection,
  effectiveBackendPool,
  effectiveHealthCheck,
  effectiveMember,
  effectiveOutlierDetection,
  type HealthCheck,
  isServing,
  type Member,
  memberKey,
  type OutlierDetection,
  type PoolHash,
  type PoolLimits,
  type StatusRange,
  type UpstreamTls,
} from './backend-pool.ts';
export type { CertificateSpec } from './certificate.ts';
export { type FleetSpec, fleetDrainTimeoutMs } from './fleet.ts';
export { coversHost } from './host.ts';
export { type Kind, type KindNames, kindNames, namesOfKinds } from './kind.ts';
export {
  apiVersion,
  type BackendPoolObject,
  type CertificateObject,
  type DraftMetadata,
  type DraftObject,
  type DraftOf,
  type FairwayObject,
  type FleetObject,
  type KindInfo,
  kindInfo,
  kinds,
  type NodeObject,
  type ObjectOf,
  type RoleBindingObject,
  type RouteObject,
  referencesOf,
  type ScopeObject,
  type SpecOf,
  type VirtualServiceObject,
} from './kinds.ts';
export { type ManifestOptions, parseManifest } from './manifest.ts';
export type { Enrolment, JoinTokenInfo, MembershipGrant } from './membership.ts';
export {
  joinRequestSchema,
  joinTokenDefaults,
  joinTokenRequestSchema,
  parseJoinRequest,
  parseJoinTokenRequest,
  parseRenewalRequest,
  renewalRequestSchema,
} from './membership-requests.ts';
export type { Condition, Metadata, ObjectKey } from './meta.ts';
export type { NodeSpec } from './node.ts';
export { conditionSchema, objectSchema } from './object-schema.ts';
export { type ParseContext, parseObject } from './parse.ts';
export { allowsScope, defaultScope, objectKey, parseObjectKey, pointerTo, type Reference, resolveRef } from './ref.ts';
export { type Permission, permissions, type Role, type RoleBindingSpec, roles, type Subject } from './role-binding.ts';
export type { Attachment, RouteSpec } from './route.ts';
export {
  type Action,
  actionDefaults,
  actionTimeouts,
  type EffectiveRetry,
  effectiveRetry,
  type Forward,
  type HeaderEdits,
  type HeaderMatch,
  type Match,
  type PathMatch,
  type QueryMatch,
  type Redirect,
  type Respond,
  type Retry,
  type Rewrite,
  type Rule,
} from './rule.ts';
export { sameSpec } from './same-spec.ts';
export { durationMs } from './schema.ts';
export type { ScopeSpec } from './scope.ts';
export { keepSecrets, redact, secretKeyPrefixes, secretsAt } from './secrets.ts';
export {
  decodeStored,
  decodeStoredWithExtras,
  encodeStored,
  historyKey,
  newMetadata,
  newNode,
  objectKeyIn,
  type StoredEntry,
  type StoredExtras,
  type StorePrefix,
  schemaPrefix,
  secretPrefix,
  specKey,
  storeKey,
  storePrefixes,
  withCreatedRevision,
} from './stored.ts';
export { parseTokenRequest, type TokenRequest, tokenRequestSchema } from './token-request.ts';
export {
  type DefaultAction,
  type EffectiveVirtualService,
  effectiveVirtualService,
  type InlineRoute,
  type Listener,
  listenerIdleTimeoutMs,
  type VirtualServiceSpec,
} from './virtual-service.ts';
