/**
 * What the API needs from rooms that it may not import. The composition (server/) fills these in; tests give their
 * own. All reads are synchronous and see one world until the next `await`.
 */
import type { TokenRecord } from '../access/index.ts';
import type { AuditKind } from '../audit/index.ts';
import type { Enrolment, FairwayObject, Kind, ObjectKey } from '../model/index.ts';
import type { EventRecord } from '../status/index.ts';

/** Status of one object, as computed now. Never stored. */
export interface Status {
  readonly observedGeneration: number;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: 'True' | 'False' | 'Unknown';
    readonly reason: string;
    readonly message: string;
    readonly observedGeneration: number;
    readonly lastTransitionTime: string;
  }[];
  /** Further fields of the kind (`usedBy`, `realization`, `attachments`, `members`, …). */
  readonly [field: string]: unknown;
}

/** One change of an object, or of its conditions, at a revision of the store. */
export interface Change {
  readonly revision: number;
  readonly kind: Kind;
  readonly key: ObjectKey;
  /** The object after the change; undefined when it was deleted. */
  readonly object: FairwayObject | undefined;
  /** What it was before; absent when it did not exist. */
  readonly last?: FairwayObject;
}

/** This controller's View of the objects: the adopted world. Objects are as stored, write-only fields included. */
export interface View {
  /** The store revision that this View has reached. */
  readonly revision: number;
  get(key: ObjectKey): FairwayObject | undefined;
  /** All objects of a kind, in no order. */
  list(kind: Kind): Iterable<FairwayObject>;
  /** Objects that name this one, sorted. */
  referrers(key: ObjectKey): readonly ObjectKey[];
  status(object: FairwayObject): Status;
  /** Generation of the last good form that a pin names: its history is needed. Undefined where nothing is pinned. */
  pinnedGeneration(key: ObjectKey): number | undefined;
  /** Resolves once `revision` is adopted; rejects with `FairwayError` `RevisionTimeout`, or when `signal` aborts. */
  reached(revision: number, options: { timeoutMs: number; signal?: AbortSignal }): Promise<void>;
  /** Changes after `revision` in order, or undefined when the ring does not reach back so far. */
  changesSince(revision: number): readonly Change[] | undefined;
  /** Calls back after each adoption with its changes; gives the function that ends it. */
  onChanges(listener: (revision: number, changes: readonly Change[]) => void): () => void;
}

/** What a set of writes would do, found on a fork of the world. */
export interface PreviewResult {
  /** Objects whose conditions would differ, with the conditions before and after (`Accepted`, `ResolvedRefs`). */
  readonly conditions: readonly {
    readonly key: ObjectKey;
    readonly before: readonly PreviewCondition[];
    readonly after: readonly PreviewCondition[];
  }[];
  readonly resources: {
    readonly added: readonly ResourceName[];
    readonly changed: readonly ResourceName[];
    readonly removed: readonly ResourceName[];
  };
  /** Names of connected nodes that would be sent something. */
  readonly proxies: readonly string[];
  /** Envoy listeners and filter chains whose connections would be drained, on each of those proxies. */
  readonly drains: { readonly listeners: readonly string[]; readonly filterChains: readonly string[] };
  /** For each fleet that would lose listeners or clusters: how many, of how many. */
  readonly removals: readonly {
    readonly fleet: string;
    readonly listeners: { readonly removed: number; readonly of: number };
    readonly clusters: { readonly removed: number; readonly of: number };
  }[];
  /** False when the change is so large that only the objects concerned are listed. */
  readonly exact: boolean;
}

export interface PreviewCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface ResourceName {
  readonly type: string;
  readonly name: string;
}

export interface PreviewWrite {
  readonly key: ObjectKey;
  readonly object: FairwayObject | undefined;
}

export interface Preview {
  /** `object` undefined: deleted. Objects carry the metadata they would be stored with. */
  preview(writes: readonly PreviewWrite[]): Promise<PreviewResult>;
}

