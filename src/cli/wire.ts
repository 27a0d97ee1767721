/**
 * What the REST API answers, as far as the command line reads it. A client may be older or newer than its server, so
 * everything that is not the frame of an object may be missing.
 */
import type { Kind } from '../model/kind.ts';

export interface WireCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

export interface WireObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    readonly scope?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly generation?: number;
    readonly revision?: string;
    readonly createdAt?: string;
    readonly [field: string]: unknown;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly conditions?: readonly WireCondition[];
    readonly [field: string]: unknown;
  };
}

/** What a proxy has of one xDS type. */
export interface WireProxyType {
  readonly type: string;
  /** Revision of the configuration that was sent last, and of the one acknowledged last. */
  readonly sent?: number;
  readonly acked?: number;
  /** Resources acknowledged, and those on the way. */
  readonly resources?: number;
  readonly pending?: number;
  readonly rejected?: readonly { readonly name: string; readonly message: string; readonly since?: string }[];
}

/** A proxy that is connected. */
export interface WireProxy {
  readonly node: string;
  readonly fleet?: string;
  readonly version?: string;
  readonly connectedSince?: string;
  readonly replica?: string;
  readonly state?: string;
  readonly types?: readonly WireProxyType[];
}

/** What became, or would become, of one object. */
export interface WireOutcome {
  readonly kind: Kind;
  readonly scope?: string;
  readonly name: string;
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'deleted';
}

/** The same for one that failed by itself; without a kind when it was none. */
export interface WireFailure {
  readonly kind?: Kind;
  readonly name?: string;
  readonly pointer?: string;
  readonly outcome: 'failed';
  readonly problem: { readonly detail?: string; readonly title?: string };
}

/** The answer of a dry run. */
export interface WirePreview {
  readonly objects: readonly (WireOutcome & { readonly before?: WireObject; readonly after?: WireObject })[];
  readonly conditions?: readonly {
    readonly key: string;
    readonly before: readonly Omit<WireCondition, 'observedGeneration'>[];
    readonly after: readonly Omit<WireCondition, 'observedGeneration'>[];
  }[];
  readonly resources?: {
    readonly added: readonly WireResource[];
    readonly changed: readonly WireResource[];
    readonly removed: readonly WireResource[];
  };
  readonly proxies?: readonly string[];
  readonly drains?: { readonly listeners: readonly string[]; readonly filterChains: readonly string[] };
  /** False: the change is so large that only the objects concerned are named. */
  readonly exact?: boolean;
  /** The write would be refused until it is confirmed with this number. */
  readonly massRemoval?: { readonly removals: number };
}

export interface WireResource {
  readonly type: string;
  readonly name: string;
}

/** One member of the cluster (`GET /v1/controllers`). */
export interface WireController {
  readonly id: string;
  readonly address?: string;
  readonly xdsAddress?: string;
  readonly version?: string;
  readonly roles?: readonly string[];
  readonly state?: string;
  readonly leader?: boolean;
  readonly term?: number;
  readonly leaderSince?: string;
  readonly startedAt?: string;
  readonly revision?: string;
  readonly lag?: number;
  readonly proxies?: number;
  readonly memoryBytes?: number;
  readonly cpu?: number;
}

/** A controller that an answer lacks, since it did not answer itself. */
export interface WireMissing {
  readonly controller: string;
  readonly since?: string;
  readonly proxies?: number;
}

/** One resource of a proxy (`GET /v1/proxies/{node}/config`). */
export interface WireProxyResource {
  readonly type: string;
  readonly name: string;
  readonly state: string;
  readonly content?: unknown;
}

export interface WireProxyConfig {
  readonly items: readonly WireProxyResource[];
}

/** `GET …/virtual-services/{name}/explain`. */
export interface WireExplanation {
  readonly service: string;
  readonly generation: number;
  readonly servedGeneration?: number;
  readonly fleet: { readonly name: string; readonly exists: boolean; readonly why: string; readonly proxies: number };
  readonly problems: readonly { readonly condition: string; readonly reason: string; readonly message: string }[];
  readonly sockets: readonly {
    readonly address: string;
    readonly port: number;
    readonly served: boolean;
    readonly owner?: string;
    readonly listener?: string;
    readonly chains: readonly {
      readonly listeners: readonly string[];
      readonly goesTo: string;
      readonly certificates: readonly string[];
    }[];
  }[];
  readonly hosts: readonly {
    readonly listener: string;
    readonly host: string;
    readonly owner?: string;
    readonly rules: readonly {
      readonly from: string;
      readonly rule: string;
      readonly match: string;
      readonly action: string;
    }[];
    readonly otherwise: string;
  }[];
  readonly resources: readonly {
    readonly type: string;
    readonly name: string;
    readonly proxies: {
      readonly acknowledged: number;
      readonly of: number;
      readonly waitingFor: readonly string[];
      readonly rejectedBy: readonly { readonly node: string; readonly message: string }[];
    };
  }[];
}

/** `GET /v1/events`. */
export interface WireEvent {
  readonly object: WireName;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
  readonly controller?: string;
}

/** `GET /v1/audit`. */
export interface WireAuditRecord {
  readonly at: string;
  readonly who: { readonly name: string; readonly kind?: string };
  readonly from: string;
  readonly requestId: string;
  readonly request: string;
  readonly outcome: string;
  readonly code?: string;
  readonly detail?: string;
  readonly count?: number;
  readonly objects: readonly (WireName & {
    readonly change?: string;
    readonly fields?: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
    readonly cut?: number;
  })[];
}

/** What something is about: an object, or a controller. */
export interface WireName {
  readonly kind: string;
  readonly scope?: string;
  readonly name: string;
}

/** `type.googleapis.com/envoy.config.cluster.v3.Cluster` as people say it. */
export function shortType(type: string): string {
  return type.replace(/^.*[./]/, '');
}

/** An API token, without what is secret. */
export interface WireToken {
  readonly id: string;
  readonly name: string;
  readonly createdAt?: string;
  readonly createdBy?: string;
  readonly expiresAt?: string;
}

/** What one binding gives. */
export interface WireGrant {
  readonly binding: string;
  readonly role?: string;
  readonly scopes?: readonly string[];
  readonly permissions?: readonly string[];
}

/** Who the server takes the client for. */
export interface WireWhoami {
  readonly name: string;
  readonly kind: string;
  readonly groups?: readonly string[];
  readonly grants?: readonly WireGrant[];
}
