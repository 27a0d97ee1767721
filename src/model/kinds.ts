import type { TObject } from 'typebox';
import type { FieldError } from '../lib/errors.ts';
import { type BackendPoolSpec, backendPoolReasons, backendPoolReferences, backendPoolSchema } from './backend-pool.ts';
import { checkBackendPool } from './backend-pool-check.ts';
import { type CertificateSpec, certificateReasons, certificateSchema, checkCertificate } from './certificate.ts';
import { type FleetSpec, fleetReasons, fleetSchema } from './fleet.ts';
import { type Kind, type KindNames, namesOfKinds } from './kind.ts';
import type { Metadata } from './meta.ts';
import { type NodeSpec, nodeReasons, nodeSchema } from './node.ts';
import type { Reference } from './ref.ts';
import {
  checkRoleBinding,
  type RoleBindingSpec,
  roleBindingReasons,
  roleBindingReferences,
  roleBindingSchema,
} from './role-binding.ts';
import { checkRoute, type RouteSpec, routeReasons, routeReferences, routeSchema } from './route.ts';
import { type ScopeSpec, scopeReasons, scopeSchema } from './scope.ts';
import {
  type VirtualServiceSpec,
  virtualServiceReasons,
  virtualServiceReferences,
  virtualServiceSchema,
} from './virtual-service.ts';
import { checkVirtualService } from './virtual-service-check.ts';

/** The spec type of each kind. */
interface Specs extends Record<Kind, unknown> {
  Scope: ScopeSpec;
  RoleBinding: RoleBindingSpec;
  VirtualService: VirtualServiceSpec;
  Route: RouteSpec;
  BackendPool: BackendPoolSpec;
  Certificate: CertificateSpec;
  Fleet: FleetSpec;
  Node: NodeSpec;
}

/** The spec of a kind as its writer left it: defaults are not filled in. */
export type SpecOf<K extends Kind> = Specs[K];

export const apiVersion = 'fairway/v1';

export interface ObjectOf<K extends Kind, S> {
  readonly apiVersion: typeof apiVersion;
  readonly kind: K;
  readonly metadata: Metadata;
  readonly spec: S;
}

export type VirtualServiceObject = ObjectOf<'VirtualService', VirtualServiceSpec>;
export type RouteObject = ObjectOf<'Route', RouteSpec>;
export type ScopeObject = ObjectOf<'Scope', ScopeSpec>;
export type RoleBindingObject = ObjectOf<'RoleBinding', RoleBindingSpec>;
export type BackendPoolObject = ObjectOf<'BackendPool', BackendPoolSpec>;
export type CertificateObject = ObjectOf<'Certificate', CertificateSpec>;
export type FleetObject = ObjectOf<'Fleet', FleetSpec>;
export type NodeObject = ObjectOf<'Node', NodeSpec>;

/** Any object, told apart by `kind`. */
export type FairwayObject = { [K in Kind]: ObjectOf<K, Specs[K]> }[Kind];

/** The part of metadata that a writer gives. */
export type DraftMetadata = Pick<Metadata, 'name' | 'scope' | 'labels' | 'annotations'>;

export interface DraftOf<K extends Kind> {
  readonly apiVersion: typeof apiVersion;
  readonly kind: K;
  readonly metadata: DraftMetadata;
  readonly spec: Specs[K];
}

/** A checked object as somebody wrote it, before Fairway has added its own metadata. */
export type DraftObject = { [K in Kind]: DraftOf<K> }[Kind];

/** What Fairway knows of a kind as such. */
export interface KindInfo<K extends Kind = Kind> extends KindNames {
  readonly kind: K;
  /** Of `spec`. */
  readonly schema: TObject;
  readonly description: string;
  /** JSON pointers, from the root of the object, of fields that are written and never returned. */
  readonly secretFields: readonly string[];
  /** For each condition type of the kind its closed list of reasons. */
  readonly reasons: Readonly<Record<string, readonly string[]>>;
  /** All objects that a spec names, written by an object of `scope` (ignored for a global kind). */
  references(spec: SpecOf<K>, scope: string): readonly Reference[];
  /** What the schema cannot say: fields that need or exclude each other. For specs that the schema accepts. */
  check(spec: SpecOf<K>): readonly FieldError[];
}

const none = (): readonly never[] => [];

/** The table of kinds. */
export const kinds: { readonly [K in Kind]: KindInfo<K> } = {
  Scope: {
    kind: 'Scope',
    ...namesOfKinds.Scope,
    schema: scopeSchema,
    description: 'A tenant: names are unique per kind and scope.',
    secretFields: [],
    reasons: scopeReasons,
    references: none,
    check: none,
  },
  RoleBinding: {
    kind: 'RoleBinding',
    ...namesOfKinds.RoleBinding,
    schema: roleBindingSchema,
    description: 'Who may do what, and where.',
    secretFields: [],
    reasons: roleBindingReasons,
    references: roleBindingReferences,
    check: checkRoleBinding,
  },
  Fleet: {
    kind: 'Fleet',
    ...namesOfKinds.Fleet,
    schema: fleetSchema,
    description: 'A set of nodes that share a job.',
    secretFields: [],
    reasons: fleetReasons,
    references: none,
    check: none,
  },
  Node: {
    kind: 'Node',
    ...namesOfKinds.Node,
    schema: nodeSchema,
    description: 'One load balancer; it registers itself.',
    secretFields: [],
    reasons: nodeReasons,
    references: none,
    check: none,
  },
  Certificate: {
    kind: 'Certificate',
    ...namesOfKinds.Certificate,
    schema: certificateSchema,
    description: 'A certificate chain with its key, or a bundle of CAs.',
    secretFields: ['/spec/key'],
    reasons: certificateReasons,
    references: none,
    check: checkCertificate,
  },
  BackendPool: {
    kind: 'BackendPool',
    ...namesOfKinds.BackendPool,
    schema: backendPoolSchema,
    description: 'Servers behind a service.',
    secretFields: [],
    reasons: backendPoolReasons,
    references: backendPoolReferences,
    check: checkBackendPool,
  },
  VirtualService: {
    kind: 'VirtualService',
    ...namesOfKinds.VirtualService,
    schema: virtualServiceSchema,
    description: 'A service offered at addresses and ports.',
    secretFields: [],
    reasons: virtualServiceReasons,
    references: virtualServiceReferences,
    check: checkVirtualService,
  },
  Route: {
    kind: 'Route',
    ...namesOfKinds.Route,
    schema: routeSchema,
    description: 'HTTP rules attached to a listener of a virtual service.',
    secretFields: [],
    reasons: routeReasons,
    references: routeReferences,
    check: checkRoute,
  },
};

/** All objects that an object names. */
export function referencesOf(object: DraftObject | FairwayObject): readonly Reference[] {
  return kindInfo(object.kind).references(object.spec, object.metadata.scope ?? '');
}

export function kindInfo(kind: Kind): KindInfo {
  return kinds[kind];
}