/** A controller whose proxies are not in an answer, since it gave none itself. */
export interface MissingController {
  readonly controller: string;
  /** RFC 3339: since when it does not answer. */
  readonly since: string;
  readonly reason: string;
  /** Proxies that were attached to it when it was last heard of. */
  readonly proxies: number;
}

/** What all controllers together know, as far as they answer. */
export interface Gathered<T> {
  readonly found: T;
  readonly missing: readonly MissingController[];
}

/** A proxy with an open stream to some controller. */
export interface ProxyInfo {
  /** Name of its Node object. */
  readonly node: string;
  /** As the proxy says it. */
  readonly nodeId: string;
  readonly fleet: string;
  readonly version: string;
  readonly connectedSince: string;
  readonly replica: string;
  /** `Synced` when it has acknowledged all that it should have. */
  readonly state: 'Synced' | 'Pending' | 'Rejected' | 'Stalled';
  readonly types: readonly {
    readonly type: string;
    /** Revision of the configuration in the last response that was sent, and in the last one acknowledged. */
    readonly sent: number;
    readonly acked: number;
    /** Resources acknowledged, and those on the way. */
    readonly resources: number;
    readonly pending: number;
    readonly rejected: readonly { readonly name: string; readonly message: string; readonly since: string }[];
  }[];
}

/** One resource of a proxy: what it should have, was sent and has acknowledged, as versions. */
export interface ProxyResource {
  readonly type: string;
  readonly name: string;
  /** `removed`: it is to lose it. */
  readonly state: 'acknowledged' | 'pending' | 'rejected' | 'removed';
  readonly wanted: string | undefined;
  readonly sent: string | undefined;
  readonly acknowledged: string | undefined;
  /** The proxy's words, when it refused the wanted form. */
  readonly message?: string;
  /** The objects that it is made from. */
  readonly from: readonly string[];
  /** Envoy's JSON of what it should have, keys redacted; when asked for. */
  readonly content?: unknown;
}

/** The proxies of all controllers. */
export interface Proxies {
  /** Each once, in no order. */
  list(filter: {
    readonly fleet?: string | undefined;
    readonly node?: string | undefined;
  }): Promise<Gathered<readonly ProxyInfo[]>>;
  get(node: string): Promise<Gathered<ProxyInfo | undefined>>;
  /** Undefined: not connected. `type` is the last part of a type URL, `Cluster`; undefined is all. */
  config(
    node: string,
    options: { readonly type: string | undefined; readonly content: boolean },
  ): Promise<Gathered<readonly ProxyResource[] | undefined>>;
  /**
   * Begins to compare what proxies have with what they should have, and to send again what was lost: one proxy, or all.
   * How many that are.
   */
  compare(node: string | undefined): Promise<Gathered<number>>;
}

/** Where other controllers ask of the proxies that have their stream here. */
export interface PeerDoor {
  /**
   * Answers a signed question, of our own proxies and of no others. Rejects with `Unauthenticated` when it is not from another
   * controller of this cluster, or not for this one; `InvalidParameter` for a question that this version does not know.
   */
  answer(authorization: string | undefined, body: Uint8Array): Promise<unknown>;
}

/** What became of one commit, as far as the controllers saw it. Times are RFC 3339. */
export interface CommitInfo {
  readonly revision: string;
  /** Commits that wait are taken in together: the revision of the step. */
  readonly settledWith: string;
  readonly committed: string;
  readonly settled: string;
  /** Resources changed, added or removed. */
  readonly resources: number;
  readonly proxies: {
    readonly concerned: number;
    readonly acknowledged: number;
    readonly waitingFor: readonly string[];
  };
  /** Of the proxies that have acknowledged it: the first and the last. */
  readonly sent?: { readonly first: string; readonly last: string };
  readonly acknowledged?: { readonly first: string; readonly last: string };
}

/** Answers to "why". */
export interface Explain {
  /** Undefined: there is no such virtual service. */
  virtualService(key: ObjectKey): unknown;
  /** Undefined: not taken in yet, or too long ago. */
  commit(revision: number): Promise<Gathered<CommitInfo | undefined>>;
}

/** Where the replacement of the root stands. */
export interface Rotation {
  readonly state: 'Steady' | 'Spreading' | 'Serving';
  /** Nodes whose certificate the old root signed: how many, and the first of them. */
  readonly waitingFor: { readonly count: number; readonly nodes: readonly string[] };
}

/** What everybody may know of the authority. */
export interface AuthorityInfo {
  readonly trustDomain: string;
  /** Roots whose signatures count, PEM. */
  readonly certificates: string;
  /** Whether what signs is its own root, or a CA in files of the controllers. */
  readonly source: 'Own' | 'Files';
  /** RFC 3339: when the first ends of what signs. */
  readonly notAfter: string;
  /** Soon. */
  readonly expiring: boolean;
}

/** The authority of nodes, where this installation has one. Refusals are thrown as `FairwayError`. */
export interface Membership extends Enrolment {
  authority(): AuthorityInfo;
  rotation(): Rotation;
  /** False: one is under way already. Throws `ReadOnly` where what signs is in files. */
  rotate(): Promise<boolean>;
}

/** API tokens as this controller's View has them. */
export interface Tokens {
  get(id: string): TokenRecord | undefined;
  list(): Iterable<TokenRecord>;
}

/** Everything in the store, out and in. */
export interface Backups {
  /** The text of a backup, in pieces. */
  backup(): Promise<AsyncIterable<string>>;
  /** Throws `InvalidBackup` and `StoreNotEmpty` before anything is written. */
  restore(body: AsyncIterable<Uint8Array>, options: { readonly force: boolean }): Promise<Restored>;
}

export interface Restored {
  readonly entries: number;
  /** Of the store now. */
  readonly revision: string;
  readonly backup: { readonly revision: string; readonly createdAt: string };
}

/** What happened, as this controller's View has it. */
export interface Events {
  list(): Iterable<EventRecord>;
  /** Calls back with events that began or came again; gives the function that ends it. */
  onHappened(listener: (events: readonly EventRecord[]) => void): () => void;
}

/** Names of the records for the audit, oldest first. */
export type AuditNames = { readonly [K in AuditKind]: Iterable<string> };

/** One member of the cluster, as it last said itself. Times are RFC 3339. */
export interface ControllerInfo {
  readonly id: string;
  /** REST and xDS, `host:port`; empty where it has no such door. */
  readonly address: string;
  readonly xdsAddress: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly startedAt: string;
  readonly seenAt: string;
  /** `Unreachable`: nothing was heard of it for some seconds. */
  readonly state: 'Ready' | 'Unreachable';
  readonly leader: boolean;
  /** Of the leader alone: its term, and since when. */
  readonly term?: number;
  readonly leaderSince?: string;
  /** Revision of its View, and how many the store is ahead of that. */
  readonly revision: string;
  readonly lag: number;
  readonly proxies: number;
  readonly memoryBytes: number;
  readonly cpu: number;
}

export interface Ports {
  /** Absent: nodes are not members, or get their certificates elsewhere. */
  readonly membership?: Membership;
  readonly backups: Backups;
  /** Members of the cluster, in order of their ids; a single server is one too. */
  readonly controllers: () => readonly ControllerInfo[];
  /** Absent: other controllers are not answered. */
  readonly peer?: PeerDoor;
  readonly events: Events;
  readonly audit: () => AuditNames;
  readonly view: View;
  readonly tokens: Tokens;
  readonly preview: Preview;
  readonly proxies: Proxies;
  readonly explain: Explain;
  /** How old the View can be, in milliseconds: nothing was heard of the store for so long. */
  readonly viewAgeMs: () => number;
  /** Empty when ready; else what is still missing. */
  readonly unready: () => readonly string[];
  /** Prometheus text. */
  readonly metrics: () => Promise<string>;
  readonly metricsContentType: string;
}
